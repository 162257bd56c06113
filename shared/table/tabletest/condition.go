package tabletest

import (
	"fmt"

	"github.com/bobbin-agent/bobbin/shared/table"
)

var conditions = []property{
	{"a condition decides over the whole write", conditionDecides},
	{"a write changes all of its records or none", allOrNothing},
	{"a failed condition is told with its operation and the record", failureIsTold},
	{"whoever may read nothing writes with the revision read", atOrAbsent},
}

// attempt is one operation on a record that is absent or present, and whether it may happen.
type attempt struct {
	name    string
	present bool
	op      func(key table.Key, current table.Revision) table.Op
	holds   bool
}

var value = []byte("new")

const elsewhere = table.Revision("0193a000-0000-7000-8000-00000000dead")

var attempts = []attempt{
	{"put where absent", false, func(k table.Key, _ table.Revision) table.Op { return table.Put(k, value, table.Absent()) }, true},
	{"put if absent", true, func(k table.Key, _ table.Revision) table.Op { return table.Put(k, value, table.Absent()) }, false},
	{"put at", true, func(k table.Key, r table.Revision) table.Op { return table.Put(k, value, table.At(r)) }, true},
	{"put at another", true, func(k table.Key, _ table.Revision) table.Op { return table.Put(k, value, table.At(elsewhere)) }, false},
	{"put at where absent", false, func(k table.Key, _ table.Revision) table.Op { return table.Put(k, value, table.At(elsewhere)) }, false},
	{"check absence", false, func(k table.Key, _ table.Revision) table.Op { return table.Check(k, table.Absent()) }, true},
	{"check absence of what is there", true, func(k table.Key, _ table.Revision) table.Op { return table.Check(k, table.Absent()) }, false},
	{"check at", true, func(k table.Key, r table.Revision) table.Op { return table.Check(k, table.At(r)) }, true},
	{"check at another", true, func(k table.Key, _ table.Revision) table.Op { return table.Check(k, table.At(elsewhere)) }, false},
	{"check at where absent", false, func(k table.Key, _ table.Revision) table.Op { return table.Check(k, table.At(elsewhere)) }, false},
	{"delete at", true, func(k table.Key, r table.Revision) table.Op { return table.Delete(k, table.At(r)) }, true},
	{"delete at another", true, func(k table.Key, _ table.Revision) table.Op { return table.Delete(k, table.At(elsewhere)) }, false},
	{"delete at where absent", false, func(k table.Key, _ table.Revision) table.Op { return table.Delete(k, table.At(elsewhere)) }, false},
	{"delete blind", true, func(k table.Key, _ table.Revision) table.Op { return table.DeleteBlind(k) }, true},
	{"delete blind where absent", false, func(k table.Key, _ table.Revision) table.Op { return table.DeleteBlind(k) }, true},
	{"add", true, func(k table.Key, _ table.Revision) table.Op { return table.Add(k, 3) }, true},
	{"add where absent", false, func(k table.Key, _ table.Revision) table.Op { return table.Add(k, -3) }, true},
	{"add up to exactly the bound", true, func(k table.Key, _ table.Revision) table.Op { return table.AddUpTo(k, 3, 3) }, true},
	{"add past the bound", true, func(k table.Key, _ table.Revision) table.Op { return table.AddUpTo(k, 4, 3) }, false},
	{"add up to the bound where absent", false, func(k table.Key, _ table.Revision) table.Op { return table.AddUpTo(k, 3, 3) }, true},
	{"add past the bound where absent", false, func(k table.Key, _ table.Revision) table.Op { return table.AddUpTo(k, 4, 3) }, false},
}

// conditionDecides makes each attempt in a write of its own and between two puts that could happen alone.
func conditionDecides(b *bench) {
	for i, a := range attempts {
		b.tryAttempt(a, fmt.Sprintf("alone-%d", i))
		b.tryAttempt(a, fmt.Sprintf("among-%d", i), fmt.Sprintf("before-%d", i), fmt.Sprintf("after-%d", i))
	}
}

