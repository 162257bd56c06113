// Command infra is the CDK app: it writes the CloudFormation template of Bobbin's stack. The CDK's command line, the npm
// package aws-cdk, runs it as cdk.json says. After `make build`, in this folder:
//
//	cdk bootstrap
//	cdk deploy -c model=provider:name -c telegram-bot=123456
//
// stack.Settings has all that can be set. CloudFormation can't store secrets; whoever deploys does, each in the
// Parameter Store under the stage's prefix and the name that package grant gives it:
//
//	aws ssm put-parameter --type SecureString --name /bobbin/main/telegram-token --value …
package main

import (
	"fmt"
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/bobbin-agent/bobbin/infra/stack"
)

func main() {
	err := stack.Synth(awscdk.NewApp(nil))
	jsii.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
