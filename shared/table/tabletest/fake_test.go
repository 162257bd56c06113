package tabletest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
)

func TestFakeConforms(t *testing.T) {
	t.Parallel()
	tabletest.Run(t, func(*testing.T) table.Table { return &tabletest.Fake{} })
}

// A caller that settles its writes with table.Apply gets through refusals and writes that may or may not have arrived,
// and none of them takes effect twice.
func TestFakeConformsThroughFaults(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(1, 2))
	fake := &tabletest.Fake{Fault: func(c tabletest.Call) tabletest.Fault {
		mu.Lock()
		defer mu.Unlock()
		if c.Method != tabletest.MethodWrite || random.IntN(20) > 0 {
			return tabletest.Fault{}
		}
		kinds := []tabletest.Kind{tabletest.Refused, tabletest.Unheard, tabletest.Lost}
		return tabletest.Fault{Kind: kinds[random.IntN(len(kinds))]}
	}}
	key := table.Key{Partition: "p", Sort: "s"}
	for i := range 200 {
		w := table.Write{ID: fmt.Sprint(i), Ops: []table.Op{table.Add(key, 1)}}
		for err := errors.New("not sent"); err != nil; err = fake.Write(t.Context(), w) {
		}
	}
	if item, err := fake.Get(t.Context(), key); err != nil || item.Counter != 200 {
		t.Errorf("200 adds through faults made %v, %v", item, err)
	}
}

func put(id, sort string) table.Write {
	return table.Write{ID: id, Ops: []table.Op{table.Put(table.Key{Partition: "p", Sort: sort}, []byte(id), table.Absent())}}
}

func always(f tabletest.Fault) func(tabletest.Call) tabletest.Fault {
	return func(tabletest.Call) tabletest.Fault { return f }
}

func TestFaultsOfAWriteAnswerAndApplyAsTheySay(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		kind    tabletest.Kind
		answer  error
		applied int
	}{
		"none":    {tabletest.None, nil, 1},
		"refused": {tabletest.Refused, table.ErrRefused, 0},
		"unheard": {tabletest.Unheard, table.ErrUnknown, 1},
		"lost":    {tabletest.Lost, table.ErrUnknown, 0},
	} {
		fake := &tabletest.Fake{Fault: always(tabletest.Fault{Kind: tt.kind})}
		if err := fake.Write(t.Context(), put("w", "s")); !errors.Is(err, tt.answer) {
			t.Errorf("%s: writing = %v, want %v", name, err, tt.answer)
		}
		if got := len(fake.Items()); got != tt.applied {
			t.Errorf("%s: left %d records, want %d", name, got, tt.applied)
		}
	}
}

func TestAFaultRefusesReads(t *testing.T) {
	t.Parallel()
	fake := &tabletest.Fake{Fault: always(tabletest.Fault{Kind: tabletest.Unheard})}
	if _, err := fake.Get(t.Context(), table.Key{Partition: "p", Sort: "s"}); !errors.Is(err, table.ErrRefused) {
		t.Errorf("getting = %v, want ErrRefused", err)
	}
	if _, err := fake.Scan(t.Context(), table.Query{Partition: "p"}); !errors.Is(err, table.ErrRefused) {
		t.Errorf("scanning = %v, want ErrRefused", err)
	}
}

func TestALateWriteArrivesOnceAndUnderItsConditions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		late := true
		fake := &tabletest.Fake{Fault: func(tabletest.Call) tabletest.Fault {
			if !late {
				return tabletest.Fault{}
			}
			return tabletest.Fault{Kind: tabletest.Late, Slow: time.Minute}
		}}
		for _, w := range []table.Write{put("alone", "a"), put("resent", "b"), put("overtaken", "c")} {
			if err := fake.Write(t.Context(), w); !errors.Is(err, table.ErrUnknown) {
				t.Errorf("writing = %v, want ErrUnknown", err)
			}
		}
		late = false
		for _, w := range []table.Write{put("resent", "b"), put("other", "c")} {
			if err := fake.Write(t.Context(), w); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		var got []string
		for _, item := range fake.Items() {
			got = append(got, string(item.Revision))
		}
		if fmt.Sprint(got) != "[alone resent other]" {
			t.Errorf("revisions = %v, want those of the late, the resent and the overtaking write", got)
		}
	})
}

func TestTwoWritesUnderWayConflictOverARecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := &tabletest.Fake{Fault: always(tabletest.Slow(time.Second))}
		check := func(id string) error {
			return fake.Write(t.Context(), table.Write{ID: id, Ops: []table.Op{
				table.Check(table.Key{Partition: "p", Sort: "same"}, table.Absent()),
				table.Put(table.Key{Partition: "p", Sort: id}, nil, table.Absent()),
			}})
		}
		first := make(chan error)
		go func() { first <- check("a") }()
		synctest.Wait()
		if err := check("b"); !errors.Is(err, table.ErrRefused) {
			t.Errorf("a check against a check under way = %v, want ErrRefused", err)
		}
		if err := fake.Write(t.Context(), put("c", "unrelated")); err != nil {
			t.Errorf("a write of other records = %v, want nil", err)
		}
		if err := <-first; err != nil {
			t.Errorf("the first write = %v, want nil", err)
		}
		if err := check("b"); err != nil {
			t.Errorf("the write after it = %v, want nil", err)
		}
	})
}

func TestASlowWriteWhoseCallerGoesIsUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := &tabletest.Fake{Fault: always(tabletest.Slow(time.Minute))}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := fake.Write(ctx, put("w", "s")); !errors.Is(err, table.ErrUnknown) {
			t.Errorf("writing = %v, want ErrUnknown", err)
		}
		if _, err := fake.Get(ctx, table.Key{Partition: "p", Sort: "s"}); !errors.Is(err, table.ErrRefused) {
			t.Errorf("getting = %v, want ErrRefused", err)
		}
	})
}

func TestAScanShowsHalfOfAWriteThatLandsMeanwhile(t *testing.T) {
	t.Parallel()
	for _, desc := range []bool{false, true} {
		fake := &tabletest.Fake{}
		for _, s := range []string{"a", "b"} {
			if err := fake.Write(t.Context(), put("old "+s, s)); err != nil {
				t.Fatal(err)
			}
		}
		both := table.Write{ID: "new", Ops: []table.Op{
			table.Put(table.Key{Partition: "p", Sort: "a"}, []byte("new"), table.At("old a")),
			table.Put(table.Key{Partition: "p", Sort: "b"}, []byte("new"), table.At("old b")),
		}}
		fake.Fault = func(c tabletest.Call) tabletest.Fault {
			if c.Method != tabletest.MethodScan {
				return tabletest.Fault{}
			}
			return tabletest.Fault{While: func() {
				if err := fake.Write(t.Context(), both); err != nil {
					t.Error(err)
				}
			}}
		}
		page, err := fake.Scan(t.Context(), table.Query{Partition: "p", Desc: desc})
		if err != nil || len(page.Items) != 2 || page.Items[0].Revision == "new" || page.Items[1].Revision != "new" {
			t.Errorf("descending %v: scan = %v, %v, want the old record, then the new one", desc, page.Items, err)
		}
	}
}

func TestAPageOfLargeRecordsEndsEarly(t *testing.T) {
	t.Parallel()
	fake := &tabletest.Fake{}
	w := table.Write{ID: "w"}
	for i := range 8 {
		k := table.Key{Partition: "p", Sort: fmt.Sprint(i)}
		w.Ops = append(w.Ops, table.Put(k, make([]byte, table.MaxValueBytes), table.Absent()))
	}
	if err := fake.Write(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	page, err := fake.Scan(t.Context(), table.Query{Partition: "p"})
	if err != nil || len(page.Items) != 3 || page.Next != "2" {
		t.Errorf("a page holds %d records up to %q, %v, want the 3 that pass 1 MiB", len(page.Items), page.Next, err)
	}
}

func TestAWriteIDIsGoodForOneWrite(t *testing.T) {
	t.Parallel()
	fake := &tabletest.Fake{}
	if err := fake.Write(t.Context(), put("w", "a")); err != nil {
		t.Fatal(err)
	}
	if err := fake.Write(t.Context(), put("w", "b")); !errors.Is(err, table.ErrInvalid) {
		t.Errorf("another write under the same ID = %v, want ErrInvalid", err)
	}
}

func TestCallsAreCountedAndNumbered(t *testing.T) {
	t.Parallel()
	var numbers []int
	fake := &tabletest.Fake{Fault: func(c tabletest.Call) tabletest.Fault {
		numbers = append(numbers, c.Number)
		return tabletest.Fault{}
	}}
	_ = fake.Write(t.Context(), put("w", "a"))
	before := fake.Calls()
	_, _ = fake.Get(t.Context(), table.Key{Partition: "p", Sort: "a"})
	_ = fake.Write(t.Context(), put("w2", "a"))
	_, _ = fake.Scan(t.Context(), table.Query{Partition: "p"})
	if got, want := fake.Calls().Sub(before), (tabletest.Counts{Get: 1, Write: 1, Scan: 1}); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
	if before.Bytes != 1 || fmt.Sprint(numbers) != "[1 2 3 4]" {
		t.Errorf("put %d bytes in calls %v, want 1 in [1 2 3 4]", before.Bytes, numbers)
	}
}
