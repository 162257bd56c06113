// Package tabletest holds every table to the guarantees of shared/table, and offers a Fake that breaks on demand.
package tabletest

import (
	"cmp"
	"context"
	"errors"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
)

// Suite is the conformance suite with its sizes; those at 0 are chosen for a table on the same machine. It works in
// partitions of its own with names that are never used again, so that it can run against a table that others use.
type Suite struct {
	// Open returns the table to test. It is called once; release what it opens with t.Cleanup, because the tests go on
	// in parallel when Run has returned.
	Open func(t *testing.T) table.Table

	Workers int // goroutines that race for the same records; 8 if 0
	Rounds  int // writes of each of them; 20 if 0
	Steps   int // random writes that are compared with the Fake's; 300 if 0
}

// Run runs the suite in its usual sizes.
func Run(t *testing.T, open func(t *testing.T) table.Table) { Suite{Open: open}.Run(t) }

// Run runs the suite.
func (s Suite) Run(t *testing.T) {
	s.Workers, s.Rounds, s.Steps = cmp.Or(s.Workers, 8), cmp.Or(s.Rounds, 20), cmp.Or(s.Steps, 300)
	store := s.Open(t)
	for _, group := range [][]property{conditions, contents, limits, resends, scans, races} {
		for _, p := range group {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				p.test(&bench{T: t, store: store, size: s, partition: "suite#" + newID()})
			})
		}
	}
}

// property is one test of the suite.
type property struct {
	name string
	test func(b *bench)
}

var ids id.Source

func newID() string { return ids.New(time.Now()) }

// bench is what one property works on: a partition of its own.
type bench struct {
	*testing.T
	store     table.Table
	size      Suite
	partition string
}

func (b *bench) key(sort string) table.Key { return table.Key{Partition: b.partition, Sort: sort} }

func (b *bench) get(key table.Key) *table.Item {
	b.Helper()
	item, err := b.store.Get(b.Context(), key)
	if err != nil {
		b.Fatalf("getting %s: %v", key, err)
	}
	return item
}

// apply makes one write and demands that it succeeds.
func (b *bench) apply(ops ...table.Op) table.Revision {
	b.Helper()
	w := table.Write{ID: newID(), Ops: ops}
	if err := b.send(w); err != nil {
		b.Fatalf("writing: %v", err)
	}
	return w.Revision()
}

// send writes, again and again while the store is merely busy: nil or *ConditionError, or the test ends.
func (b *bench) send(w table.Write) error {
	b.Helper()
	for {
		err := table.Apply(b.Context(), b.store, w)
		var failed *table.ConditionError
		switch {
		case err == nil, errors.As(err, &failed):
			return err
		case !busy(b.Context(), err):
			b.Errorf("writing: %v", err)
			b.FailNow()
		}
	}
}

// busy reports whether the same call may succeed later.
func busy(ctx context.Context, err error) bool {
	return ctx.Err() == nil && (errors.Is(err, table.ErrRefused) || errors.Is(err, table.ErrUnknown))
}

// fails makes one write, demands that a condition fails, and returns what is told of it.
func (b *bench) fails(ops ...table.Op) []table.Failed {
	b.Helper()
	var failed *table.ConditionError
	if err := b.send(table.Write{ID: newID(), Ops: ops}); !errors.As(err, &failed) {
		b.Fatalf("writing = %v, want a *ConditionError", err)
	}
	return failed.Failed
}

func (b *bench) same(what string, got, want any) {
	b.Helper()
	if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		b.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// all pages through a query and returns every record, each page held to the promises about pages.
func (b *bench) all(q table.Query) []table.Item {
	b.Helper()
	var items []table.Item
	for {
		page, err := b.store.Scan(b.Context(), q)
		if err != nil {
			b.Fatalf("scanning: %v", err)
		}
		if most := cmp.Or(q.Limit, table.MaxScan); len(page.Items) > most {
			b.Fatalf("a page of at most %d records holds %d", most, len(page.Items))
		}
		items = append(items, page.Items...)
		if page.Next == "" {
			return items
		}
		if forward := page.Next > q.After; q.After != "" && forward == q.Desc {
			b.Fatalf("the page after %q goes on after %q", q.After, page.Next)
		}
		q.After = page.Next
	}
}

func sorts(items []table.Item) []string {
	var keys []string
	for i := range items {
		keys = append(keys, items[i].Key.Sort)
	}
	return keys
}
