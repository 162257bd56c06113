package queuetest

import (
	"time"

	"github.com/bobbin-agent/bobbin/shared/queue"
)

func lapse(c *client) {
	c.send("a", "1", "2")
	c.extend(c.want("a", "1", 1), moment)
	c.extend(c.want("a", "1", 2), moment)
	c.done(c.want("a", "1", 3))
	c.done(c.want("a", "2", 1))
	c.nothing("all are done")
}

func visibility(c *client) {
	c.send("a", "1")
	c.want("a", "1", 1)
	time.Sleep(queue.Visibility - 2*quiet)
	c.nothing("it is hidden")
	c.want("a", "1", 2)
}

func extend(c *client) {
	c.send("a", "1", "2")
	d := c.want("a", "1", 1)
	c.extend(d, hour)
	c.extend(d, 2*moment)
	c.nothing("it is hidden")
	c.extend(d, 2*moment)
	c.nothing("it is hidden anew")
	c.want("a", "1", 2)
}

func giveBack(c *client) {
	c.send("a", "1", "2")
	c.giveBack(c.want("a", "1", 1), 0)
	c.done(c.want("a", "1", 2))
	c.done(c.want("a", "2", 1))
}

func giveBackLater(c *client) {
	c.send("a", "1", "2")
	c.giveBack(c.want("a", "1", 1), 2*moment)
	c.send("b", "other")
	c.done(c.want("b", "other", 1))
	c.nothing("the first of group a was given back for later")
	c.done(c.want("a", "1", 2))
	c.done(c.want("a", "2", 1))
}

func lapsedLease(c *client) {
	c.send("a", "1", "2")
	old := c.want("a", "1", 1)
	c.extend(old, moment)
	held := c.want("a", "1", 2)
	c.is("Extend of a lapsed lease", old.Lease.Extend(c.Context(), moment), queue.ErrLapsed)
	c.is("GiveBack of a lapsed lease", old.Lease.GiveBack(c.Context(), 0), queue.ErrLapsed)
	c.is("Done of a lapsed lease", old.Lease.Done(c.Context()), queue.ErrLapsed)
	c.nothing("it is held")
	c.giveBack(held, 0)
	c.done(c.want("a", "1", 3))
	c.done(c.want("a", "2", 1))
}

func doneLease(c *client) {
	c.send("a", "1", "2")
	old := c.want("a", "1", 1)
	c.done(old)
	c.is("Extend of a lease that is done", old.Lease.Extend(c.Context(), moment), queue.ErrLapsed)
	c.is("GiveBack of a lease that is done", old.Lease.GiveBack(c.Context(), 0), queue.ErrLapsed)
	c.done(c.want("a", "2", 1))
	c.nothing("all are done")
}
