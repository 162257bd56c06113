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
	"encoding/json"
	"fmt"
	"os"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"github.com/bobbin-agent/bobbin/infra/stack"
)

func main() {
	if err := synth(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func synth() error {
	defer jsii.Close()
	app := awscdk.NewApp(nil)
	settings, err := stack.Parse(func(name string) string { return fromContext(app, name) })
	if err != nil {
		return err
	}
	stack.New(app, settings)
	app.Synth(nil)
	return nil
}

// fromContext reads a context value, which is text on the command line and may be any JSON in cdk.json: what is not
// text there is taken as it is written.
func fromContext(app awscdk.App, name string) string {
	switch value := app.Node().TryGetContext(jsii.String(name)).(type) {
	case nil:
		return ""
	case string:
		return value
	default:
		text, _ := json.Marshal(value) // it was JSON before
		return string(text)
	}
}
