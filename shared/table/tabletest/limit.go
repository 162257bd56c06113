package tabletest

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/bobbin-agent/bobbin/shared/table"
)

var limits = []property{
	{"each limit is exact", limitsAreExact},
	{"the largest value is kept", largestValue},
	{"the largest write is kept", largestWrite},
	{"a cancelled call is never answered with success it did not have", cancelled},
}

func limitsAreExact(b *bench) {
	long := func(n int) string { return string(bytes.Repeat([]byte("k"), n)) }
	put := func(k table.Key) []table.Op { return []table.Op{table.Put(k, value, table.Absent())} }
	edge := b.partition + long(table.MaxKeyBytes-len(b.partition))
	add := table.Add(b.key("conditional"), 1)
	add.If = table.Absent()
	for name, tt := range map[string]struct {
		id   string
		ops  []table.Op
		fits bool
	}{
		"longest partition":       {newID(), put(table.Key{Partition: edge, Sort: "s"}), true},
		"partition too long":      {newID(), put(table.Key{Partition: edge + "k", Sort: "s"}), false},
		"no partition":            {newID(), put(table.Key{Sort: "s"}), false},
		"longest sort key":        {newID(), put(b.key(long(table.MaxKeyBytes))), true},
		"sort key too long":       {newID(), put(b.key(long(table.MaxKeyBytes + 1))), false},
		"no sort key":             {newID(), put(b.key("")), false},
		"sort key not UTF-8":      {newID(), put(b.key("a\xff")), false},
		"partition not UTF-8":     {newID(), put(table.Key{Partition: "a\xff", Sort: "s"}), false},
		"longest ID":              {newID(), put(b.key("longest ID")), true},
		"ID too long":             {newID() + "x", put(b.key("ID too long")), false},
		"no ID":                   {"", put(b.key("no ID")), false},
		"no operation":            {newID(), nil, false},
		"one operation too many":  {newID(), b.many(table.MaxOps + 1), false},
		"one record twice":        {newID(), append(put(b.key("twice")), table.DeleteBlind(b.key("twice"))), false},
		"a put without condition": {newID(), []table.Op{table.Put(b.key("blind"), value, table.Cond{})}, false},
		"a check of nothing":      {newID(), []table.Op{table.Check(b.key("blind"), table.Cond{})}, false},
		"a delete if absent":      {newID(), []table.Op{table.Delete(b.key("blind"), table.Absent())}, false},
		"an add with a condition": {newID(), []table.Op{add}, false},
		"no kind":                 {newID(), []table.Op{{Key: b.key("kind")}}, false},
	} {
		b.expectFit(name, table.Write{ID: tt.id, Ops: tt.ops}, tt.fits)
	}
	b.readsAreBounded(edge)
}

func (b *bench) expectFit(name string, w table.Write, fits bool) {
	b.Helper()
	if fits {
		if err := b.send(w); err != nil {
			b.Errorf("%s: %v, want nil", name, err)
		}
		return
	}
	if err := b.store.Write(b.Context(), w); !errors.Is(err, table.ErrInvalid) {
		b.Errorf("%s: %v, want ErrInvalid", name, err)
	}
}

func (b *bench) readsAreBounded(edge string) {
	for _, k := range []table.Key{{Sort: "s"}, {Partition: "p"}, {Partition: edge + "k", Sort: "s"}, {Partition: "p", Sort: edge + "k"}} {
		if _, err := b.store.Get(b.Context(), k); !errors.Is(err, table.ErrInvalid) {
			b.Errorf("getting a key of %d and %d bytes = %v, want ErrInvalid", len(k.Partition), len(k.Sort), err)
		}
	}
	b.all(table.Query{Partition: edge, Limit: table.MaxScan})
	for _, q := range []table.Query{{}, {Partition: edge + "k"}, {Partition: "p", Limit: -1}, {Partition: "p", Limit: table.MaxScan + 1}} {
		if _, err := b.store.Scan(b.Context(), q); !errors.Is(err, table.ErrInvalid) {
			b.Errorf("scanning with a limit of %d = %v, want ErrInvalid", q.Limit, err)
		}
	}
}

func largestValue(b *bench) {
	v := bytes.Repeat([]byte("v"), table.MaxValueBytes+1)
	b.expectFit("largest value", table.Write{ID: newID(), Ops: []table.Op{table.Put(b.key("k"), v[1:], table.Absent())}}, true)
	b.expectFit("value too large", table.Write{ID: newID(), Ops: []table.Op{table.Put(b.key("l"), v, table.Absent())}}, false)
	if got := b.get(b.key("k")); !bytes.Equal(got.Value, v[1:]) {
		b.Errorf("read %d bytes, want the %d written", len(got.Value), len(v)-1)
	}
	if got := b.get(b.key("l")); got != nil {
		b.Errorf("a value that is too large was kept, %d bytes", len(got.Value))
	}
}

// largestWrite grows a write until the seam's own check refuses it, and demands that the store agrees on both sides.
func largestWrite(b *bench) {
	fill := bytes.Repeat([]byte("v"), table.MaxValueBytes)
	var ops []table.Op
	valid := func() bool { return table.Write{ID: newID(), Ops: ops}.Validate() == nil }
	for len(ops) == 0 || valid() {
		ops = append(ops, table.Put(b.key(fmt.Sprintf("%02d", len(ops))), fill, table.Absent()))
	}
	last := &ops[len(ops)-1]
	small, large := 0, len(fill) // fits, does not
	for large-small > 1 {
		last.Value = fill[:(small+large)/2]
		if valid() {
			small = len(last.Value)
		} else {
			large = len(last.Value)
		}
	}
	last.Value = fill[:large]
	b.expectFit("a write one byte too large", table.Write{ID: newID(), Ops: ops}, false)
	last.Value = fill[:small]
	b.expectFit("the largest write", table.Write{ID: newID(), Ops: ops}, true)
	if got := b.all(table.Query{Partition: b.partition}); len(got) != len(ops) {
		b.Errorf("the largest write of %d records left %d", len(ops), len(got))
	}
}

// cancelled gives a write whose caller has gone, then settles it.
func cancelled(b *bench) {
	gone, cancel := context.WithCancel(b.Context())
	cancel()
	w := table.Write{ID: newID(), Ops: []table.Op{table.Put(b.key("k"), value, table.Absent())}}
	err := b.store.Write(gone, w)
	switch there := b.get(b.key("k")) != nil; {
	case err == nil && !there:
		b.Error("a write without effect was answered with success")
	case errors.Is(err, table.ErrRefused) && there:
		b.Error("a refused write was applied")
	case err != nil && !errors.Is(err, table.ErrRefused) && !errors.Is(err, table.ErrUnknown):
		b.Errorf("a cancelled write = %v, want ErrRefused or ErrUnknown", err)
	}
	if err := b.send(w); err != nil {
		b.Errorf("sending a cancelled write again = %v, want nil", err)
	}
	if _, err := b.store.Get(gone, b.key("k")); err != nil && !errors.Is(err, table.ErrRefused) {
		b.Errorf("a cancelled get = %v, want ErrRefused", err)
	}
	if _, err := b.store.Scan(gone, table.Query{Partition: b.partition}); err != nil && !errors.Is(err, table.ErrRefused) {
		b.Errorf("a cancelled scan = %v, want ErrRefused", err)
	}
}
