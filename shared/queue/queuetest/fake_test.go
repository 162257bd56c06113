package queuetest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/queue"
	"github.com/bobbin-agent/bobbin/shared/queue/queuetest"
)

func TestFakeWithoutFaultsKeepsTheSeamsGuarantees(t *testing.T) {
	t.Parallel()
	queuetest.RunInstantly(t, func(*testing.T) (queue.Sender, queue.Receiver) {
		f := new(queuetest.Fake)
		return f, f
	})
}

func TestFaultsOfSend(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault   queuetest.Fault
		refused bool
		at      []time.Duration // when deliveries come
	}{
		"none":       {queuetest.None, false, []time.Duration{0}},
		"refused":    {queuetest.Refused, true, nil},
		"taken":      {queuetest.Taken, true, []time.Duration{0}},
		"dropped":    {queuetest.Dropped, false, nil},
		"duplicated": {queuetest.Duplicated, false, []time.Duration{0, 0}},
		"delayed":    {queuetest.Delayed, false, []time.Duration{time.Minute}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				f := &queuetest.Fake{Delay: time.Minute, Fault: on(queuetest.Send, tc.fault)}
				refused(t, f.Send(t.Context(), queue.Message{Group: "a", Dedup: "x", Body: "1"}), tc.refused)
				var at []time.Duration
				for range tc.at {
					done(t, receive(t, f))
					at = append(at, time.Since(start))
				}
				if diff := cmp.Diff(tc.at, at); diff != "" {
					t.Errorf("deliveries: want (-), got (+):\n%s", diff)
				}
				empty(t, f)
			})
		})
	}
}

func TestFaultsOfDone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault   queuetest.Fault
		refused bool
		gone    bool
	}{
		"none":    {queuetest.None, false, true},
		"refused": {queuetest.Refused, true, false},
		"taken":   {queuetest.Taken, true, true},
		"dropped": {queuetest.Dropped, false, false},
		"delayed": {queuetest.Delayed, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := &queuetest.Fake{Fault: on(queuetest.Done, tc.fault)}
				refused(t, f.Send(t.Context(), queue.Message{Group: "a", Dedup: "x", Body: "1"}), false)
				d := receive(t, f)
				refused(t, d.Lease.Done(t.Context()), tc.refused)
				synctest.Wait()
				err := d.Lease.Extend(t.Context(), time.Minute)
				if gone := errors.Is(err, queue.ErrLapsed); gone != tc.gone {
					t.Errorf("afterwards the wake-up is gone: %v, want %v (%v)", gone, tc.gone, err)
				}
			})
		})
	}
}

func TestCallsAreCountedAndNumbered(t *testing.T) {
	t.Parallel()
	var seen []queuetest.Call
	f := &queuetest.Fake{Fault: func(c queuetest.Call) queuetest.Fault {
		seen = append(seen, c)
		return queuetest.None
	}}
	a := queue.Message{Group: "a", Dedup: "x", Body: "1"}
	b := queue.Message{Group: "b", Dedup: "y", Body: "2"}
	refused(t, f.Send(t.Context(), a), false)
	refused(t, f.Send(t.Context(), b), false)
	done(t, receive(t, f))
	want := []queuetest.Call{
		{Method: queuetest.Send, N: 1, Message: a},
		{Method: queuetest.Send, N: 2, Message: b},
		{Method: queuetest.Receive, N: 1},
		{Method: queuetest.Done, N: 1, Message: a},
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	counts := map[queuetest.Method]int{queuetest.Send: 2, queuetest.Receive: 1, queuetest.Done: 1}
	if diff := cmp.Diff(counts, f.Calls()); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestRefusedReceiveTakesNothing(t *testing.T) {
	t.Parallel()
	f := &queuetest.Fake{Fault: func(c queuetest.Call) queuetest.Fault {
		if c.Method == queuetest.Receive && c.N == 1 {
			return queuetest.Refused
		}
		return queuetest.None
	}}
	refused(t, f.Send(t.Context(), queue.Message{Group: "a", Dedup: "x", Body: "1"}), false)
	_, err := f.Receive(t.Context(), 1)
	refused(t, err, true)
	if d := receive(t, f); d.Receives != 1 {
		t.Errorf("the refused receive counted: %d receives", d.Receives)
	}
}

func on(method queuetest.Method, fault queuetest.Fault) func(queuetest.Call) queuetest.Fault {
	return func(c queuetest.Call) queuetest.Fault {
		if c.Method == method {
			return fault
		}
		return queuetest.None
	}
}

func refused(t *testing.T, err error, want bool) {
	t.Helper()
	if got := errors.Is(err, queue.ErrRefused) && errors.Is(err, queuetest.ErrInjected); got != want || err != nil && !got {
		t.Fatalf("got error %v, want refused: %v", err, want)
	}
}

func receive(t *testing.T, f *queuetest.Fake) queue.Delivery {
	t.Helper()
	got, err := f.Receive(t.Context(), 1)
	if err != nil || len(got) != 1 {
		t.Fatalf("got %v, %v; want one delivery", got, err)
	}
	return got[0]
}

func done(t *testing.T, d queue.Delivery) {
	t.Helper()
	if err := d.Lease.Done(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// empty fails the test if anything is delivered within an hour of the bubble's clock.
func empty(t *testing.T, f *queuetest.Fake) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if got, _ := f.Receive(ctx, 1); len(got) > 0 {
		t.Errorf("got %v, want nothing more", got)
	}
}
