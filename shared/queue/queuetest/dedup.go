package queuetest

import (
	"time"

	"github.com/bobbin-agent/bobbin/shared/queue"
)

func duplicate(c *client) {
	m := queue.Message{Group: "a", Dedup: "x", Body: "first"}
	c.put(m)
	c.put(queue.Message{Group: "a", Dedup: "x", Body: "second"})
	d := c.want("a", "first", 1)
	c.put(m)
	c.done(d)
	c.nothing("all that follow are duplicates")
}

func duplicateOfDone(c *client) {
	m := queue.Message{Group: "a", Dedup: "x", Body: "1"}
	c.put(m)
	c.done(c.want("a", "1", 1))
	c.put(m)
	c.nothing("it is a duplicate")
}

func duplicateOfForgotten(c *client) {
	m := queue.Message{Group: "a", Dedup: "x", Body: "1"}
	c.put(m)
	c.done(c.want("a", "1", 1))
	time.Sleep(queue.DedupWindow - 2*quiet)
	c.put(m)
	c.nothing("it is a duplicate")
	time.Sleep(2 * quiet)
	c.put(m)
	c.want("a", "1", 1)
}

func equalBodies(c *client) {
	c.send("a", "same", "same")
	c.done(c.want("a", "same", 1))
	c.done(c.want("a", "same", 1))
}
