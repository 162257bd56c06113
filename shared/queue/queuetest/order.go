package queuetest

import (
	"context"
	"fmt"
	"sync"

	"github.com/bobbin-agent/bobbin/shared/queue"
)

func ordered(c *client) {
	c.send("a", "1", "2", "3")
	for _, body := range []string{"1", "2", "3"} {
		d := c.want("a", body, 1)
		c.nothing("a wake-up of its group is held")
		c.done(d)
	}
	c.nothing("all are done")
}

func sideBySide(c *client) {
	c.send("a", "a1", "a2")
	c.send("b", "b1", "b2")
	c.send("c", "c1")
	held := map[string]queue.Delivery{}
	for range 3 {
		d := c.next()
		held[d.Body] = d
	}
	for _, body := range []string{"a1", "b1", "c1"} {
		if _, ok := held[body]; !ok {
			c.Fatalf("%s was not delivered while the other groups were held", body)
		}
	}
	c.nothing("a wake-up of each group is held")
	c.done(held["b1"])
	c.done(c.want("b", "b2", 1))
	c.nothing("group a is held and the others are empty")
}

func crowd(c *client) {
	const groups, each, receivers = 4, 5, 3
	var sending sync.WaitGroup
	for g := range groups {
		sending.Go(func() {
			for n := range each {
				m := queue.Message{Group: fmt.Sprint("g", g), Dedup: fmt.Sprintf("%d-%d", g, n), Body: fmt.Sprint(n)}
				if err := c.Send(c.Context(), m); err != nil {
					c.Errorf("sending: %v", err)
				}
			}
		})
	}
	seen := observe(c, groups*each, receivers)
	sending.Wait()
	for g := range groups {
		c.same(seen[fmt.Sprint("g", g)], []string{"0", "1", "2", "3", "4"})
	}
}

// observe has several receivers take n wake-ups in all, and returns the bodies of each group in order of arrival. It
// fails the test if two of one group are held at once.
func observe(c *client, n, receivers int) map[string][]string {
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	var (
		mu   sync.Mutex
		wait sync.WaitGroup
		held = map[string]bool{}
		seen = map[string][]string{}
	)
	arrive := func(d queue.Delivery) {
		mu.Lock()
		defer mu.Unlock()
		if held[d.Group] {
			c.Errorf("two wake-ups of group %s are held at once", d.Group)
		}
		held[d.Group] = true
		seen[d.Group] = append(seen[d.Group], d.Body)
	}
	leave := func(d queue.Delivery) {
		mu.Lock()
		defer mu.Unlock()
		held[d.Group] = false
		if n--; n == 0 {
			cancel()
		}
	}
	for range receivers {
		wait.Go(func() {
			for ctx.Err() == nil {
				got, err := c.Receive(ctx, 2)
				if err != nil && ctx.Err() == nil {
					c.Errorf("receiving: %v", err)
				}
				for _, d := range got {
					arrive(d)
					leave(d)
					c.is("Done", d.Lease.Done(context.WithoutCancel(ctx)), nil)
				}
			}
		})
	}
	wait.Wait()
	return seen
}

func receiveWaits(c *client) {
	got := make(chan queue.Delivery)
	go func() {
		defer close(got)
		got <- c.next()
	}()
	c.send("a", "1")
	if d, ok := <-got; ok {
		c.same(d.Body, "1")
	}
}

func receiveEnds(c *client) {
	c.nothing("nothing was sent")
	ctx, cancel := context.WithCancel(c.Context())
	cancel()
	c.send("a", "1")
	_, err := c.Receive(ctx, 1)
	c.is("Receive after its context ended", err, context.Canceled)
	c.want("a", "1", 1)
}

func atMost(c *client) {
	const groups = 3
	for g := range groups {
		c.send(fmt.Sprint("g", g), "1")
	}
	for left := groups; left > 0; {
		got, err := c.Receive(c.Context(), 2)
		c.ok("Receive", err)
		if len(got) > 2 {
			c.Fatalf("asked for at most 2 wake-ups, got %d", len(got))
		}
		left -= len(got)
	}
}
