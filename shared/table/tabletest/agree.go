package tabletest

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/bobbin-agent/bobbin/shared/table"
)

// agrees sends random writes to the store and to a Fake and compares answers and records.
func agrees(b *bench) {
	seed := rand.Uint64()                    //nolint:gosec // it is printed when it matters
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // repeatable on purpose
	var reference Fake
	for step := range b.size.Steps {
		w := b.random(random, &reference)
		want := reference.Write(b.Context(), w)
		b.sameAnswer(b.send(w), want)
		if step%50 == 49 || step == b.size.Steps-1 || b.Failed() {
			b.same("all records", b.all(table.Query{Partition: b.partition}), reference.Items())
		}
		if b.Failed() {
			b.Fatalf("seed %d, step %d: after %v", seed, step, w)
		}
	}
}

// random makes a write of a few operations on a few records, whose conditions mostly hold.
func (b *bench) random(random *rand.Rand, reference *Fake) table.Write {
	const records = 6
	w := table.Write{ID: newID()}
	for _, i := range random.Perm(records)[:1+random.IntN(3)] {
		key := b.key(fmt.Sprintf("record-%d", i))
		w.Ops = append(w.Ops, randomOp(random, key, reference.at(key)))
	}
	return w
}

func randomOp(random *rand.Rand, key table.Key, current *table.Item) table.Op {
	cond := table.Absent()
	if current != nil {
		cond = table.At(current.Revision)
	}
	switch random.IntN(12) {
	case 0:
		cond = table.Absent()
	case 1:
		cond = table.At(elsewhere)
	}
	switch kind := random.IntN(10); {
	case kind < 4:
		return table.Put(key, fmt.Appendf(nil, "%x", random.Uint64()), cond)
	case kind < 5:
		return table.Check(key, cond)
	case kind < 6 && !cond.WantsAbsent():
		return table.Delete(key, cond)
	case kind < 7:
		return table.DeleteBlind(key)
	case kind < 8:
		return table.Add(key, int64(random.IntN(20)-10))
	default:
		return table.AddUpTo(key, int64(random.IntN(20)-10), 10)
	}
}

// sameAnswer compares two answers; the store may stop looking after the first failed condition.
func (b *bench) sameAnswer(got, want error) {
	b.Helper()
	var gotFailed, wantFailed *table.ConditionError
	if errors.As(got, &gotFailed) != errors.As(want, &wantFailed) {
		b.Errorf("writing = %v, want %v", got, want)
		return
	}
	if wantFailed == nil {
		return
	}
	b.same("first failed condition", gotFailed.Failed[0], wantFailed.Failed[0])
	for _, f := range gotFailed.Failed {
		if expected := wantFailed.On(f.Index); expected == nil {
			b.Errorf("operation %d failed, though its condition holds", f.Index)
		} else {
			b.same("failed condition", f, *expected)
		}
	}
}
