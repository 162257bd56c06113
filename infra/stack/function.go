package stack

import (
	"path/filepath"
	"strconv"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"github.com/bobbin-agent/bobbin/infra/grant"
)

// spec is what the functions differ in.
type spec struct {
	name     grant.Function
	doing    string
	seconds  float64 // 0 for the runner, whose time is a setting
	memoryMB float64 // buys CPU too
	// recursive keeps Lambda from stopping the function for calling itself by way of the queue: every turn that ends
	// wakes its session again.
	recursive bool
	// background functions may be invoked asynchronously; Lambda must not repeat such an invocation by itself.
	background bool
}

var specs = []spec{
	{name: grant.Telegram, doing: "takes Telegram's updates", seconds: 10, memoryMB: 256},
	{name: grant.Web, doing: "serves the page", seconds: 10, memoryMB: 256},
	{
		name: grant.Runner, doing: "runs turns", memoryMB: 512,
		recursive: true, background: true,
	},
	{name: grant.Reap, doing: "repairs what a crash left", seconds: 60, memoryMB: 256, background: true},
}

type functions map[grant.Function]awslambda.Function

func newFunctions(stack awscdk.Stack, s Settings, st stores) functions {
	fns := functions{}
	for _, sp := range specs {
		if sp.name == grant.Runner {
			sp.seconds = s.RunnerTimeout
		}
		fns[sp.name] = newFunction(stack, s, st, sp)
	}
	return fns
}

// newFunction makes one function, with a role and a log group of its own.
func newFunction(stack awscdk.Stack, s Settings, st stores, sp spec) awslambda.Function {
	id := string(sp.name)
	logs := awslogs.NewLogGroup(stack, jsii.String(id+"-log"), &awslogs.LogGroupProps{
		Retention:     awslogs.RetentionDays_ONE_MONTH,
		RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	props := &awslambda.FunctionProps{
		Description:   jsii.String("Bobbin " + sp.doing),
		Runtime:       awslambda.Runtime_PROVIDED_AL2023(),
		Architecture:  architecture(s),
		Handler:       jsii.String("bootstrap"),
		Code:          awslambda.Code_FromAsset(jsii.String(filepath.Join(s.Build, id)), nil),
		MemorySize:    jsii.Number(sp.memoryMB),
		Timeout:       awscdk.Duration_Seconds(jsii.Number(sp.seconds)),
		Environment:   environment(s, st, sp.name),
		LogGroup:      logs,
		Role:          newRole(stack, s, sp.name, resources{stores: st, logs: logs}),
		RecursiveLoop: recursion(sp),
	}
	if sp.background {
		props.RetryAttempts = jsii.Number(0)
	}
	return awslambda.NewFunction(stack, jsii.String(id), props)
}

func architecture(s Settings) awslambda.Architecture {
	if s.Arch == "amd64" {
		return awslambda.Architecture_X86_64()
	}
	return awslambda.Architecture_ARM_64()
}

func recursion(sp spec) awslambda.RecursiveLoop {
	if sp.recursive {
		return awslambda.RecursiveLoop_ALLOW
	}
	return awslambda.RecursiveLoop_TERMINATE
}

// environment is what a function reads at its start. Secrets are not in it, only where they are. A setting that
// was not given is left out, so that the function's own default holds.
func environment(s Settings, st stores, f grant.Function) *map[string]*string {
	env := map[string]*string{
		"BOBBIN_TABLE":     st.table.TableName(),
		"BOBBIN_BUCKET":    st.bucket.BucketName(),
		"BOBBIN_QUEUE_URL": st.queue.QueueUrl(),
		"BOBBIN_SECRETS":   jsii.String(s.SecretPrefix()),
	}
	for _, values := range []map[string]string{common(s), own(s, f)} {
		for name, value := range values {
			if value != "" {
				env[name] = jsii.String(value)
			}
		}
	}
	return &env
}

// common is the settings that all functions get.
func common(s Settings) map[string]string {
	return map[string]string{
		"BOBBIN_MODEL":         s.Model,
		"BOBBIN_MODEL_URL":     s.ModelURL,
		"BOBBIN_TELEGRAM_API":  s.TelegramAPI,
		"BOBBIN_TELEGRAM_BOT":  s.TelegramBot,
		"BOBBIN_TELEGRAM_RATE": s.TelegramRate,
	}
}

// own is the settings that one function needs: how the messages of its channel are taken, or what bounds turns.
func own(s Settings, f grant.Function) map[string]string {
	switch f {
	case grant.Telegram:
		return map[string]string{
			"BOBBIN_TELEGRAM_BUSY":     s.TelegramBusy,
			"BOBBIN_TELEGRAM_DEBOUNCE": s.TelegramDebounce,
			"BOBBIN_TELEGRAM_SCOPE":    s.TelegramScope,
			"BOBBIN_TELEGRAM_RESET":    s.TelegramReset,
		}
	case grant.Web:
		return map[string]string{
			"BOBBIN_WEB_BUSY":     s.WebBusy,
			"BOBBIN_WEB_DEBOUNCE": s.WebDebounce,
			"BOBBIN_WEB_CLEARING": s.WebClearing,
		}
	case grant.Runner, grant.Reap:
		return map[string]string{
			"BOBBIN_TURNS":   strconv.Itoa(s.Turns),
			"BOBBIN_STEPS":   s.Steps,
			"BOBBIN_REPEATS": s.Repeats,
		}
	}
	return nil
}

// newRole makes the role of one function, which holds its grants and nothing else: none of AWS's managed policies.
func newRole(stack awscdk.Stack, s Settings, f grant.Function, on resources) awsiam.Role {
	return awsiam.NewRole(stack, jsii.String(string(f)+"-role"), &awsiam.RoleProps{
		AssumedBy:      awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
		Description:    jsii.String("What Bobbin's function " + string(f) + " may do"),
		InlinePolicies: &map[string]awsiam.PolicyDocument{"grants": policy(stack, s, f, on)},
	})
}
