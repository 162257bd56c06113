package bolt

import (
	"fmt"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/table"
)

func TestASweepDropsWhatHasExpiredAndNothingElse(t *testing.T) {
	t.Parallel()
	s := openIn(t, t.TempDir())
	now := time.Unix(1_000_000, 0)
	const records = 9 * (sweepStep - 85) // several steps, and as many of each kind
	for chunk := 0; chunk < records; chunk += table.MaxOps {
		w := table.Write{ID: fmt.Sprint(chunk)}
		for i := chunk; i < min(records, chunk+table.MaxOps); i++ {
			k := table.Key{Partition: fmt.Sprint(i % 3), Sort: fmt.Sprint(i)}
			expires := []time.Time{now.Add(-time.Second), now.Add(time.Second), {}}[i/3%3]
			w.Ops = append(w.Ops, table.PutExpiring(k, []byte(fmt.Sprint(i/3%3)), table.Absent(), expires))
		}
		mustWrite(t, s, w)
	}
	dropped, err := s.sweep(now)
	if want := records / 3; err != nil || dropped != want {
		t.Errorf("sweep = %d, %v, want %d", dropped, err, want)
	}
	left := 0
	for _, partition := range []string{"0", "1", "2"} {
		page, err := s.Table().Scan(t.Context(), table.Query{Partition: partition})
		if err != nil {
			t.Fatal(err)
		}
		left += len(page.Items)
		for _, item := range page.Items {
			if string(item.Value) == "0" {
				t.Errorf("%s has expired and is still there", item.Key)
			}
		}
	}
	if left+dropped != records {
		t.Errorf("%d dropped and %d left of %d", dropped, left, records)
	}
}

func TestAnExpiryFollowsItsRecord(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	past, future := now.Add(-time.Hour), now.Add(time.Hour)
	first := table.PutExpiring(key, nil, table.Absent(), past)
	for name, tt := range map[string]struct {
		then []table.Op // each a write of its own, at the revision of the one before
		kept bool
	}{
		"left alone":             {nil, false},
		"put for good":           {[]table.Op{table.Put(key, nil, table.At("0"))}, true},
		"put for longer":         {[]table.Op{table.PutExpiring(key, nil, table.At("0"), future)}, true},
		"put for as long":        {[]table.Op{table.PutExpiring(key, nil, table.At("0"), past)}, false},
		"counted":                {[]table.Op{table.Add(key, 1)}, false},
		"deleted and put anew":   {[]table.Op{table.DeleteBlind(key), table.Put(key, nil, table.Absent())}, true},
		"put for good, for less": {[]table.Op{table.Put(key, nil, table.At("0")), table.PutExpiring(key, nil, table.At("1"), past)}, false},
		"before 1970":            {[]table.Op{table.PutExpiring(key, nil, table.At("0"), time.Unix(-5, 0))}, false},
	} {
		s := openIn(t, t.TempDir())
		for i, op := range append([]table.Op{first}, tt.then...) {
			mustWrite(t, s, table.Write{ID: fmt.Sprint(i), Ops: []table.Op{op}})
		}
		if _, err := s.sweep(now); err != nil {
			t.Fatal(err)
		}
		if item, err := s.Table().Get(t.Context(), key); err != nil || (item != nil) != tt.kept {
			t.Errorf("%s: the record after the sweep = %v, %v, want it kept: %v", name, item, err, tt.kept)
		}
		if dropped, err := s.sweep(future.Add(time.Second)); err != nil || dropped > 1 || (dropped == 1) != (name == "put for longer") {
			t.Errorf("%s: a later sweep dropped %d, %v", name, dropped, err)
		}
	}
}
