package stack

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/jsii-runtime-go"

	"github.com/bobbin-agent/bobbin/infra/grant"
)

// putOut makes the stack answer where its things are. Whoever deploys by script reads these names.
func putOut(stack awscdk.Stack, st stores, fns functions, api awsapigatewayv2.HttpApi) {
	for _, out := range []struct {
		name  string
		value *string
	}{
		{"Address", api.ApiEndpoint()},
		{"ApiId", api.ApiId()},
		{"Table", st.table.TableName()},
		{"Bucket", st.bucket.BucketName()},
		{"QueueUrl", st.queue.QueueUrl()},
		{"Telegram", fns[grant.Telegram].FunctionName()},
		{"Web", fns[grant.Web].FunctionName()},
		{"Runner", fns[grant.Runner].FunctionName()},
		{"Reap", fns[grant.Reap].FunctionName()},
	} {
		props := &awscdk.CfnOutputProps{Key: jsii.String(out.name), Value: out.value}
		awscdk.NewCfnOutput(stack, jsii.String(out.name+"Output"), props)
	}
}
