package stack

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/aws/jsii-runtime-go"
	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/infra/grant"
)

// The tests share one jsii process, which takes one call at a time: they don't run in parallel.

func TestMain(m *testing.M) {
	code := m.Run()
	jsii.Close()
	os.Exit(code)
}

func TestStackWithDefaults(t *testing.T) {
	m := synth(t, nil)
	for name, check := range map[string]func(*testing.T, template){
		"the table is keyed by p and s, expires by e, is paid by request, backed up and kept": tableCheck,
		"the bucket is private, encrypted, TLS only and kept":                                 bucketCheck,
		"the queue is FIFO per session and never looks at bodies":                             queueCheck,
		"the queue hides a wake-up as long as the runner may run":                             visibilityCheck,
		"dead letters stay two weeks in a FIFO queue":                                         deadCheck,
		"the runner gets one wake-up at a time and may fail it":                               mappingCheck,
		"only the runner may call itself":                                                     recursionCheck,
		"what runs in the background is not repeated by Lambda":                               retryCheck,
		"functions run bootstraps for arm64 with their own time and memory":                   functionCheck,
		"functions know where things are, and no secret":                                      environmentCheck,
		"each function has a log group that forgets after a month":                            logCheck,
		"the reaper runs every minute by a role that may do just that":                        clockCheck,
		"the API gives POST /telegram to the webhook, all else to the page, and throttles":    apiCheck,
		"policies hold the grants and nothing else":                                           policyCheck,
		"a script finds where everything is":                                                  outputCheck,
	} {
		t.Run(name, func(t *testing.T) {
			m.t = t
			check(t, m)
		})
	}
}

