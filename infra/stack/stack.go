// Package stack is the one stack that Bobbin needs in an AWS account: a table, a bucket, a queue with its dead letters,
// four functions, an HTTP API in front of two of them, and a clock behind one.
//
//	Telegram, page ──▶ API ──▶ telegram, web ──▶ table
//	                                 └──▶ queue ──▶ runner ──▶ table, bucket
//	clock, every minute ──▶ reap ──▶ table, queue
//
// Everything costs next to nothing while idle: no network of its own, nothing provisioned. What each function may do
// is in package grant; what may differ between deployments is in Settings.
package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/bobbin-agent/bobbin/infra/grant"
)

// New puts the stack, whose construct is named Bobbin and whose name in the account is Bobbin-<stage>, into the app.
func New(app constructs.Construct, s Settings) awscdk.Stack {
	stack := awscdk.NewStack(app, jsii.String("Bobbin"), &awscdk.StackProps{
		StackName:   jsii.String("Bobbin-" + s.Stage),
		Description: jsii.String("Bobbin, a personal agent"),
		Synthesizer: synthesizer(s),
	})
	st := stores{table: newTable(stack, s), bucket: newBucket(stack, s), queue: newQueue(stack, s)}
	fns := newFunctions(stack, s, st)
	if s.Mapping {
		mapQueue(st.queue, fns[grant.Runner], s)
	}
	newClock(stack, fns[grant.Reap])
	api := newAPI(stack, fns[grant.Telegram], fns[grant.Web])
	putOut(stack, st, fns, api)
	return stack
}

// synthesizer decides as whom the CDK deploys. An emulator that enforces policies refuses the bootstrap's roles.
func synthesizer(s Settings) awscdk.IStackSynthesizer {
	if s.CLICreds {
		return awscdk.NewCliCredentialsStackSynthesizer(&awscdk.CliCredentialsStackSynthesizerProps{})
	}
	return awscdk.NewDefaultStackSynthesizer(&awscdk.DefaultStackSynthesizerProps{})
}

// removal says what becomes of data when the stack goes.
func removal(s Settings) awscdk.RemovalPolicy {
	if s.Retain {
		return awscdk.RemovalPolicy_RETAIN
	}
	return awscdk.RemovalPolicy_DESTROY
}
