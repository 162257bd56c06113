package tabletest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/bobbin-agent/bobbin/shared/table"
)

var races = []property{
	{"no increment by compare and swap is lost", raceIncrements},
	{"no add is lost and none passes its bound", raceAdds},
	{"transfers between records keep the sum", raceTransfers},
	{"one of many creates a record", raceCreates},
	{"a check holds until its write is done", raceChecks},
	{"random writes have the effect that the seam says", agrees},
}

// each runs one function per worker and waits for all.
func (b *bench) each(work func(worker int)) {
	var wg sync.WaitGroup
	for i := range b.size.Workers {
		wg.Go(func() { work(i) })
	}
	wg.Wait()
	if b.Failed() {
		b.FailNow()
	}
}

// won sends one write of a race and reports whether its conditions held.
func (b *bench) won(ops ...table.Op) bool {
	err := b.send(table.Write{ID: newID(), Ops: ops})
	var failed *table.ConditionError
	return !errors.As(err, &failed)
}

// number reads a record that holds a decimal number; 0 where there is none.
func (b *bench) number(key table.Key) (int, table.Revision) {
	item, err := b.store.Get(b.Context(), key)
	for err != nil && busy(b.Context(), err) {
		item, err = b.store.Get(b.Context(), key)
	}
	if err != nil || item == nil {
		return 0, ""
	}
	n, err := strconv.Atoi(string(item.Value))
	if err != nil {
		b.Errorf("reading %s: %v", key, err)
	}
	return n, item.Revision
}

func set(key table.Key, n int, r table.Revision) table.Op {
	return table.Put(key, strconv.AppendInt(nil, int64(n), 10), table.AtOrAbsent(r))
}

func raceIncrements(b *bench) {
	key := b.key("n")
	b.each(func(int) {
		for range b.size.Rounds {
			for n, r := b.number(key); !b.won(set(key, n+1, r)); n, r = b.number(key) {
			}
		}
	})
	if got, _ := b.number(key); got != b.size.Workers*b.size.Rounds {
		b.Errorf("%d increments by %d workers each made %d", b.size.Rounds, b.size.Workers, got)
	}
}

func raceAdds(b *bench) {
	free, bounded := b.key("free"), b.key("bounded")
	most := b.size.Workers * b.size.Rounds / 2
	var within atomic.Int64
	b.each(func(int) {
		for range b.size.Rounds {
			b.won(table.Add(free, 1))
			if b.won(table.AddUpTo(bounded, 1, int64(most))) {
				within.Add(1)
			}
		}
	})
	if got := b.get(free).Counter; got != int64(b.size.Workers*b.size.Rounds) {
		b.Errorf("%d adds by %d workers each made %d", b.size.Rounds, b.size.Workers, got)
	}
	if got := b.get(bounded).Counter; got != int64(most) || within.Load() != got {
		b.Errorf("adds up to %d made %d, %d of them told so", most, got, within.Load())
	}
}

func raceTransfers(b *bench) {
	const accounts, each = 4, 100
	key := func(i int) table.Key { return b.key(fmt.Sprintf("account-%d", i)) }
	for i := range accounts {
		b.apply(set(key(i), each, ""))
	}
	b.each(func(worker int) {
		random := rand.New(rand.NewPCG(uint64(worker), 1)) //nolint:gosec // any spread of accounts will do
		for range b.size.Rounds {
			from := random.IntN(accounts)
			b.transfer(key(from), key((from+1+random.IntN(accounts-1))%accounts), 1+random.IntN(9))
		}
	})
	sum := 0
	for i := range accounts {
		n, _ := b.number(key(i))
		sum += n
	}
	if sum != accounts*each {
		b.Errorf("the accounts hold %d after transfers between them, want %d", sum, accounts*each)
	}
}

func (b *bench) transfer(from, to table.Key, amount int) {
	for {
		a, ra := b.number(from)
		c, rc := b.number(to)
		if b.won(set(from, a-amount, ra), set(to, c+amount, rc)) {
			return
		}
	}
}

func raceCreates(b *bench) {
	var wins [3]atomic.Int64
	b.each(func(worker int) {
		for i := range wins {
			if b.won(table.Put(b.key(strconv.Itoa(i)), strconv.AppendInt(nil, int64(worker), 10), table.Absent())) {
				wins[i].Add(1)
			}
		}
	})
	for i := range wins {
		if got := wins[i].Load(); got != 1 {
			b.Errorf("%d of %d workers created the same record", got, b.size.Workers)
		}
	}
}

// raceChecks lets each worker create its own record only while another's is absent, all at once.
func raceChecks(b *bench) {
	for round := range 3 {
		var wins atomic.Int64
		key := func(side int) table.Key { return b.key(fmt.Sprintf("%d-%d", round, side)) }
		b.each(func(worker int) {
			mine, other := key(worker%2), key(1-worker%2)
			if b.won(table.Check(other, table.Absent()), table.Put(mine, value, table.Absent())) {
				wins.Add(1)
			}
		})
		if b.get(key(0)) != nil && b.get(key(1)) != nil {
			b.Error("both records exist, though each was created under the other's absence")
		}
		if wins.Load() != 1 {
			b.Errorf("%d workers created a record, want 1", wins.Load())
		}
	}
}
