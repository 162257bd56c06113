package poller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
)

// start runs a poller in the test's bubble and returns the errors it tells of.
func start(t *testing.T, q *fakeQueue, fn *fakeFunction, concurrency int) *failures {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	failed := &failures{}
	p := &Poller{
		Queue: q, Lambda: fn, QueueURL: "http://queue", Function: "runner", Concurrency: concurrency, Failed: failed.add,
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
	})
	return failed
}

type failures struct {
	mu   sync.Mutex
	told []string
}

func (f *failures) add(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, err.Error())
}

func (f *failures) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.told, "\n")
}

func TestGroupsRunSideBySideAndEachInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, fn := newQueue(), &fakeFunction{takes: time.Minute}
		for _, body := range []string{"a1", "a2", "b1", "c1"} {
			q.send(body[:1], body)
		}
		start(t, q, fn, 10)
		synctest.Wait()
		if got := slices.Sorted(slices.Values(strings.Fields(fn.started()))); !slices.Equal(got, []string{"a1", "b1", "c1"}) {
			t.Errorf("at once started %q, want one of each group", got)
		}
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		if got, now := fn.started(), fn.running(); !strings.HasSuffix(got, " a2") || now != 1 {
			t.Errorf("after a minute started %q with %d running, want the group's next alone", got, now)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if q.left() != 0 {
			t.Errorf("%d messages are left, want all deleted", q.left())
		}
	})
}

func TestNoMoreInvocationsAtOnceThanAllowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, fn := newQueue(), &fakeFunction{takes: time.Minute}
		for i := range 5 {
			q.send(fmt.Sprint(i), fmt.Sprint(i))
		}
		start(t, q, fn, 2)
		time.Sleep(time.Hour)
		synctest.Wait()
		if peak := fn.most(); peak != 2 || q.left() != 0 {
			t.Errorf("%d invocations at once and %d messages left, want 2 and 0", peak, q.left())
		}
	})
}

func TestAFailedInvocationLeavesTheMessageToItsVisibility(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer answer
		says   string
	}{
		"the call failed":             {answer{err: errors.New("throttled")}, "throttled"},
		"the function failed":         {answer{functionError: "Unhandled", payload: `{"errorMessage":"exit status 1"}`}, "exit status 1"},
		"the message was given back":  {answer{payload: `{"batchItemFailures":[{"itemIdentifier":"id-1"}]}`}, "id-1"},
		"the answer has a wrong form": {answer{payload: `"fine"`}, "fine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q, fn := newQueue(), &fakeFunction{answers: []answer{c.answer}}
				q.send("a", "a1")
				q.send("a", "a2")
				failed := start(t, q, fn, 10)
				time.Sleep(visibility - time.Second)
				synctest.Wait()
				if got := fn.started(); got != "a1" {
					t.Errorf("before the visibility ended started %q, want a1 alone: its group is locked", got)
				}
				if !strings.Contains(failed.String(), c.says) {
					t.Errorf("told of %q, want %q in it", failed, c.says)
				}
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if got := fn.started(); got != "a1 a1 a2" || q.left() != 0 {
					t.Errorf("afterwards started %q with %d messages left, want a1 again, then a2, and none left", got, q.left())
				}
			})
		})
	}
}

func TestAFailedReceiveIsToldAndTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, fn := newQueue(), &fakeFunction{}
		q.refuse = 3
		q.send("a", "a1")
		failed := start(t, q, fn, 1)
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := strings.Count(failed.String(), "receiving: "); n != 3 || fn.started() != "a1" {
			t.Errorf("told %d times and started %q, want 3 times and a1", n, fn.started())
		}
	})
}

func TestRunEndsInvocationsWithItsContextAndDeletesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, fn := newQueue(), &fakeFunction{takes: time.Hour}
		q.send("a", "a1")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		failed := &failures{}
		begun := time.Now()
		err := (&Poller{Queue: q, Lambda: fn, Failed: failed.add}).Run(ctx)
		if err != nil || time.Since(begun) != time.Minute || q.left() != 1 || failed.String() != "" {
			t.Errorf("error %v after %v, %d left, told %q; want none after a minute, 1 left, nothing told",
				err, time.Since(begun), q.left(), failed)
		}
	})
}

func TestRunSaysThatThereIsNoSuchQueue(t *testing.T) {
	t.Parallel()
	p := &Poller{Queue: &fakeQueue{missing: true}, QueueURL: "http://queue/none"}
	if err := p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "http://queue/none") {
		t.Errorf("error %v, want one that names the queue", err)
	}
}

func TestTheSDKDoesNotRepeatInvocations(t *testing.T) {
	t.Parallel()
	client := New(aws.Config{Region: "us-east-1"}, "http://queue", "runner").Lambda.(*lambda.Client)
	if _, ok := client.Options().Retryer.(aws.NopRetryer); !ok {
		t.Errorf("the client retries with %T: an invocation whose answer was lost would run twice", client.Options().Retryer)
	}
}
