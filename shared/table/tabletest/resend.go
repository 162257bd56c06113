package tabletest

import (
	"errors"

	"github.com/bobbin-agent/bobbin/shared/table"
)

var resends = []property{
	{"a write sent again succeeds without a second effect", resentAtOnce},
	{"a write sent again after its records changed has no second effect", resentLater},
	{"a write that failed may succeed when sent again", resentAfterFailure},
}

// resend is one kind of write, and what another write does to its record between the first and the second sending.
type resend struct {
	name   string
	before []table.Op // makes the record, if it has to be there
	op     func(key table.Key, current table.Revision) table.Op
	change func(key table.Key, current table.Revision) table.Op // current is "" if the record is absent
}

func remove(key table.Key, _ table.Revision) table.Op { return table.DeleteBlind(key) }

func replace(key table.Key, current table.Revision) table.Op {
	return table.Put(key, []byte("changed since"), table.AtOrAbsent(current))
}

func count(key table.Key, _ table.Revision) table.Op { return table.Add(key, 100) }

func (b *bench) resends() []resend {
	there := func(name string) []table.Op { return []table.Op{table.Put(b.key(name), []byte("old"), table.Absent())} }
	create := func(k table.Key, _ table.Revision) table.Op { return table.Put(k, value, table.Absent()) }
	update := func(k table.Key, r table.Revision) table.Op { return table.Put(k, value, table.At(r)) }
	drop := func(k table.Key, r table.Revision) table.Op { return table.Delete(k, table.At(r)) }
	add := func(k table.Key, _ table.Revision) table.Op { return table.Add(k, 1) }
	bounded := func(k table.Key, _ table.Revision) table.Op { return table.AddUpTo(k, 1, 1) }
	return []resend{
		{"create, then deleted", nil, create, remove},
		{"create, then replaced", nil, create, replace},
		{"create, then counted", nil, create, count},
		{"update, then deleted", there("update, then deleted"), update, remove},
		{"update, then replaced", there("update, then replaced"), update, replace},
		{"delete, then created", there("delete, then created"), drop, replace},
		{"blind delete, then created", there("blind delete, then created"), remove, replace},
		{"blind delete of nothing, then created", nil, remove, replace},
		{"add, then counted", nil, add, count},
		{"add, then deleted", nil, add, remove},
		{"add, then replaced", nil, add, replace},
		{"bounded add, then counted", nil, bounded, count},
		{"bounded add, then deleted", nil, bounded, remove},
	}
}

// first makes the record and sends the write once.
func (b *bench) first(r resend) (table.Key, table.Write) {
	b.Helper()
	key := b.key(r.name)
	var current table.Revision
	if r.before != nil {
		current = b.apply(r.before...)
	}
	w := table.Write{ID: newID(), Ops: []table.Op{r.op(key, current)}}
	if err := b.send(w); err != nil {
		b.Fatalf("%s: %v", r.name, err)
	}
	return key, w
}

func resentAtOnce(b *bench) {
	for _, r := range b.resends() {
		key, w := b.first(r)
		after := b.get(key)
		for range 2 {
			if err := b.send(w); err != nil {
				b.Errorf("%s: sent again = %v, want nil", r.name, err)
			}
			b.same(r.name, b.get(key), after)
		}
	}
}

func resentLater(b *bench) {
	for _, r := range b.resends() {
		key, w := b.first(r)
		var current table.Revision
		if item := b.get(key); item != nil {
			current = item.Revision
		}
		b.apply(r.change(key, current))
		changed := b.get(key)
		err := b.send(w)
		var failed *table.ConditionError
		if err != nil && !errors.As(err, &failed) {
			b.Errorf("%s: sent again = %v, want nil or a *ConditionError", r.name, err)
		}
		b.same(r.name, b.get(key), changed)
	}
}

func resentAfterFailure(b *bench) {
	key := b.key("k")
	r := b.apply(table.Put(key, []byte("in the way"), table.Absent()))
	w := table.Write{ID: newID(), Ops: []table.Op{table.Put(key, value, table.Absent())}}
	var failed *table.ConditionError
	if err := b.send(w); !errors.As(err, &failed) {
		b.Fatalf("writing = %v, want a *ConditionError", err)
	}
	b.apply(table.Delete(key, table.At(r)))
	if err := b.send(w); err != nil {
		b.Errorf("the same write with nothing in its way = %v, want nil", err)
	}
	b.same("the record", b.get(key), &table.Item{Key: key, Value: value, Revision: w.Revision()})
}
