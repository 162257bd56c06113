package queuetest

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/queue"
)

func bodies(c *client) {
	kinds := []string{
		"x",
		" ",
		"\t a \r\n b \n",
		`{"session":"s","turn":"t","text":"a \"quoted\" <tag> & é"}`,
		"<xml a='1'>&amp;</xml>",
		"100% +plus &amp=1",
		"żółw 亀 🐢 👩‍👩‍👧 \ufffd \U0010ffff",
		strings.Repeat("0123456789abcde\n", queue.MaxBodyBytes/16),
	}
	var want []queue.Message
	for i, body := range kinds {
		m := queue.Message{Group: fmt.Sprint("g", i), Dedup: fmt.Sprint("d", i), Body: body}
		want = append(want, m)
		c.put(m)
	}
	got := c.consume(len(kinds))
	sort.Slice(got, func(i, j int) bool { return got[i].Group < got[j].Group })
	c.same(got, want)
}

func names(c *client) {
	var all strings.Builder
	for b := '!'; b <= '~'; b++ {
		all.WriteRune(b)
	}
	full := all.String() + strings.Repeat("x", queue.MaxNameBytes-all.Len())
	m := queue.Message{Group: full, Dedup: full, Body: "1"}
	c.put(m)
	c.same(c.consume(1), []queue.Message{m})
}

func receiveLimits(c *client) {
	c.send("a", "1")
	for _, most := range []int{-1, 0, queue.MaxReceive + 1} {
		_, err := c.Receive(c.Context(), most)
		c.is(fmt.Sprintf("Receive of at most %d", most), err, queue.ErrInvalid)
	}
	got, err := c.Receive(c.Context(), queue.MaxReceive)
	c.ok("Receive of as many as may be", err)
	c.same(len(got), 1)
}

func messageLimits(c *client) {
	good := queue.Message{Group: "a", Dedup: "x", Body: "1"}
	for what, spoil := range map[string]func(*queue.Message){
		"no group":         func(m *queue.Message) { m.Group = "" },
		"no dedup":         func(m *queue.Message) { m.Dedup = "" },
		"no body":          func(m *queue.Message) { m.Body = "" },
		"long group":       func(m *queue.Message) { m.Group = strings.Repeat("a", queue.MaxNameBytes+1) },
		"space in a dedup": func(m *queue.Message) { m.Dedup = "x y" },
		"long body":        func(m *queue.Message) { m.Body = strings.Repeat("b", queue.MaxBodyBytes+1) },
		"control in body":  func(m *queue.Message) { m.Body = "\x00" },
		"body not UTF-8":   func(m *queue.Message) { m.Body = "\xff" },
	} {
		m := good
		spoil(&m)
		c.is("Send with "+what, c.Send(c.Context(), m), queue.ErrInvalid)
	}
	c.put(good)
	c.same(c.consume(1), []queue.Message{good})
}

func visibilityLimits(c *client) {
	c.send("a", "1", "2")
	d := c.want("a", "1", 1)
	for _, out := range []time.Duration{-time.Second, queue.MaxVisibility + time.Second} {
		c.is(fmt.Sprintf("Extend by %v", out), d.Lease.Extend(c.Context(), out), queue.ErrInvalid)
		c.is(fmt.Sprintf("GiveBack after %v", out), d.Lease.GiveBack(c.Context(), out), queue.ErrInvalid)
	}
	c.nothing("it is still held")
	c.done(d)
	c.want("a", "2", 1)
}

func endedContext(c *client) {
	ended, cancel := context.WithCancel(c.Context())
	c.send("a", "1")
	d := c.want("a", "1", 1)
	cancel()
	c.is("Send", c.Send(ended, queue.Message{Group: "b", Dedup: "y", Body: "2"}), queue.ErrRefused)
	c.is("Extend", d.Lease.Extend(ended, hour), queue.ErrRefused)
	c.is("GiveBack", d.Lease.GiveBack(ended, 0), queue.ErrRefused)
	c.is("Done", d.Lease.Done(ended), queue.ErrRefused)
	c.nothing("it is still held")
	c.done(d)
}
