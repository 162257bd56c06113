package main

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/runner"
	"github.com/bobbin-agent/bobbin/shared/tool"
)

// endEarly is how long before Lambda ends the process a turn is ended, so that its owner is told at once.
const endEarly = 15 * time.Second

// toolGrace is how long tools may take to end after their turn has.
const toolGrace = 2 * time.Second

// handler acts on the wake-ups that the queue's mapping passes on.
type handler struct {
	runner func() *runner.Runner // the same each time; made at the first event, to keep the start short
	lease  func(receiptHandle string) queue.Lease
	alive  *tool.Lingering // the tools that run
	exit   func(code int)
	log    *slog.Logger
}

// handle reports the wake-ups that are to come again; the mapping removes all others.
func (h *handler) handle(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-endEarly))
		defer cancel()
	}
	r := h.runner()
	// Null instead of an empty list would be as well on AWS; an emulator trips over it.
	out := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	kept := map[string]bool{} // groups of which one comes again: all behind it must too, or they would overtake it
	for _, m := range e.Records {
		group := m.Attributes["MessageGroupId"]
		if kept[group] {
			out.BatchItemFailures = append(out.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
			continue
		}
		verdict, err := r.Handle(ctx, h.delivery(m))
		if err != nil {
			h.log.LogAttrs(ctx, slog.LevelError, "handling a wake-up", slog.Any("error", err))
		}
		if err != nil || verdict == runner.GivenBack {
			kept[group] = true
			out.BatchItemFailures = append(out.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
		}
	}
	h.endStuck(ctx)
	return out, nil
}

// endStuck ends the process if a tool does not end with its turn: a process that Lambda freezes and thaws would go on with
// it in the middle of somebody else's turn. The wake-up then comes again, and finds nothing to do.
func (h *handler) endStuck(ctx context.Context) {
	if n := h.alive.Settle(context.WithoutCancel(ctx), toolGrace); n > 0 {
		h.log.LogAttrs(ctx, slog.LevelError, "ending the process: tools go on though their turn has ended", slog.Int("tools", n))
		h.exit(1)
	}
}

func (h *handler) delivery(m events.SQSMessage) queue.Delivery {
	receives, err := strconv.Atoi(m.Attributes["ApproximateReceiveCount"])
	if err != nil {
		receives = 1
	}
	return queue.Delivery{
		Message: queue.Message{
			Group: m.Attributes["MessageGroupId"], Dedup: m.Attributes["MessageDeduplicationId"], Body: m.Body,
		},
		Receives: receives,
		Lease:    h.lease(m.ReceiptHandle),
	}
}
