package telegram

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-agent/bobbin/shared/fault"
)

// took is how long n messages to a chat wait in all.
func took(t *testing.T, p *Pace, chat int64, n int) time.Duration {
	t.Helper()
	start := time.Now()
	for range n {
		if err := p.Wait(t.Context(), chat); err != nil {
			t.Fatal(err)
		}
	}
	return time.Since(start)
}

func TestChatGetsABurstAndThenOneASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewPace(Rate{})
		if d := took(t, p, 1, burst); d != 0 {
			t.Errorf("a burst of %d waited %v", burst, d)
		}
		if d := took(t, p, 1, 5); d != 5*time.Second {
			t.Errorf("five more waited %v", d)
		}
		time.Sleep(time.Minute)
		if d := took(t, p, 1, burst+1); d != time.Second {
			t.Errorf("after a pause, a burst and one more waited %v", d)
		}
	})
}

func TestAllChatsTogetherKeepTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewPace(Rate{})
		start := time.Now()
		for chat := range int64(burst + 300) {
			if err := p.Wait(t.Context(), chat); err != nil {
				t.Fatal(err)
			}
		}
		if d := time.Since(start); d < 9990*time.Millisecond || d > 10*time.Second {
			t.Errorf("300 messages at 30 a second waited %v", d)
		}
	})
}

func TestOneChatsWaitHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewPace(Rate{})
		took(t, p, 1, burst)
		go func() { _ = p.Wait(t.Context(), 1) }()
		synctest.Wait()
		if d := took(t, p, 2, 1); d > 100*time.Millisecond {
			t.Errorf("another chat waited %v", d)
		}
	})
}

func TestUnlimitedNeverWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewPace(Rate{PerSecond: -1, ChatPerSecond: -1})
		if d := took(t, p, 1, 1000); d != 0 || len(p.chats) != 0 {
			t.Errorf("waited %v, knows %d chats", d, len(p.chats))
		}
		fast := NewPace(Rate{PerSecond: 1000, ChatPerSecond: 100})
		if d := took(t, fast, 1, burst+100); d != time.Second {
			t.Errorf("100 at 100 a second waited %v", d)
		}
	})
}

func TestLongWaitIsTheSendersToPlan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewPace(Rate{PerSecond: -1, ChatPerSecond: -1})
		p.Gate(1, 33*time.Second)
		p.Gate(1, time.Second) // a shorter one doesn't open it
		start := time.Now()
		if v := fault.Of(p.Wait(t.Context(), 1)); v.Action != fault.Retry || v.After != 33*time.Second || time.Since(start) != 0 {
			t.Errorf("got %+v after %v", v, time.Since(start))
		}
		if err := p.Wait(t.Context(), 2); err != nil {
			t.Errorf("another chat: %v", err)
		}
		time.Sleep(31 * time.Second)
		if err := p.Wait(t.Context(), 1); err != nil || time.Since(start) != 33*time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
}

func TestRefusedWaitTakesNoPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewPace(Rate{ChatPerSecond: 0.1})
		took(t, p, 1, burst)
		for range 50 {
			if v := fault.Of(p.Wait(t.Context(), 1)); v.Action != fault.Retry || v.After != 10*time.Second {
				t.Fatalf("got %+v", v)
			}
		}
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewPace(Rate{})
		took(t, p, 1, burst)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		err := p.Wait(ctx, 1)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if v := fault.Of(classify(err)); v.Action != fault.Retry {
			t.Errorf("classified as %+v", v)
		}
	})
}

func TestIdleChatsAreForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := NewPace(Rate{PerSecond: -1})
		for chat := range int64(100_000) {
			if err := p.Wait(t.Context(), chat); err != nil {
				t.Fatal(err)
			}
			if chat%100 == 0 {
				time.Sleep(time.Second)
			}
		}
		for chat := range int64(10_000) {
			p.Gate(-chat, time.Second)
			time.Sleep(time.Second)
		}
		if len(p.chats) > 2*sweepFrom {
			t.Errorf("%d chats are remembered", len(p.chats))
		}
	})
}