// same reports how got differs from want.
func same(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func tableCheck(t *testing.T, m template) {
	_, table := m.one("AWS::DynamoDB::Table", "")
	same(t, object{
		"AttributeDefinitions": []any{
			object{"AttributeName": "p", "AttributeType": "S"}, object{"AttributeName": "s", "AttributeType": "S"},
		},
		"BillingMode": "PAY_PER_REQUEST",
		"KeySchema": []any{
			object{"AttributeName": "p", "KeyType": "HASH"}, object{"AttributeName": "s", "KeyType": "RANGE"},
		},
		"PointInTimeRecoverySpecification": object{"PointInTimeRecoveryEnabled": true},
		"TimeToLiveSpecification":          object{"AttributeName": "e", "Enabled": true},
	}, properties(table))
	same(t, any("Retain"), table["DeletionPolicy"])
}

func bucketCheck(t *testing.T, m template) {
	_, bucket := m.one("AWS::S3::Bucket", "")
	same(t, object{
		"BucketEncryption": object{"ServerSideEncryptionConfiguration": []any{
			object{"ServerSideEncryptionByDefault": object{"SSEAlgorithm": "AES256"}},
		}},
		"LifecycleConfiguration": object{"Rules": []any{object{
			"AbortIncompleteMultipartUpload": object{"DaysAfterInitiation": 1.0},
			"Id":                             "abandoned-uploads", "Status": "Enabled",
		}}},
		"OwnershipControls": object{"Rules": []any{object{"ObjectOwnership": "BucketOwnerEnforced"}}},
		"PublicAccessBlockConfiguration": object{
			"BlockPublicAcls": true, "BlockPublicPolicy": true, "IgnorePublicAcls": true, "RestrictPublicBuckets": true,
		},
	}, properties(bucket))
	same(t, any("Retain"), bucket["DeletionPolicy"])
	_, policy := m.one("AWS::S3::BucketPolicy", "")
	refusesPlainHTTP(t, policy)
}

func refusesPlainHTTP(t *testing.T, policy object) {
	t.Helper()
	statements := list(at(properties(policy), "PolicyDocument", "Statement"))
	same(t, any("Deny"), at(statements[0], "Effect"))
	same(t, any(object{"Bool": object{"aws:SecureTransport": "false"}}), at(statements[0], "Condition"))
}

func queueCheck(t *testing.T, m template) {
	_, queue := m.one("AWS::SQS::Queue", "Queue")
	p := maps.Clone(properties(queue))
	delete(p, "RedrivePolicy") // deadCheck looks at it
	same(t, object{
		"FifoQueue":                 true,
		"ContentBasedDeduplication": false,
		"DeduplicationScope":        "messageGroup",
		"FifoThroughputLimit":       "perMessageGroupId",
		"SqsManagedSseEnabled":      true,
		"VisibilityTimeout":         900.0,
	}, p)
	policies := m.all("AWS::SQS::QueuePolicy")
	same(t, 2, len(policies))
	for _, policy := range policies {
		refusesPlainHTTP(t, policy)
	}
}

func visibilityCheck(t *testing.T, m template) {
	_, queue := m.one("AWS::SQS::Queue", "Queue")
	_, runner := m.function(grant.Runner)
	hidden, mayRun := properties(queue)["VisibilityTimeout"].(float64), runner["Timeout"].(float64)
	if hidden < mayRun {
		t.Errorf("wake-ups are hidden for %v s and the runner may run for %v s: Lambda refuses such a mapping", hidden, mayRun)
	}
}

func deadCheck(t *testing.T, m template) {
	dead, queue := m.one("AWS::SQS::Queue", "DeadLetters")
	same(t, object{"FifoQueue": true, "MessageRetentionPeriod": 1209600.0, "SqsManagedSseEnabled": true}, properties(queue))
	_, wakeups := m.one("AWS::SQS::Queue", "Queue")
	same(t, any(object{
		"deadLetterTargetArn": object{"Fn::GetAtt": []any{dead, "Arn"}}, "maxReceiveCount": 10.0,
	}), properties(wakeups)["RedrivePolicy"])
}

func mappingCheck(t *testing.T, m template) {
	queue, _ := m.one("AWS::SQS::Queue", "Queue")
	runner, _ := m.function(grant.Runner)
	_, mapping := m.one("AWS::Lambda::EventSourceMapping", "")
	same(t, object{
		"BatchSize":             1.0,
		"EventSourceArn":        object{"Fn::GetAtt": []any{queue, "Arn"}},
		"FunctionName":          object{"Ref": runner},
		"FunctionResponseTypes": []any{"ReportBatchItemFailures"},
		"ScalingConfig":         object{"MaximumConcurrency": 20.0},
	}, properties(mapping))
}

func recursionCheck(t *testing.T, m template) {
	for _, f := range grant.Functions {
		want := "Terminate"
		if f == grant.Runner {
			want = "Allow"
		}
		if _, p := m.function(f); p["RecursiveLoop"] != want {
			t.Errorf("%s has RecursiveLoop %v, want %s", f, p["RecursiveLoop"], want)
		}
	}
}

func retryCheck(t *testing.T, m template) {
	retries := map[string]any{}
	for _, config := range m.all("AWS::Lambda::EventInvokeConfig") {
		p := properties(config)
		retries[at(p, "FunctionName", "Ref").(string)] = p["MaximumRetryAttempts"]
	}
	runner, _ := m.function(grant.Runner)
	reap, _ := m.function(grant.Reap)
	same(t, map[string]any{runner: 0.0, reap: 0.0}, retries)
}

func functionCheck(t *testing.T, m template) {
	want := map[grant.Function][2]any{ // seconds, MB
		grant.Telegram: {10.0, 256.0}, grant.Web: {10.0, 256.0}, grant.Runner: {900.0, 512.0}, grant.Reap: {60.0, 256.0},
	}
	for f, s := range want {
		_, p := m.function(f)
		same(t, s, [2]any{p["Timeout"], p["MemorySize"]})
		same(t, any("provided.al2023"), p["Runtime"])
		same(t, any("bootstrap"), p["Handler"])
		same(t, any([]any{"arm64"}), p["Architectures"])
	}
	if n := len(m.all("AWS::Lambda::Function")); n != len(want) {
		t.Errorf("the stack has %d functions, want %d: one that CDK adds by itself has rights that no one has read", n, len(want))
	}
}

func environmentCheck(t *testing.T, m template) {
	table, _ := m.one("AWS::DynamoDB::Table", "")
	bucket, _ := m.one("AWS::S3::Bucket", "")
	queue, _ := m.one("AWS::SQS::Queue", "Queue")
	for _, f := range grant.Functions {
		_, p := m.function(f)
		want := object{
			"BOBBIN_TABLE":     object{"Ref": table},
			"BOBBIN_BUCKET":    object{"Ref": bucket},
			"BOBBIN_QUEUE_URL": object{"Ref": queue},
			"BOBBIN_SECRETS":   "/bobbin/main/",
			"BOBBIN_MODEL":     defaults["model"],
		}
		if f == grant.Runner || f == grant.Reap {
			want["BOBBIN_TURNS"] = "10"
		}
		same(t, any(want), at(p, "Environment", "Variables"))
	}
}

func TestEachFunctionGetsTheSettingsThatItNeeds(t *testing.T) {
	m := synth(t, map[string]string{
		"turns": "4", "steps": "9", "repeats": "3", "web-busy": "refuse", "web-debounce": "1s", "web-clearing": "on",
		"telegram-busy": "queue", "telegram-debounce": "1.5s", "telegram-scope": "conversation", "telegram-reset": "-",
	})
	bounds := object{"BOBBIN_TURNS": "4", "BOBBIN_STEPS": "9", "BOBBIN_REPEATS": "3"}
	for f, want := range map[grant.Function]object{
		grant.Telegram: {
			"BOBBIN_TELEGRAM_BUSY": "queue", "BOBBIN_TELEGRAM_DEBOUNCE": "1.5s",
			"BOBBIN_TELEGRAM_SCOPE": "conversation", "BOBBIN_TELEGRAM_RESET": "-",
		},
		grant.Web:    {"BOBBIN_WEB_BUSY": "refuse", "BOBBIN_WEB_DEBOUNCE": "1s", "BOBBIN_WEB_CLEARING": "on"},
		grant.Runner: bounds,
		grant.Reap:   bounds,
	} {
		_, p := m.function(f)
		got := maps.Clone(at(p, "Environment", "Variables").(object))
		maps.DeleteFunc(got, func(name string, _ any) bool {
			return slices.Contains([]string{"TABLE", "BUCKET", "QUEUE_URL", "SECRETS", "MODEL"}, strings.TrimPrefix(name, "BOBBIN_"))
		})
		same(t, want, got)
	}
}

func TestWakeUpsAreHiddenAsLongAsTheRunnerMayRunWhateverIsSet(t *testing.T) {
	m := synth(t, map[string]string{"runner-timeout": "60"})
	_, runner := m.function(grant.Runner)
	same(t, any(60.0), runner["Timeout"])
	_, queue := m.one("AWS::SQS::Queue", "Queue")
	same(t, any(60.0), properties(queue)["VisibilityTimeout"])
}

func logCheck(t *testing.T, m template) {
	for _, f := range grant.Functions {
		_, p := m.function(f)
		group := at(p, "LoggingConfig", "LogGroup", "Ref").(string)
		if days := at(m.resources, group, "Properties", "RetentionInDays"); days != 30.0 {
			t.Errorf("%s's log keeps %v days, want 30", f, days)
		}
	}
	if n := len(m.all("AWS::Logs::LogGroup")); n != len(grant.Functions) {
		t.Errorf("the stack has %d log groups, want one for each function", n)
	}
}

func clockCheck(t *testing.T, m template) {
	reap, _ := m.function(grant.Reap)
	role, roleResource := m.one("AWS::IAM::Role", "clockrole")
	_, clock := m.one("AWS::Scheduler::Schedule", "")
	p := properties(clock)
	same(t, any("rate(1 minute)"), p["ScheduleExpression"])
	same(t, any(object{"Mode": "OFF"}), p["FlexibleTimeWindow"])
	same(t, any(object{
		"Arn":         object{"Fn::GetAtt": []any{reap, "Arn"}},
		"RoleArn":     object{"Fn::GetAtt": []any{role, "Arn"}},
		"RetryPolicy": object{"MaximumRetryAttempts": 0.0, "MaximumEventAgeInSeconds": 60.0},
	}), p["Target"])
	same(t, []any{object{
		"Action": "lambda:InvokeFunction", "Effect": "Allow", "Resource": object{"Fn::GetAtt": []any{reap, "Arn"}},
	}}, statements(roleResource))
}

func apiCheck(t *testing.T, m template) {
	telegram, _ := m.function(grant.Telegram)
	web, _ := m.function(grant.Web)
	routes := map[string]string{}
	for _, r := range m.all("AWS::ApiGatewayV2::Route") {
		integration := at(properties(r), "Target", "Fn::Join", 1, 1, "Ref").(string)
		fn := at(m.resources, integration, "Properties", "IntegrationUri", "Fn::GetAtt", 0).(string)
		routes[properties(r)["RouteKey"].(string)] = fn
	}
	same(t, map[string]string{"POST /telegram": telegram, "$default": web}, routes)
	_, stage := m.one("AWS::ApiGatewayV2::Stage", "")
	same(t, any("$default"), properties(stage)["StageName"])
	same(t, any(object{"ThrottlingBurstLimit": 100.0, "ThrottlingRateLimit": 50.0}), properties(stage)["DefaultRouteSettings"])
}

// statements returns those of a role's policies, of which there must be one inline and none managed.
func statements(role object) []any {
	p := properties(role)
	if p["ManagedPolicyArns"] != nil || len(list(p["Policies"])) != 1 {
		return []any{fmt.Sprintf("policies %v and managed %v, want one inline", p["Policies"], p["ManagedPolicyArns"])}
	}
	return list(at(p, "Policies", 0, "PolicyDocument", "Statement"))
}

func policyCheck(t *testing.T, m template) {
	for id, r := range m.all("AWS::IAM::Policy") {
		t.Errorf("%s: CDK added the policy %v; all rights belong into package grant", id, properties(r))
	}
	for _, f := range grant.Functions {
		same(t, wanted(f, defaults["model"]), allowed(m, f))
	}
}

// wanted lists the function's actions as the table of grants has them for a model, sorted.
func wanted(f grant.Function, model string) []string {
	var actions []string
	for _, g := range grant.For(grant.ForModel(grant.All(), model), f) {
		actions = append(actions, strings.TrimSuffix(g.Action+" on "+string(g.On)+" "+string(g.Secret), " "))
	}
	slices.Sort(actions)
	return actions
}

// allowed lists the function's actions as the template has them, sorted, with the resource named as in a grant.
func allowed(m template, f grant.Function) []string {
	_, p := m.function(f)
	role := at(m.resources, at(p, "Role", "Fn::GetAtt", 0).(string)).(object)
	log := at(p, "LoggingConfig", "LogGroup", "Ref").(string)
	var actions []string
	for _, s := range statements(role) {
		for _, action := range list(at(s, "Action")) {
			actions = append(actions, fmt.Sprintf("%s on %s", action, resourceName(m, at(s, "Resource"), log)))
		}
	}
	slices.Sort(actions)
	return actions
}

// resourceName says which of a grant's resources the template means, or shows what it is when it is none of them.
func resourceName(m template, resource any, log string) string {
	table, _ := m.one("AWS::DynamoDB::Table", "")
	bucket, _ := m.one("AWS::S3::Bucket", "")
	queue, _ := m.one("AWS::SQS::Queue", "Queue")
	text, _ := json.Marshal(resource)
	attr := func(id string) string { return `{"Fn::GetAtt":["` + id + `","Arn"]}` }
	prefix := `{"Fn::Join":["",["arn:",{"Ref":"AWS::Partition"},":ssm:",{"Ref":"AWS::Region"},":",{"Ref":"AWS::AccountId"},":parameter/bobbin/`
	switch name := string(text); {
	case name == attr(table):
		return string(grant.Table)
	case name == attr(bucket):
		return string(grant.Bucket)
	case name == attr(queue):
		return string(grant.Queue)
	case name == attr(log):
		return string(grant.Logs)
	case name == `{"Fn::Join":["",[`+attr(bucket)+`,"/*"]]}`:
		return string(grant.Objects)
	case strings.HasPrefix(name, prefix):
		_, secret, _ := strings.Cut(strings.TrimPrefix(name, prefix), "/") // after the stage
		return string(grant.Secret) + " " + strings.TrimSuffix(secret, `"]]}`)
	default:
		return name
	}
}

func outputCheck(t *testing.T, m template) {
	same(t,
		[]string{"Address", "ApiId", "Bucket", "QueueUrl", "Reap", "Runner", "Table", "Telegram", "Web"},
		slices.Sorted(maps.Keys(m.outputs)))
}

func TestStackForAnEmulator(t *testing.T) {
	m := synth(t, map[string]string{
		"stage": "try", "arch": "amd64", "retain": "off", "tls": "off", "synthesizer": "cli", "mapping": "off",
		"without":      "runner/s3:GetObject",
		"telegram-api": "http://127.0.0.1:1", "telegram-bot": "77", "telegram-rate": "30",
		"model": "openai:try", "model-url": "http://127.0.0.1:2/v1",
	})
	_, table := m.one("AWS::DynamoDB::Table", "")
	_, bucket := m.one("AWS::S3::Bucket", "")
	same(t, []any{"Delete", "Delete"}, []any{table["DeletionPolicy"], bucket["DeletionPolicy"]})
	same(t, 0, len(m.all("AWS::S3::BucketPolicy"))+len(m.all("AWS::SQS::QueuePolicy")))
	same(t, 0, len(m.all("AWS::Lambda::EventSourceMapping")))
	_, runner := m.function(grant.Runner)
	same(t, any([]any{"x86_64"}), runner["Architectures"])
	env := at(runner, "Environment", "Variables").(object)
	for name, want := range map[string]string{
		"BOBBIN_SECRETS": "/bobbin/try/", "BOBBIN_TELEGRAM_API": "http://127.0.0.1:1", "BOBBIN_TELEGRAM_BOT": "77",
		"BOBBIN_TELEGRAM_RATE": "30", "BOBBIN_MODEL": "openai:try", "BOBBIN_MODEL_URL": "http://127.0.0.1:2/v1",
	} {
		same(t, any(want), env[name])
	}
	held := allowed(m, grant.Runner)
	same(t, slices.DeleteFunc(wanted(grant.Runner, "openai:try"), func(right string) bool {
		return right == "s3:GetObject on objects"
	}), held)
}
