package grant

import (
	"maps"
	"slices"
	"strings"
)

// Function names one Lambda function; its code is in functions/<name>.
type Function string

// The functions.
const (
	Telegram Function = "telegram" // the webhook: accepts messages
	Web      Function = "web"      // the page: accepts and shows messages
	Runner   Function = "runner"   // runs turns, delivers replies
	Reap     Function = "reap"     // every minute: repairs what a crash left
)

// Functions lists all of them.
var Functions = []Function{Telegram, Web, Runner, Reap}

// SecretName names one secret: the last part of its parameter's name, after the stage's prefix.
type SecretName string

// The secrets. CloudFormation can't make a SecureString, so whoever deploys sets them with the command line.
const (
	TelegramSecret SecretName = "telegram-webhook-secret" // what Telegram sends along to show that it is Telegram
	TelegramToken  SecretName = "telegram-token"          // the bot's token
	AnthropicKey   SecretName = "anthropic-api-key"
	OpenAIKey      SecretName = "openai-api-key"
)

// Secrets lists all of them.
var Secrets = []SecretName{TelegramSecret, TelegramToken, AnthropicKey, OpenAIKey}

// modelKeys has the secret of each provider of models that takes a key.
var modelKeys = map[string]SecretName{"anthropic": AnthropicKey, "openai": OpenAIKey}

// ForModel leaves out the keys of other providers than that of the model, which is written provider:name. All stay
// where no model is named, since the functions choose one then.
func ForModel(all []Grant, model string) []Grant {
	if model == "" {
		return all
	}
	provider, _, _ := strings.Cut(model, ":")
	return slices.DeleteFunc(slices.Clone(all), func(g Grant) bool {
		return slices.Contains(slices.Collect(maps.Values(modelKeys)), g.Secret) && g.Secret != modelKeys[provider]
	})
}

// All returns every grant. DynamoDB has no action for transactions: each is authorised by the actions of its operations.
func All() []Grant {
	return []Grant{
		{Telegram, "dynamodb:GetItem", Table, "", Ours, "reads who wrote, the thread's head, what was accepted before"},
		{Telegram, "dynamodb:Query", Table, "", Ours, "finds what a stop is to end, and what a plain yes or no answers"},
		{Telegram, "dynamodb:PutItem", Table, "", Ours, "accepts: the turn, its queue mark, the message, the due mark"},
		{Telegram, "dynamodb:UpdateItem", Table, "", Ours, "counts what is queued"},
		{Telegram, "dynamodb:DeleteItem", Table, "", Ours, "uses up a pairing code"},
		{Telegram, "dynamodb:ConditionCheckItem", Table, "", Ours, "accepts only while the sender is who it has read and the thread as it has read it"},
		{Telegram, "sqs:SendMessage", Queue, "", Ours, "wakes the session"},
		{Telegram, "ssm:GetParameter", Secret, TelegramSecret, Ours, "tells Telegram from anyone else"},
		{Telegram, "logs:CreateLogStream", Logs, "", AWS, "opens a log"},
		{Telegram, "logs:PutLogEvents", Logs, "", AWS, "writes it"},

		{Web, "dynamodb:GetItem", Table, "", Ours, "reads who asks and the thread's head"},
		{Web, "dynamodb:Query", Table, "", Ours, "lists the conversation"},
		{Web, "dynamodb:PutItem", Table, "", Ours, "accepts: the turn, its queue mark, the message, the due mark"},
		{Web, "dynamodb:UpdateItem", Table, "", Ours, "counts what is queued"},
		{Web, "dynamodb:DeleteItem", Table, "", Ours, "uses up a pairing code"},
		{Web, "dynamodb:ConditionCheckItem", Table, "", Ours, "accepts only while the sender is who it has read and the thread as it has read it"},
		{Web, "sqs:SendMessage", Queue, "", Ours, "wakes the session"},
		{Web, "logs:CreateLogStream", Logs, "", AWS, "opens a log"},
		{Web, "logs:PutLogEvents", Logs, "", AWS, "writes it"},

		{Runner, "dynamodb:GetItem", Table, "", Ours, "reads the fence, the lease, the manifest"},
		{Runner, "dynamodb:Query", Table, "", Ours, "finds the oldest queued turn and the messages to deliver"},
		{Runner, "dynamodb:PutItem", Table, "", Ours, "claims, checkpoints, finishes, beats the lease"},
		{Runner, "dynamodb:UpdateItem", Table, "", Ours, "counts down what it claims and takes"},
		{Runner, "dynamodb:DeleteItem", Table, "", Ours, "takes queue marks, settles due marks"},
		{Runner, "dynamodb:ConditionCheckItem", Table, "", Ours, "checks the fence in every write of a turn"},
		{Runner, "s3:GetObject", Objects, "", Ours, "loads the transcript"},
		{Runner, "s3:PutObject", Objects, "", Ours, "stores the transcript's parts"},
		{Runner, "s3:ListBucket", Bucket, "", Ours, "lets S3 say that a part is missing, where it would say forbidden"},
		{Runner, "sqs:SendMessage", Queue, "", Ours, "wakes the session again when a turn has ended"},
		{Runner, "sqs:ChangeMessageVisibility", Queue, "", Ours, "shortens the wake-up's visibility, renews it, gives it back"},
		{Runner, "ssm:GetParameter", Secret, TelegramToken, Ours, "calls the Bot API"},
		{Runner, "ssm:GetParameter", Secret, AnthropicKey, Ours, "calls the model"},
		{Runner, "ssm:GetParameter", Secret, OpenAIKey, Ours, "calls the model"},
		{Runner, "sqs:ReceiveMessage", Queue, "", AWS, "polls the queue for the mapping"},
		{Runner, "sqs:DeleteMessage", Queue, "", AWS, "removes a handled wake-up for the mapping"},
		{Runner, "sqs:GetQueueAttributes", Queue, "", AWS, "lets the mapping check the queue"},
		{Runner, "logs:CreateLogStream", Logs, "", AWS, "opens a log"},
		{Runner, "logs:PutLogEvents", Logs, "", AWS, "writes it"},

		{Reap, "dynamodb:GetItem", Table, "", Ours, "looks at what a due mark stands for"},
		{Reap, "dynamodb:Query", Table, "", Ours, "walks the due marks"},
		{Reap, "dynamodb:PutItem", Table, "", Ours, "moves due marks, ends dead turns"},
		{Reap, "dynamodb:UpdateItem", Table, "", Ours, "counts down what a stop cancels"},
		{Reap, "dynamodb:DeleteItem", Table, "", Ours, "drops stale due marks, ends dead turns"},
		{Reap, "sqs:SendMessage", Queue, "", Ours, "sends the wake-ups that were lost"},
		{Reap, "logs:CreateLogStream", Logs, "", AWS, "opens a log"},
		{Reap, "logs:PutLogEvents", Logs, "", AWS, "writes it"},
	}
}
