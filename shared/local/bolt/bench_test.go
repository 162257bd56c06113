package bolt

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
)

// syncsPerCommit is what bbolt does: one for the pages, one for the metadata.
const syncsPerCommit = 2

// measure runs the benchmark and reports syncs and processor time of the whole process per operation.
func measure(b *testing.B, s *Store, run func()) {
	b.Helper()
	b.ReportAllocs()
	commits, cpu := s.commit.commits.Load(), processorTime(b)
	b.ResetTimer()
	run()
	b.StopTimer()
	b.ReportMetric(float64(syncsPerCommit*(s.commit.commits.Load()-commits))/float64(b.N), "syncs/op")
	b.ReportMetric(float64(processorTime(b)-cpu)/float64(time.Microsecond)/float64(b.N), "cpu-µs/op")
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// turn is a write like those of a turn: a check of a record that stays, a replaced one and a new one.
func turn(ids *id.Source, session int64, last table.Revision) table.Write {
	w := table.Write{ID: ids.New(time.Now())}
	partition := fmt.Sprintf("session#%08d", session)
	w.Ops = []table.Op{
		table.Check(table.Key{Partition: partition, Sort: "fence"}, table.Absent()),
		table.Put(table.Key{Partition: partition, Sort: "head"}, bytes.Repeat([]byte("h"), 200), table.AtOrAbsent(last)),
		table.Put(table.Key{Partition: partition, Sort: w.ID}, bytes.Repeat([]byte("v"), 300), table.Absent()),
	}
	return w
}

func writeTurns(b *testing.B, s *Store, ids *id.Source, session int64, more func() bool) {
	last := table.Revision("")
	for more() {
		w := turn(ids, session, last)
		if err := s.Table().Write(b.Context(), w); err != nil {
			b.Error(err)
			return
		}
		last = w.Revision()
	}
}

// BenchmarkWriteAlone has one session write one after the other.
func BenchmarkWriteAlone(b *testing.B) {
	s, ids := openIn(b, b.TempDir()), &id.Source{}
	measure(b, s, func() { writeTurns(b, s, ids, 0, b.Loop) })
}

// BenchmarkWriteGrouped has a thousand sessions write at once.
func BenchmarkWriteGrouped(b *testing.B) {
	s, ids := openIn(b, b.TempDir()), &id.Source{}
	b.SetParallelism(500)
	var sessions atomic.Int64
	measure(b, s, func() {
		b.RunParallel(func(pb *testing.PB) { writeTurns(b, s, ids, sessions.Add(1), pb.Next) })
	})
}

// BenchmarkPutObject stores checkpoints of some kilobytes.
func BenchmarkPutObject(b *testing.B) {
	for _, size := range []int{2 << 10, 32 << 10, 256 << 10} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			s, ids := openIn(b, b.TempDir()), &id.Source{}
			body := bytes.Repeat([]byte("x"), size)
			measure(b, s, func() {
				for b.Loop() {
					if err := s.Blob().Put(b.Context(), "parts/"+ids.New(time.Now()), body); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

func BenchmarkGet(b *testing.B) {
	s := openIn(b, b.TempDir())
	mustWrite(b, s, create("w", "value", key))
	measure(b, s, func() {
		for b.Loop() {
			if _, err := s.Table().Get(b.Context(), key); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkOpen opens a folder with ten thousand records, as after a clean end.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	s := openIn(b, dir)
	for i := range 100 {
		w := table.Write{ID: fmt.Sprint(i)}
		for n := range table.MaxOps {
			k := table.Key{Partition: fmt.Sprint(i), Sort: fmt.Sprint(n)}
			w.Ops = append(w.Ops, table.Put(k, bytes.Repeat([]byte("v"), 300), table.Absent()))
		}
		mustWrite(b, s, w)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := Open(dir)
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