func (b *bench) tryAttempt(a attempt, sort string, others ...string) {
	b.Helper()
	key := b.key(sort)
	var current table.Revision
	if a.present {
		current = b.apply(table.Put(key, []byte("old"), table.Absent()))
	}
	before := b.get(key)
	op := a.op(key, current)
	w := table.Write{ID: newID(), Ops: b.surround(op, others)}
	err := b.send(w)
	if (err == nil) != a.holds {
		b.Errorf("%s: %v, want success: %v", a.name, err, a.holds)
	}
	want := before
	if a.holds {
		want = next(&op, before, w.Revision())
	}
	b.same(a.name, b.get(key), want)
	for _, o := range others {
		if got := b.get(b.key(o)); (got != nil) != a.holds {
			b.Errorf("%s: the write's put of %q left %v", a.name, o, got)
		}
	}
}

// surround puts the operation between puts of two other records.
func (b *bench) surround(op table.Op, others []string) []table.Op {
	if len(others) == 0 {
		return []table.Op{op}
	}
	return []table.Op{
		table.Put(b.key(others[0]), value, table.Absent()), op, table.Put(b.key(others[1]), value, table.Absent()),
	}
}

// allOrNothing fails a full write at its first, a middle and its last operation, then lets it pass.
func allOrNothing(b *bench) {
	b.apply(table.Put(b.key("taken"), []byte("taken"), table.Absent()))
	for _, at := range []int{0, table.MaxOps / 2, table.MaxOps - 1} {
		ops := b.many(table.MaxOps)
		ops[at] = table.Put(b.key("taken"), value, table.Absent())
		if failed := b.fails(ops...); failed[0].Index != at || len(failed) != 1 {
			b.Errorf("failed = %v, want operation %d alone", failed, at)
		}
		if left := b.all(table.Query{Partition: b.partition, Prefix: "many#"}); len(left) > 0 {
			b.Fatalf("a write that failed at operation %d left %q", at, sorts(left))
		}
	}
	r := b.apply(b.many(table.MaxOps)...)
	items := b.all(table.Query{Partition: b.partition, Prefix: "many#"})
	if len(items) != table.MaxOps {
		b.Errorf("a write of %d records left %d", table.MaxOps, len(items))
	}
	for i := range items {
		if items[i].Revision != r {
			b.Errorf("%s has revision %q, want the write's ID %q", items[i].Key.Sort, items[i].Revision, r)
		}
	}
}

func (b *bench) many(n int) []table.Op {
	ops := make([]table.Op, n)
	for i := range ops {
		ops[i] = table.Put(b.key(fmt.Sprintf("many#%03d", i)), fmt.Appendf(nil, "value %d", i), table.Absent())
	}
	return ops
}

// failureIsTold demands the first failed operation, and with every one that is told the record as it stands.
func failureIsTold(b *bench) {
	there, counted, gone := b.key("there"), b.key("counted"), b.key("gone")
	b.apply(table.Put(there, []byte("here"), table.Absent()), table.Add(counted, 9))
	told := b.fails(
		table.Put(b.key("fine"), value, table.Absent()),
		table.Check(gone, table.At(elsewhere)),
		table.Put(there, value, table.Absent()),
		table.AddUpTo(counted, 1, 9),
	)
	want := map[int]table.Key{1: gone, 2: there, 3: counted}
	last := 0
	for _, f := range told {
		key, failed := want[f.Index]
		if !failed || f.Index <= last {
			b.Fatalf("failed = %v, want some of the operations 1 to 3 in order, from the first", told)
		}
		last = f.Index
		b.same(key.Sort, f.Item, b.get(key))
	}
	if told[0].Index != 1 {
		b.Errorf("the first failed operation told is %d, want 1", told[0].Index)
	}
	b.same("the item told for a taken key", b.fails(table.Put(there, value, table.Absent()))[0].Item, b.get(there))
	b.same("the item told for a full counter", b.fails(table.AddUpTo(counted, 1, 9))[0].Item, b.get(counted))
}

func atOrAbsent(b *bench) {
	key := b.key("k")
	first := b.apply(table.Put(key, []byte("1"), table.AtOrAbsent("")))
	b.fails(table.Put(key, []byte("x"), table.AtOrAbsent("")))
	b.apply(table.Put(key, []byte("2"), table.AtOrAbsent(first)))
	b.fails(table.Put(key, []byte("x"), table.AtOrAbsent(first)))
	if got := string(b.get(key).Value); got != "2" {
		b.Errorf("value = %q, want that of the last write that held", got)
	}
}
