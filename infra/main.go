// Command infra is the CDK app: it writes the CloudFormation template of Bobbin's stack. The CDK's command line runs
// it; see cdk.json, and stack.Settings for what can be set.
package main

import (
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

// fromContext reads a context value, which is text on the command line and may be any JSON in cdk.json.
func fromContext(app awscdk.App, name string) string {
	value := app.Node().TryGetContext(jsii.String(name))
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}
