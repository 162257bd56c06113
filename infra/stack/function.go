package stack

import (
	"path/filepath"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"github.com/bobbin-agent/bobbin/infra/grant"
)

// runnerMinutes is how long one invocation of the runner may take, Lambda's longest, and so also how long the queue
// hides a wake-up at first: Lambda refuses a mapping whose queue hides for less than its function may run.
const runnerMinutes = 15

// spec is what the functions differ in.
type spec struct {
	name     grant.Function
	doing    string
	seconds  float64
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
		name: grant.Runner, doing: "runs turns", seconds: runnerMinutes * 60, memoryMB: 512,
		recursive: true, background: true,
	},
	{name: grant.Reap, doing: "repairs what a crash left", seconds: 60, memoryMB: 256, background: true},
}

type functions map[grant.Function]awslambda.Function

func newFunctions(stack awscdk.Stack, s Settings, st stores) functions {
	fns := functions{}
	for _, sp := range specs {
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
		Environment:   environment(s, st),
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

// environment is what the functions read at their start. Secrets are not in it, only where they are. A setting that
// was not given is left out, so that the functions' own default holds.
func environment(s Settings, st stores) *map[string]*string {
	env := map[string]*string{
		"BOBBIN_TABLE":     st.table.TableName(),
		"BOBBIN_BUCKET":    st.bucket.BucketName(),
		"BOBBIN_QUEUE_URL": st.queue.QueueUrl(),
		"BOBBIN_SECRETS":   jsii.String(s.SecretPrefix()),
	}
	for name, value := range map[string]string{
		"BOBBIN_MODEL":         s.Model,
		"BOBBIN_MODEL_URL":     s.ModelURL,
		"BOBBIN_TELEGRAM_API":  s.TelegramAPI,
		"BOBBIN_TELEGRAM_BOT":  s.TelegramBot,
		"BOBBIN_TELEGRAM_RATE": s.TelegramRate,
	} {
		if value != "" {
			env[name] = jsii.String(value)
		}
	}
	return &env
}

// newRole makes the role of one function, which holds its grants and nothing else: none of AWS's managed policies.
func newRole(stack awscdk.Stack, s Settings, f grant.Function, on resources) awsiam.Role {
	return awsiam.NewRole(stack, jsii.String(string(f)+"-role"), &awsiam.RoleProps{
		AssumedBy:      awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
		Description:    jsii.String("What Bobbin's function " + string(f) + " may do"),
		InlinePolicies: &map[string]awsiam.PolicyDocument{"grants": policy(stack, s, f, on)},
	})
}
