package queuetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/queue"
)

// How long the suite waits. Real queues count visibility in whole seconds.
const (
	patience = 30 * time.Second        // for what must come
	quiet    = 1500 * time.Millisecond // for what must not come
	moment   = 2 * time.Second         // how long a wake-up is hidden that the test waits for
	hour     = time.Hour               // how long one is hidden that must not come back
)

// client drives one queue for one test and fails that test.
type client struct {
	*testing.T
	queue.Sender
	queue.Receiver
	sent int
}

func newClient(t *testing.T, open Open) *client {
	t.Helper()
	s, r := open(t)
	return &client{T: t, Sender: s, Receiver: r}
}

// send sends bodies to the group, each under a deduplication ID of its own.
func (c *client) send(group string, bodies ...string) {
	c.Helper()
	for _, body := range bodies {
		c.sent++
		c.put(queue.Message{Group: group, Dedup: fmt.Sprintf("dedup-%d", c.sent), Body: body})
	}
}

func (c *client) put(m queue.Message) {
	c.Helper()
	if err := c.Send(c.Context(), m); err != nil {
		c.Fatalf("sending to %s: %v", m.Group, err)
	}
}

// next takes the next wake-up, which must come.
func (c *client) next() queue.Delivery {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	for {
		got, err := c.Receive(ctx, 1)
		if err != nil {
			c.Fatalf("receiving what must come: %v", err)
		}
		if len(got) > 0 {
			return got[0]
		}
	}
}

// want takes the next wake-up, which must be this one, received that often.
func (c *client) want(group, body string, receives int) queue.Delivery {
	c.Helper()
	d := c.next()
	if d.Group != group || d.Body != body || d.Receives != receives {
		c.Fatalf("got %s/%.40q, received %d times; want %s/%.40q, %d times",
			d.Group, d.Body, d.Receives, group, body, receives)
	}
	return d
}

// nothing fails the test if any wake-up comes now.
func (c *client) nothing(why string) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), quiet)
	defer cancel()
	got, err := c.Receive(ctx, queue.MaxReceive)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		c.Fatalf("receiving what must not come: %v", err)
	}
	for _, d := range got {
		c.Fatalf("got %s/%.40q, received %d times, although %s", d.Group, d.Body, d.Receives, why)
	}
}

// consume takes n wake-ups, ends each with Done, and returns them in order of arrival.
func (c *client) consume(n int) []queue.Message {
	c.Helper()
	var got []queue.Message
	for range n {
		d := c.next()
		c.ok("Done", d.Lease.Done(c.Context()))
		got = append(got, d.Message)
	}
	return got
}

func (c *client) extend(d queue.Delivery, by time.Duration) {
	c.Helper()
	c.ok("Extend", d.Lease.Extend(c.Context(), by))
}

func (c *client) giveBack(d queue.Delivery, after time.Duration) {
	c.Helper()
	c.ok("GiveBack", d.Lease.GiveBack(c.Context(), after))
}

func (c *client) done(d queue.Delivery) {
	c.Helper()
	c.ok("Done", d.Lease.Done(c.Context()))
}

func (c *client) ok(what string, err error) {
	c.Helper()
	if err != nil {
		c.Fatalf("%s: %v", what, err)
	}
}

func (c *client) is(what string, err, want error) {
	c.Helper()
	if !errors.Is(err, want) {
		c.Errorf("%s: got error %v, want %v", what, err, want)
	}
}

func (c *client) same(got, want any) {
	c.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		c.Errorf("want (-), got (+):\n%s", diff)
	}
}
