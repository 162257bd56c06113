package stack

import (
	"encoding/json"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// Synth puts the stack into the app, with the settings that the app's context holds, and writes the template to the
// app's output folder. An error says which setting is wrong.
func Synth(app awscdk.App) error {
	settings, err := Parse(func(name string) string { return fromContext(app, name) })
	if err != nil {
		return err
	}
	New(app, settings)
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
