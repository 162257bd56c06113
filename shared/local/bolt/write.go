package bolt

import (
	"math"

	"github.com/bobbin-agent/bobbin/shared/table"
)

// write is a table.Write made ready for the committer. It shares nothing with the caller, who may be gone by then.
type write struct {
	id    table.Revision
	mark  mark
	steps []step
}

// step is one operation.
type step struct {
	op     table.Op // without its value
	key    []byte
	stored []byte // by a put
}

// ready copies the write into stored form: one allocation holds all of its keys and records.
func ready(w table.Write) *write {
	size := 0
	for i := range w.Ops {
		size += keyBytes(w.Ops[i].Key)
		if w.Ops[i].Kind == table.OpPut {
			size += maxHeader + len(w.Ops[i].Value)
		}
	}
	arena := make([]byte, 0, size)
	steps := make([]step, len(w.Ops))
	for i := range w.Ops {
		steps[i], arena = readyStep(w, i, arena)
	}
	return &write{id: w.Revision(), mark: markOf(w.ID), steps: steps}
}

func readyStep(w table.Write, i int, arena []byte) (step, []byte) {
	s := step{op: w.Ops[i]}
	start := len(arena)
	arena = appendKey(arena, s.op.Key)
	s.key = arena[start:len(arena):len(arena)]
	if s.op.Kind == table.OpPut {
		r := record{revision: []byte(w.ID), expiry: s.expiry(), value: s.op.Value}
		start = len(arena)
		arena = r.appendTo(arena)
		s.stored = arena[start:len(arena):len(arena)]
	}
	s.op.Value = nil
	return s, arena
}

// expiry is the expiry of the record that a put makes.
func (at *step) expiry() expiry {
	if at.op.Expires.IsZero() {
		return expiry{}
	}
	return expiry{at: at.op.Expires.Unix(), set: true}
}

// apply makes all of the write or, with a *table.ConditionError, nothing.
func (w *write) apply(s *state) error {
	if s.memory.has(w.mark) {
		return nil
	}
	s.found = s.found[:0]
	var failed []table.Failed
	for i := range w.steps {
		at := &w.steps[i]
		r, err := parse(s.records.Get(at.key))
		if err != nil {
			return damaged(at.op.Key, err)
		}
		if string(r.revision) == string(w.id) {
			return nil // applied by an earlier attempt, longer ago than the memory reaches
		}
		if !at.holds(&r) {
			failed = append(failed, failure(i, at.op.Key, &r))
		}
		s.found = append(s.found, r)
	}
	if failed != nil {
		return &table.ConditionError{Failed: failed}
	}
	w.change(s)
	return nil
}

func failure(index int, key table.Key, r *record) table.Failed {
	if !r.present() {
		return table.Failed{Index: index}
	}
	item := r.item(key)
	return table.Failed{Index: index, Item: &item}
}

// holds reports whether the condition of the step holds of the record.
func (at *step) holds(r *record) bool {
	cond := at.op.If
	switch {
	case at.op.Kind == table.OpAdd:
		return !at.op.HasMax || sum(r.counter, at.op.Delta) <= at.op.Max
	case cond.WantsAbsent():
		return !r.present()
	case cond.Blind():
		return true
	default:
		return r.present() && string(r.revision) == string(cond.Revision())
	}
}

// change makes the steps, whose records are in s.found, and has the write remembered if there were any. A delete of
// nothing is one, too: sent again, it must not remove what came since.
func (w *write) change(s *state) {
	changed := false
	for i := range w.steps {
		if at := &w.steps[i]; at.op.Kind != table.OpCheck {
			at.change(s, &s.found[i], w.id)
			changed = true
		}
	}
	if changed {
		s.dirty = true
		s.memory.add(w.mark)
	}
}

func (at *step) change(s *state, r *record, id table.Revision) {
	switch at.op.Kind {
	case table.OpPut:
		s.put(s.records, at.key, at.stored)
		s.reindex(at.key, r.expiry, at.expiry())
	case table.OpAdd:
		r.counter, r.revision = sum(r.counter, at.op.Delta), []byte(id)
		s.put(s.records, at.key, r.appendTo(make([]byte, 0, maxHeader+len(r.value))))
	case table.OpDelete:
		if r.present() {
			s.delete(s.records, at.key)
			s.reindex(at.key, r.expiry, expiry{})
		}
	case table.OpCheck:
	}
}

// sum adds and stops at the ends of the type.
func sum(n, delta int64) int64 {
	switch {
	case delta > 0 && n > math.MaxInt64-delta:
		return math.MaxInt64
	case delta < 0 && n < math.MinInt64-delta:
		return math.MinInt64
	}
	return n + delta
}
