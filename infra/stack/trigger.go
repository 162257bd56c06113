package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsscheduler"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"
)

// mapQueue lets Lambda invoke the runner with each wake-up, one at a time: a batch would hold all of its sessions until
// its slowest turn has ended.
func mapQueue(queue awssqs.Queue, runner awslambda.Function, s Settings) {
	runner.AddEventSourceMapping(jsii.String("Mapping"), &awslambda.EventSourceMappingOptions{
		EventSourceArn:          queue.QueueArn(),
		BatchSize:               jsii.Number(1),
		MaxConcurrency:          jsii.Number(s.Concurrency),
		ReportBatchItemFailures: jsii.Bool(true),
	})
}

// newClock invokes the reaper every minute. A minute that fails is not made up for: the next one does the same work.
func newClock(stack awscdk.Stack, reap awslambda.Function) {
	role := awsiam.NewRole(stack, jsii.String("clock-role"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("scheduler.amazonaws.com"), nil),
		InlinePolicies: &map[string]awsiam.PolicyDocument{"invoke": awsiam.NewPolicyDocument(&awsiam.PolicyDocumentProps{
			Statements: &[]awsiam.PolicyStatement{awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{
				Actions:   jsii.Strings("lambda:InvokeFunction"),
				Resources: &[]*string{reap.FunctionArn()},
			})},
		})},
	})
	awsscheduler.NewCfnSchedule(stack, jsii.String("Clock"), &awsscheduler.CfnScheduleProps{
		Description:        jsii.String("Bobbin's reaper, every minute"),
		ScheduleExpression: jsii.String("rate(1 minute)"),
		FlexibleTimeWindow: &awsscheduler.CfnSchedule_FlexibleTimeWindowProperty{Mode: jsii.String("OFF")},
		Target: &awsscheduler.CfnSchedule_TargetProperty{
			Arn:     reap.FunctionArn(),
			RoleArn: role.RoleArn(),
			RetryPolicy: &awsscheduler.CfnSchedule_RetryPolicyProperty{
				MaximumRetryAttempts:     jsii.Number(0),
				MaximumEventAgeInSeconds: jsii.Number(60),
			},
		},
	})
}

// Requests to the API, over all callers. An owner's own use stays far below; a flood is refused before it costs an
// invocation. Telegram repeats an update that was refused.
const (
	requestsPerSecond = 50
	requestBurst      = 100
)

// newAPI puts one HTTPS address before the webhook and the page: POST /telegram is the webhook, all else the page.
func newAPI(stack awscdk.Stack, telegram, web awslambda.Function) awsapigatewayv2.HttpApi {
	api := awsapigatewayv2.NewHttpApi(stack, jsii.String("API"), &awsapigatewayv2.HttpApiProps{
		Description:        jsii.String("Bobbin's webhook and page"),
		CreateDefaultStage: jsii.Bool(false),
		DefaultIntegration: integration("Page", web),
	})
	api.AddRoutes(&awsapigatewayv2.AddRoutesOptions{
		Path:        jsii.String("/telegram"),
		Methods:     &[]awsapigatewayv2.HttpMethod{awsapigatewayv2.HttpMethod_POST},
		Integration: integration("Webhook", telegram),
	})
	awsapigatewayv2.NewHttpStage(stack, jsii.String("Stage"), &awsapigatewayv2.HttpStageProps{
		HttpApi:    api,
		AutoDeploy: jsii.Bool(true),
		Throttle: &awsapigatewayv2.ThrottleSettings{
			RateLimit:  jsii.Number(requestsPerSecond),
			BurstLimit: jsii.Number(requestBurst),
		},
	})
	return api
}

func integration(id string, fn awslambda.Function) awsapigatewayv2.HttpRouteIntegration {
	return awsapigatewayv2integrations.NewHttpLambdaIntegration(jsii.String(id), fn,
		&awsapigatewayv2integrations.HttpLambdaIntegrationProps{
			PayloadFormatVersion: awsapigatewayv2.PayloadFormatVersion_VERSION_2_0(),
		})
}
