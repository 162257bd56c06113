package stack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

func newApp(out string, context map[string]any) awscdk.App {
	return awscdk.NewApp(&awscdk.AppProps{Outdir: jsii.String(out), Context: &context})
}

func TestSettingsComeFromTheContextAsTextOrAsOtherJSON(t *testing.T) {
	out := t.TempDir()
	err := Synth(newApp(out, map[string]any{
		"build": emptyBuild(t), "stage": "trial", "concurrency": 7, "turns": 6, "telegram-bot": 123456789,
	}))
	if err != nil {
		t.Fatal(err)
	}
	template, err := os.ReadFile(filepath.Join(out, "Bobbin.template.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"MaximumConcurrency": 7`, `"BOBBIN_TURNS": "6"`, `"BOBBIN_TELEGRAM_BOT": "123456789"`, `/bobbin/trial/`} {
		if !strings.Contains(string(template), want) {
			t.Errorf("the template lacks %s", want)
		}
	}
}

func TestAWrongContextValueIsNamed(t *testing.T) {
	err := Synth(newApp(t.TempDir(), map[string]any{"build": emptyBuild(t), "tls": true}))
	if err == nil || !strings.Contains(err.Error(), "tls") {
		t.Errorf("got %v, want the setting's name", err)
	}
}
