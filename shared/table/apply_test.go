package table_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
)

var key = table.Key{Partition: "p", Sort: "s"}

func putNew(id string) table.Write {
	return table.Write{ID: id, Ops: []table.Op{table.Put(key, []byte(id), table.Absent())}}
}

// faulty is a table whose first calls go wrong, one after the other.
func faulty(kinds ...tabletest.Kind) *tabletest.Fake {
	return &tabletest.Fake{Fault: func(c tabletest.Call) tabletest.Fault {
		if c.Number > len(kinds) {
			return tabletest.Fault{}
		}
		return tabletest.Fault{Kind: kinds[c.Number-1]}
	}}
}

func times(n int, k tabletest.Kind) []tabletest.Kind {
	out := make([]tabletest.Kind, n)
	for i := range out {
		out[i] = k
	}
	return out
}

func TestApplySettlesWhatCanBeSettled(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		faults []tabletest.Kind
		want   error
		calls  int
	}{
		"at once":                 {nil, nil, 1},
		"refused, then taken":     {times(2, tabletest.Refused), nil, 3},
		"applied, nobody heard":   {times(1, tabletest.Unheard), nil, 2},
		"lost on the way":         {times(3, tabletest.Lost), nil, 4},
		"refused for good":        {times(9, tabletest.Refused), table.ErrRefused, 5},
		"unknown for good":        {times(9, tabletest.Lost), table.ErrUnknown, 5},
		"unknown, then refused":   {append(times(1, tabletest.Unheard), times(9, tabletest.Refused)...), table.ErrUnknown, 5},
		"refused, unknown, taken": {[]tabletest.Kind{tabletest.Refused, tabletest.Unheard}, nil, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := faulty(tc.faults...)
				err := table.Apply(t.Context(), store, putNew("w"))
				if !errors.Is(err, tc.want) || tc.want == nil && err != nil {
					t.Errorf("got %v, want %v", err, tc.want)
				}
				if got := store.Calls().Write; got != tc.calls {
					t.Errorf("wrote %d times, want %d", got, tc.calls)
				}
			})
		})
	}
}

func TestApplyReturnsALostRaceAndABrokenWriteAtOnce(t *testing.T) {
	t.Parallel()
	store := new(tabletest.Fake)
	if err := table.Apply(t.Context(), store, putNew("first")); err != nil {
		t.Fatal(err)
	}
	err := table.Apply(t.Context(), store, putNew("second"))
	if failed, ok := errors.AsType[*table.ConditionError](err); !ok || failed.On(0).Item.Revision != "first" {
		t.Errorf("got %v, want the condition that failed with what stood there", err)
	}
	if err := table.Apply(t.Context(), store, table.Write{ID: "empty"}); !errors.Is(err, table.ErrInvalid) {
		t.Errorf("got %v, want ErrInvalid", err)
	}
	if got := store.Calls().Write; got != 3 {
		t.Errorf("wrote %d times, want 3: repeating can't help", got)
	}
}

func TestApplyEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		begun := time.Now()
		err := table.Apply(ctx, faulty(times(9, tabletest.Lost)...), putNew("w"))
		if !errors.Is(err, table.ErrUnknown) || time.Since(begun) > 50*time.Millisecond {
			t.Errorf("got %v after %v, want ErrUnknown when the context ends", err, time.Since(begun))
		}
	})
}

// Writers that meet at one record and come back in step would meet again each time.
func TestWritersThatCollideDoNotComeBackInStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &tabletest.Fake{Fault: func(tabletest.Call) tabletest.Fault { return tabletest.Slow(5 * time.Millisecond) }}
		const writers = 8
		errs := make(chan error, writers)
		for i := range writers {
			go func() {
				errs <- table.Apply(t.Context(), store, table.Write{ID: fmt.Sprint("w", i), Ops: []table.Op{table.Add(key, 1)}})
			}()
		}
		for range writers {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestOursKnowsAWriteByWhatItPut(t *testing.T) {
	t.Parallel()
	w := putNew("w")
	for revision, want := range map[table.Revision]bool{"w": true, "other": false} {
		e := &table.ConditionError{Failed: []table.Failed{{Index: 0, Item: &table.Item{Revision: revision}}}}
		if got := w.Ours(e); got != want {
			t.Errorf("a record of write %q: ours is %v", revision, got)
		}
	}
	if w.Ours(&table.ConditionError{Failed: []table.Failed{{Index: 0}}}) {
		t.Error("an absent record counts as ours")
	}
}
