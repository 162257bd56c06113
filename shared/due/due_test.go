package due_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/bobbin-agent/bobbin/shared/due"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
)

var start = time.UnixMilli(1_900_000_000_000)

func write(t *testing.T, store table.Table, name string, ops ...table.Op) error {
	t.Helper()
	return store.Write(t.Context(), table.Write{ID: name, Ops: ops})
}

// all scans every shard far ahead.
func all(t *testing.T, store table.Table) []due.Mark {
	t.Helper()
	var marks []due.Mark
	for shard := range due.Shards {
		got, err := due.Scan(t.Context(), store, shard, start.Add(1000*time.Hour), 100)
		if err != nil {
			t.Fatal(err)
		}
		marks = append(marks, got...)
	}
	return marks
}

func TestAMarkIsScannedAsItWasPut(t *testing.T) {
	t.Parallel()
	store := new(tabletest.Fake)
	mark := due.Mark{
		At: start, Kind: due.Lease, Subject: "turn#7", Attempt: 3, Session: "s", Thread: "t", Turn: "u", Epoch: 7,
		Conversation: "telegram-1:42", Record: "q#1",
	}
	if err := write(t, store, "w", mark.Put()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]due.Mark{mark}, all(t, store), cmpopts.IgnoreUnexported(due.Mark{})); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestKeysOrderByTimeWithinAShard(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.Int64Range(0, 9_999_999_999_999)
		subject := rapid.StringMatching(`[a-z0-9#-]{1,40}`).Draw(t, "subject")
		kind := rapid.SampledFrom([]due.Kind{due.Wake, due.Lease, due.Send})
		a := due.Mark{At: time.UnixMilli(at.Draw(t, "a")), Kind: kind.Draw(t, "kind a"), Subject: subject}
		b := due.Mark{At: time.UnixMilli(at.Draw(t, "b")), Kind: kind.Draw(t, "kind b"), Subject: subject}
		if a.Shard() != b.Shard() || a.Key().Partition != b.Key().Partition {
			t.Fatal("two times of one subject are in two shards: a moved mark would leave its partition")
		}
		if a.At.Before(b.At) != (a.Key().Sort < b.Key().Sort) && !a.At.Equal(b.At) {
			t.Fatalf("%v and %v sort as %q and %q", a.At, b.At, a.Key().Sort, b.Key().Sort)
		}
	})
}

func TestSubjectsSpreadOverAllShards(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	for i := range 500 {
		shard := due.Mark{Subject: fmt.Sprint("subject-", i)}.Shard()
		if shard < 0 || shard >= due.Shards {
			t.Fatalf("shard %d of %d", shard, due.Shards)
		}
		seen[shard] = true
	}
	if len(seen) != due.Shards {
		t.Errorf("500 subjects use %d shards of %d", len(seen), due.Shards)
	}
}

func TestScanEndsBeforeItsTimeAndAtItsLimit(t *testing.T) {
	t.Parallel()
	store := new(tabletest.Fake)
	shard := due.Mark{Subject: "same"}.Shard()
	for i := range 5 {
		mark := due.Mark{At: start.Add(time.Duration(i) * time.Second), Kind: due.Wake, Subject: "same"}
		if err := write(t, store, fmt.Sprint(i), mark.Put()); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		until time.Duration
		limit int
		want  int
	}{{0, 10, 0}, {1, 10, 0}, {time.Millisecond, 10, 1}, {3 * time.Second, 10, 3}, {time.Hour, 10, 5}, {time.Hour, 2, 2}} {
		got, err := due.Scan(t.Context(), store, shard, start.Add(tc.until), tc.limit)
		if err != nil || len(got) != tc.want {
			t.Errorf("until %v, limit %d: got %d marks, %v; want %d", tc.until, tc.limit, len(got), err, tc.want)
		}
	}
}

func TestMoveCountsTheAttemptAndLeavesOneMark(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"later": time.Minute, "to the same time": 0, "earlier": -time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := new(tabletest.Fake)
			mark := due.Mark{At: start, Kind: due.Send, Subject: "m"}
			if err := write(t, store, "put", mark.Put()); err != nil {
				t.Fatal(err)
			}
			if err := write(t, store, "move", all(t, store)[0].Move(start.Add(by))...); err != nil {
				t.Fatal(err)
			}
			got := all(t, store)
			if len(got) != 1 || got[0].Attempt != 1 || got[0].At.Sub(start.Add(by)) > time.Millisecond {
				t.Errorf("moving left %+v, want one mark at the new time with attempt 1", got)
			}
		})
	}
}

func TestMovingLosesToWhoeverSettledOrMovedFirst(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func(due.Mark) []table.Op{
		"settled": func(m due.Mark) []table.Op { return []table.Op{m.Settle()} },
		"moved":   func(m due.Mark) []table.Op { return m.Move(start.Add(time.Hour)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := new(tabletest.Fake)
			if err := write(t, store, "put", due.Mark{At: start, Kind: due.Wake, Subject: "u"}.Put()); err != nil {
				t.Fatal(err)
			}
			mark := all(t, store)[0]
			if err := write(t, store, "first", first(mark)...); err != nil {
				t.Fatal(err)
			}
			before := len(all(t, store))
			err := write(t, store, "second", mark.Move(start.Add(time.Minute))...)
			if _, ok := errors.AsType[*table.ConditionError](err); !ok || len(all(t, store)) != before {
				t.Errorf("the second got %v and left %d marks, want a lost race and %d", err, len(all(t, store)), before)
			}
		})
	}
}

func TestSettlingASettledMarkIsSuccess(t *testing.T) {
	t.Parallel()
	store := new(tabletest.Fake)
	if err := write(t, store, "w", due.Mark{At: start, Kind: due.Wake, Subject: "u"}.Settle()); err != nil {
		t.Error(err)
	}
}

func TestAMarkThatCannotBeReadHidesNoOther(t *testing.T) {
	t.Parallel()
	store := new(tabletest.Fake)
	good := due.Mark{At: start, Kind: due.Wake, Subject: "u"}
	partition := good.Key().Partition
	err := write(t, store, "w", good.Put(),
		table.Put(table.Key{Partition: partition, Sort: "0000000000001#wake#x"}, []byte("no JSON"), table.Absent()),
		table.Put(table.Key{Partition: partition, Sort: "0000x"}, []byte("{}"), table.Absent()))
	if err != nil {
		t.Fatal(err)
	}
	if got := all(t, store); len(got) != 1 || got[0].Subject != "u" {
		t.Errorf("got %+v, want the one that can be read", got)
	}
}
