// Package deployment opens what the deployed functions share: the stack's table, bucket, queue and secrets, and the parts
// of the engine over them.
package deployment

import (
	"context"
	"time"

	"github.com/bobbin-agent/bobbin/shared/aws/account"
	"github.com/bobbin-agent/bobbin/shared/aws/dynamo"
	"github.com/bobbin-agent/bobbin/shared/aws/s3"
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
	Blobs    *s3.Blob
	Queue    *sqs.Queue
	Secrets  *ssm.Store
	IDs      *id.Source
}

// Open reads the settings from the environment and makes the clients. It makes no request.
func Open(ctx context.Context) (*Deployment, error) {
	settings, err := config.Environment().Cloud()
	if err != nil {
		return nil, err
	}
	cfg, err := account.Load(ctx)
	if err != nil {
		return nil, err
	}
	return &Deployment{
		Settings: settings,
		Table:    dynamo.New(cfg, settings.Table),
		Blobs:    s3.New(cfg, settings.Bucket),
		Queue:    sqs.New(cfg, settings.QueueURL),
		Secrets:  ssm.New(cfg, settings.Secrets),
		IDs:      &id.Source{},
	}, nil
}

// Book looks owners up.
func (d *Deployment) Book() *owner.Book { return &owner.Book{Table: d.Table, IDs: d.IDs} }

// Inbox accepts messages.
func (d *Deployment) Inbox() *inbox.Inbox {
	return &inbox.Inbox{Table: d.Table, Queue: d.Queue, Book: d.Book(), IDs: d.IDs}
}

// Desk claims turns for this process.
func (d *Deployment) Desk() *turn.Desk {
	return &turn.Desk{Table: d.Table, IDs: d.IDs, Holder: d.IDs.New(time.Now())}
}
