package bench

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/blob/blobtest"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/local/bolt"
	"github.com/bobbin-agent/bobbin/shared/local/fifo"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/transcript"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

func newLocal(b *testing.B, sent func()) *engine {
	b.Helper()
	store, err := bolt.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
	return newEngine(store.Table(), store.Blob(), &fifo.Queue{}, instant{}, silent{sent: sent})
}

// BenchmarkTurn is a one-step turn on the local store, one after the other: accepted, run, sent.
func BenchmarkTurn(b *testing.B) {
	e := newLocal(b, nil)
	sender := e.pair(b)
	for b.Loop() {
		e.accept(b, sender, "hello")
		e.handle(b)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms/turn")
}

// BenchmarkThousandSessions is one turn in each of 1,000 sessions, 64 at once; messages come as Telegram delivers them.
func BenchmarkThousandSessions(b *testing.B) {
	const sessions, workers = 1000, 64
	var sent sync.WaitGroup
	e := newLocal(b, sent.Done)
	senders := make([]string, sessions)
	for i := range senders {
		senders[i] = e.pair(b)
	}
	ctx, stop := context.WithCancel(b.Context())
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for {
				wakeups, err := e.queue.Receive(ctx, 1)
				if err != nil {
					return
				}
				for _, d := range wakeups {
					if _, err := e.runner.Handle(ctx, d); err != nil && ctx.Err() == nil {
						b.Error(err)
					}
					_ = d.Lease.Done(ctx)
				}
			}
		})
	}
	for b.Loop() {
		sent.Add(sessions)
		sideBySide(hookConnections, sessions, func(i int) { e.accept(b, senders[i], "hello") })
		sent.Wait()
	}
	b.ReportMetric(float64(b.N*sessions)/b.Elapsed().Seconds(), "turns/s")
	stop()
	working.Wait()
}

// BenchmarkCheckpoint is one step's checkpoint at transcripts of two lengths: the bytes that it writes, to the object
// store and to the table, must not grow with the transcript.
func BenchmarkCheckpoint(b *testing.B) {
	for _, entries := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("entries=%d", entries), func(b *testing.B) { checkpoint(b, entries) })
	}
}

// stretch is how many steps one operation of BenchmarkCheckpoint takes: every length of the manifest comes up in it.
const stretch = 64

func checkpoint(b *testing.B, entries int) {
	var table, blob int64
	for b.Loop() {
		b.StopTimer()
		records, objects := &tabletest.Fake{}, &blobtest.Fake{} // each operation begins at the same length
		run := grown(b, records, objects, entries)
		beforeTable, beforeBlob := records.Calls().Bytes, objects.Calls().Bytes
		b.StartTimer()
		for range stretch {
			run.Log().Append(step()...)
			if err := run.Checkpoint(b.Context(), time.Now()); err != nil {
				b.Fatal(err)
			}
		}
		table += records.Calls().Bytes - beforeTable
		blob += objects.Calls().Bytes - beforeBlob
	}
	steps := float64(b.N * stretch)
	b.ReportMetric(float64(table)/steps, "table-B/step")
	b.ReportMetric(float64(blob)/steps, "blob-B/step")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/steps, "us/step")
}

// step is what one step adds: an answer with a call, and its result.
func step() []transcript.Entry {
	call := &model.ToolCall{ID: "call-1", Name: "read", Arguments: []byte(`{"path":"notes/2026-11-30.md"}`)}
	result := &model.ToolResult{CallID: "call-1", Text: "A note of about the length that a small file has, twice over. " + time.Now().String()}
	return []transcript.Entry{
		{Kind: transcript.Assistant, Blocks: []model.Block{{Call: call}}},
		{Kind: transcript.Results, Blocks: []model.Block{{Result: result}}},
	}
}

// grown is a running turn whose session has so many entries, saved step by step.
func grown(b testing.TB, records table.Table, objects *blobtest.Fake, entries int) *turn.Run {
	b.Helper()
	e := newEngine(records, objects, &fifo.Queue{}, instant{}, silent{})
	sender := e.pair(b)
	e.accept(b, sender, "hello")
	who, err := e.book.Identify(b.Context(), connection, sender)
	if err != nil {
		b.Fatal(err)
	}
	view, err := e.runner.Desk.Look(b.Context(), id.Session(who.Thread), who.Thread)
	if err != nil {
		b.Fatal(err)
	}
	run, err := e.runner.Desk.Claim(b.Context(), view, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	if err := run.Open(b.Context(), objects); err != nil {
		b.Fatal(err)
	}
	for len(run.Log().Entries()) < entries {
		run.Log().Append(step()...)
		if err := run.Checkpoint(b.Context(), time.Now()); err != nil {
			b.Fatal(err)
		}
	}
	return run
}
