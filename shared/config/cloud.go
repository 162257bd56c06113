package config

import (
	"errors"
	"fmt"
	"strconv"
)

// Cloud is how the functions on AWS run.
type Cloud struct {
	Shared
	Table    string // BOBBIN_TABLE
	Bucket   string // BOBBIN_BUCKET
	QueueURL string // BOBBIN_QUEUE_URL
	Secrets  string // BOBBIN_SECRETS: what the names of the secrets' parameters begin with
	Bot      int64  // BOBBIN_TELEGRAM_BOT: the bot's numeric ID, the digits before its token's colon; 0 when there is none
	Clearing bool   // BOBBIN_WEB_CLEARING: on or off, whether the page can clear the conversation; off unless said
	AWS      AWS
}

// AWS is what Lambda itself puts into a function's environment: where it runs, and the credentials of its role, which
// are good as long as the process can live.
type AWS struct {
	Region       string // AWS_REGION
	AccessKey    string // AWS_ACCESS_KEY_ID
	SecretKey    string // AWS_SECRET_ACCESS_KEY
	SessionToken string // AWS_SESSION_TOKEN
	Endpoint     string // AWS_ENDPOINT_URL: everything goes to this server instead, an emulator; "" is AWS
}

// Table is BOBBIN_TABLE: the deployment's table, for commands that work on it from outside; "" when there is none.
func (l Lookup) Table() string { return l.text("BOBBIN_TABLE", "") }

// Cloud reads the settings of a function, which the stack sets.
func (l Lookup) Cloud() (Cloud, error) {
	shared, err := l.shared(cloudTurns)
	bot, botErr := l.bot()
	clearing, clearingErr := choice(l, "BOBBIN_WEB_CLEARING", "off", "on")
	c := Cloud{
		Shared:   shared,
		Table:    l.Table(),
		Bucket:   l.text("BOBBIN_BUCKET", ""),
		QueueURL: l.text("BOBBIN_QUEUE_URL", ""),
		Secrets:  l.text("BOBBIN_SECRETS", ""),
		Bot:      bot,
		Clearing: clearing == "on",
		AWS:      l.aws(),
	}
	return c, errors.Join(err, botErr, clearingErr,
		l.required("deploy the stack again", "BOBBIN_TABLE", "BOBBIN_BUCKET", "BOBBIN_QUEUE_URL", "BOBBIN_SECRETS"),
		l.required("Lambda itself sets it", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
}

func (l Lookup) aws() AWS {
	return AWS{
		Region:       l.text("AWS_REGION", ""),
		AccessKey:    l.text("AWS_ACCESS_KEY_ID", ""),
		SecretKey:    l.text("AWS_SECRET_ACCESS_KEY", ""),
		SessionToken: l.text("AWS_SESSION_TOKEN", ""),
		Endpoint:     l.text("AWS_ENDPOINT_URL", ""),
	}
}

// bot doesn't repeat what is wrong, which may be the whole token.
func (l Lookup) bot() (int64, error) {
	text := l.text("BOBBIN_TELEGRAM_BOT", "")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return 0, errors.New("BOBBIN_TELEGRAM_BOT must be the digits before the colon of the bot's token")
	}
	return n, nil
}

// required names the variables that are not set, in order, each with the advice.
func (l Lookup) required(advice string, names ...string) error {
	var missing error
	for _, name := range names {
		if l.text(name, "") == "" {
			missing = errors.Join(missing, fmt.Errorf("%s is not set: %s", name, advice))
		}
	}
	return missing
}
