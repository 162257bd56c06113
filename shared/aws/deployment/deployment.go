// Package deployment opens what the deployed functions share: the stack's table, bucket, queue and secrets, and the parts
// of the engine over them.
package deployment

import (
	"context"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"github.com/bobbin-agent/bobbin/shared/aws/dynamo"
	"github.com/bobbin-agent/bobbin/shared/aws/sqs"
	"github.com/bobbin-agent/bobbin/shared/aws/ssm"
	"github.com/bobbin-agent/bobbin/shared/config"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/inbox"
	"github.com/bobbin-agent/bobbin/shared/owner"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// Deployment is the stack as a function sees it. What a function may do with it, its role says.
type Deployment struct {
	Settings config.Cloud
	Table    *dynamo.Table
	Queue    *sqs.Queue
	Secrets  *ssm.Store
	IDs      *id.Source
	SDK      sdk.Config // to make clients of what only some functions use, which the others need not link
}

// Open reads the settings from the environment and makes the clients. It makes no request.
func Open() (*Deployment, error) {
	settings, err := config.Environment().Cloud()
	if err != nil {
		return nil, err
	}
	cfg := settingsOf(settings.AWS)
	return &Deployment{
		Settings: settings,
		Table:    dynamo.New(cfg, settings.Table),
		Queue:    sqs.New(cfg, settings.QueueURL),
		Secrets:  ssm.New(cfg, settings.Secrets),
		IDs:      &id.Source{},
		SDK:      cfg,
	}, nil
}

// settingsOf are the SDK's settings as package account would find them in a function. Its search through files, profiles
// and the services that lend credentials, none of which are there, would take a millisecond of every start.
func settingsOf(a config.AWS) sdk.Config {
	cfg := sdk.Config{
		Region: a.Region,
		Credentials: sdk.CredentialsProviderFunc(func(context.Context) (sdk.Credentials, error) {
			return sdk.Credentials{
				AccessKeyID: a.AccessKey, SecretAccessKey: a.SecretKey, SessionToken: a.SessionToken, Source: "environment",
			}, nil
		}),
		HTTPClient:                 awshttp.NewBuildableClient(),
		AccountIDEndpointMode:      sdk.AccountIDEndpointModePreferred,
		RequestChecksumCalculation: sdk.RequestChecksumCalculationWhenSupported,
		ResponseChecksumValidation: sdk.ResponseChecksumValidationWhenSupported,
	}
	if a.Endpoint != "" {
		cfg.BaseEndpoint = &a.Endpoint
	}
	return cfg
}

// Book looks owners up.
func (d *Deployment) Book() *owner.Book { return &owner.Book{Table: d.Table, IDs: d.IDs} }

// Inbox accepts messages.
func (d *Deployment) Inbox() *inbox.Inbox {
	return &inbox.Inbox{Table: d.Table, Queue: d.Queue, Book: d.Book(), IDs: d.IDs, Rules: d.Settings.Rules}
}

// Desk claims turns for this process.
func (d *Deployment) Desk() *turn.Desk {
	return &turn.Desk{Table: d.Table, IDs: d.IDs, Holder: d.IDs.New(time.Now()), Permits: d.Settings.Turns}
}
