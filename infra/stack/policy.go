package stack

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"github.com/bobbin-agent/bobbin/infra/grant"
)

// resources is what a function's grants can be on.
type resources struct {
	stores
	logs awslogs.LogGroup
}

// policy writes the function's grants as one statement per resource.
func policy(stack awscdk.Stack, s Settings, f grant.Function, on resources) awsiam.PolicyDocument {
	doc := awsiam.NewPolicyDocument(nil)
	for _, group := range byResource(grant.For(s.Grants, f)) {
		doc.AddStatements(statement(group, arn(stack, s, group[0], on)))
	}
	return doc
}

func statement(group []grant.Grant, arn *string) awsiam.PolicyStatement {
	var actions []*string
	for _, g := range group {
		actions = append(actions, jsii.String(g.Action))
	}
	return awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Actions: &actions, Resources: &[]*string{arn}})
}

// byResource puts together what is on the same resource, in order of first mention.
func byResource(grants []grant.Grant) [][]grant.Grant {
	type key struct {
		on     grant.Resource
		secret grant.SecretName
	}
	place := map[key]int{}
	var groups [][]grant.Grant
	for _, g := range grants {
		k := key{g.On, g.Secret}
		i, ok := place[k]
		if !ok {
			i = len(groups)
			place[k], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], g)
	}
	return groups
}

// arn names the resource of a grant. SecureStrings under the account's own key for the Parameter Store need no grant
// on that key.
func arn(stack awscdk.Stack, s Settings, g grant.Grant, on resources) *string {
	switch g.On {
	case grant.Table:
		return on.table.TableArn()
	case grant.Objects:
		return on.bucket.ArnForObjects(jsii.String("*"))
	case grant.Bucket:
		return on.bucket.BucketArn()
	case grant.Queue:
		return on.queue.QueueArn()
	case grant.Logs:
		return on.logs.LogGroupArn() // ends in :*, the group's streams
	case grant.Secret:
		return stack.FormatArn(&awscdk.ArnComponents{
			Service:      jsii.String("ssm"),
			Resource:     jsii.String("parameter"),
			ResourceName: jsii.String(s.SecretPrefix()[1:] + string(g.Secret)),
		})
	default:
		panic(fmt.Sprintf("the grant %s is on %q, which this stack doesn't have", g.ID(), g.On))
	}
}
