package fifo_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/bobbin-agent/bobbin/shared/local/fifo"
	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/queue/queuetest"
)

func open(*testing.T) (queue.Sender, queue.Receiver) {
	q := new(fifo.Queue)
	return q, q
}

func TestQueueKeepsTheSeamsGuarantees(t *testing.T) {
	t.Parallel()
	queuetest.RunInstantly(t, open)
}

func TestGroupsThatAreReadyTakeTurns(t *testing.T) {
	t.Parallel()
	q := new(fifo.Queue)
	for i := range 3 {
		send(t, q, "a", i)
		send(t, q, "b", i)
	}
	var got string
	for range 6 {
		for _, d := range receive(t, q, 1) {
			got += d.Group
			if err := d.Lease.Done(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got != "ababab" {
		t.Errorf("groups were served in the order %s", got)
	}
}

func TestOneReceiveTakesEachReadyGroupOnce(t *testing.T) {
	t.Parallel()
	q := new(fifo.Queue)
	for i := range 2 {
		send(t, q, "a", i)
		send(t, q, "b", i)
	}
	if got := receive(t, q, queue.MaxReceive); len(got) != 2 || got[0].Group != "a" || got[1].Group != "b" {
		t.Errorf("got %v, want the first of a and of b", got)
	}
}

func TestEveryWaitingReceiverIsServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 50
		q := new(fifo.Queue)
		got := make(chan string, n)
		for range n {
			go func() { got <- receive(t, q, 1)[0].Group }()
		}
		synctest.Wait()
		for i := range n {
			send(t, q, fmt.Sprint("g", i), 0)
		}
		seen := map[string]bool{}
		for range n {
			seen[<-got] = true
		}
		if len(seen) != n {
			t.Errorf("%d receivers got %d groups", n, len(seen))
		}
	})
}

func send(t testing.TB, q *fifo.Queue, group string, n int) {
	t.Helper()
	m := queue.Message{Group: group, Dedup: fmt.Sprint(group, n), Body: "{}"}
	if err := q.Send(t.Context(), m); err != nil {
		t.Error(err)
	}
}

func receive(t testing.TB, q *fifo.Queue, most int) []queue.Delivery {
	t.Helper()
	got, err := q.Receive(t.Context(), most)
	if err != nil {
		t.Error(err)
	}
	return got
}

// BenchmarkWakeUp is a wake-up's whole life while many other groups wait: the cost must not grow with them.
func BenchmarkWakeUp(b *testing.B) {
	for _, groups := range []int{1, 10_000} {
		b.Run(fmt.Sprint(groups, "_groups"), func(b *testing.B) {
			q := new(fifo.Queue)
			ctx := context.Background()
			for i := range groups {
				send(b, q, fmt.Sprint("g", i), -1)
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				d := receive(b, q, 1)[0]
				send(b, q, d.Group, n)
				if err := d.Lease.Done(ctx); err != nil {
					b.Fatal(err)
				}
				n++
			}
		})
	}
}
