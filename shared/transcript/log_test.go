package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-agent/bobbin/shared/blob"
	"github.com/bobbin-agent/bobbin/shared/blob/blobtest"
	"github.com/bobbin-agent/bobbin/shared/model"
)

func entry(text string) Entry {
	return Entry{Kind: Owner, Turn: "u", Blocks: []model.Block{{Text: text}}}
}

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// save checkpoints and commits.
func save(t *testing.T, log *Log, b blob.Blob, epoch int64) {
	t.Helper()
	log.Saved(must[Manifest](t)(log.Checkpoint(t.Context(), b, epoch)))
}

func load(t *testing.T, b blob.Blob, m Manifest) *Log {
	t.Helper()
	return must[*Log](t)(Load(t.Context(), b, "s", m))
}

func TestWhatIsSavedIsLoaded(t *testing.T) {
	t.Parallel()
	b := new(blobtest.Fake)
	log := load(t, b, Manifest{})
	want := []Entry{
		entry("hello <&> \u2028 ü"),
		{Kind: Assistant, Turn: "u", Blocks: []model.Block{
			{Thinking: &model.Thinking{Provider: "p", Text: "hm", Signature: "s"}},
			{Text: "hi"},
			{Call: &model.ToolCall{ID: "1", Name: "clock", Arguments: json.RawMessage(`{"zone":"UTC"}`)}},
		}},
		{Kind: Results, Turn: "u", Blocks: []model.Block{{Result: &model.ToolResult{CallID: "1", Text: "noon", IsError: true}}}},
		{Kind: Note, Turn: "v", Blocks: []model.Block{{Text: "[note]"}}},
	}
	for i, e := range want {
		log.Append(e)
		if i%2 == 1 {
			save(t, log, b, int64(i))
		}
	}
	if diff := cmp.Diff(want, load(t, b, log.Manifest()).Entries()); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestACheckpointUploadsWhatIsNewAndNothingElse(t *testing.T) {
	t.Parallel()
	b := new(blobtest.Fake)
	log := load(t, b, Manifest{})
	log.Append(entry(strings.Repeat("old ", 10_000)))
	save(t, log, b, 1)
	before := b.Calls()
	if m := must[Manifest](t)(log.Checkpoint(t.Context(), b, 1)); len(m.Parts) != 1 || log.Unsaved() {
		t.Errorf("with nothing new the manifest is %+v", m)
	}
	log.Append(entry("new"))
	save(t, log, b, 1)
	if used := b.Calls().Sub(before); used.Put != 1 || used.Sum() != 1 || used.Bytes > 200 {
		t.Errorf("it used %+v, want one small put", used)
	}
}

func TestACheckpointThatIsNotCommittedIsMadeAgain(t *testing.T) {
	t.Parallel()
	b := new(blobtest.Fake)
	log := load(t, b, Manifest{})
	log.Append(entry("a"))
	first := must[Manifest](t)(log.Checkpoint(t.Context(), b, 1))
	second := must[Manifest](t)(log.Checkpoint(t.Context(), b, 1)) // the part is there already
	if diff := cmp.Diff(first, second); diff != "" || len(log.Manifest().Parts) != 0 {
		t.Errorf("committed is %+v; first (-), second (+):\n%s", log.Manifest(), diff)
	}
	log.Append(entry("b"))
	save(t, log, b, 1)
	if diff := cmp.Diff([]Entry{entry("a"), entry("b")}, load(t, b, log.Manifest()).Entries()); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}

func TestAnUploadThatIsRefusedIsAnErrorAndLosesNothing(t *testing.T) {
	t.Parallel()
	kind := blobtest.Refused
	b := &blobtest.Fake{Fault: func(blobtest.Call) blobtest.Fault { return blobtest.Fault{Kind: kind} }}
	log := &Log{session: "s"}
	log.Append(entry("a"))
	for _, kind = range []blobtest.Kind{blobtest.Refused, blobtest.Unheard} {
		if _, err := log.Checkpoint(t.Context(), b, 1); !errors.Is(err, blob.ErrRefused) || errors.Is(err, ErrCorrupt) {
			t.Errorf("got %v, want ErrRefused", err)
		}
	}
	kind = blobtest.None
	save(t, log, b, 1)
	if got := load(t, b, log.Manifest()).Entries(); len(got) != 1 {
		t.Errorf("loaded %+v", got)
	}
}

// The manifest is written at every step of every turn.
func TestTheManifestStaysSmall(t *testing.T) {
	t.Parallel()
	b := new(blobtest.Fake)
	log := load(t, b, Manifest{})
	size := func() int { return len(must[[]byte](t)(json.Marshal(log.Manifest()))) }
	early, uploaded, biggest := 0, 0, 0
	for i := range 5_000 { // a step's results and the answer to them are saved together
		log.Append(entry(fmt.Sprintf("results %d %s", i, strings.Repeat("x", i%97))), entry(fmt.Sprint("answer ", i)))
		before := b.Calls()
		save(t, log, b, int64(i/5))
		uploaded += b.Calls().Sub(before).Put
		biggest = max(biggest, size())
		if i == 4 {
			early = size()
		}
	}
	if got := size(); got > early+2048 {
		t.Errorf("it takes %d bytes at 10,000 entries and %d at 10: more than 2 KB more", got, early)
	}
	if biggest > 4096 || uploaded != 5_000 {
		t.Errorf("it took %d bytes at most, with %d uploads for 5,000 checkpoints", biggest, uploaded)
	}
	got := load(t, b, log.Manifest()).Entries()
	if diff := cmp.Diff(log.Entries(), got); diff != "" {
		t.Errorf("saved (-), loaded (+):\n%s", diff)
	}
}

func TestAnyWayOfSavingLoadsTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		b := new(blobtest.Fake)
		log := must[*Log](t)(Load(t.Context(), b, "s", Manifest{}))
		n := 0
		for turn := range rapid.IntRange(1, 6).Draw(rt, "turns") {
			for range rapid.IntRange(0, 60).Draw(rt, "checkpoints") {
				for range rapid.IntRange(0, 3).Draw(rt, "entries") {
					n++
					log.Append(entry(fmt.Sprint(n)))
				}
				m, err := log.Checkpoint(t.Context(), b, int64(turn))
				if err != nil {
					rt.Fatal(err)
				}
				if rapid.IntRange(0, 9).Draw(rt, "lost") > 0 {
					log.Saved(m)
				}
			}
			if log.Unsaved() {
				save(t, log, b, int64(turn))
			}
			log = load(t, b, log.Manifest())
			if got := log.Entries(); len(got) != n || n > 0 && got[n-1].Blocks[0].Text != fmt.Sprint(n) {
				rt.Fatalf("after turn %d: %d entries, want %d", turn, len(got), n)
			}
		}
	})
}

// What is written must be readable: a chunk has a bound, and one entry beyond it stands alone.
func TestLargeTranscriptsAreSavedInPiecesThatCanBeRead(t *testing.T) {
	t.Parallel()
	b := new(blobtest.Fake)
	log := load(t, b, Manifest{})
	large := strings.Repeat("large tool result ", 150<<10/18)
	for i := range maxParts + 2 {
		log.Append(entry(fmt.Sprint(i, large)))
		save(t, log, b, 1)
	}
	m := log.Manifest()
	if got := load(t, b, m).Entries(); len(got) != maxParts+2 {
		t.Errorf("%d entries were read", len(got))
	}
	for _, r := range m.refs() {
		if r.Bytes > maxChunkBytes {
			t.Errorf("a piece of %d entries takes %d bytes, more than %d", r.Entries, r.Bytes, maxChunkBytes)
		}
	}
	log.Append(entry("small"), entry(strings.Repeat("huge ", maxChunkBytes/4)), entry("small"))
	save(t, log, b, 2)
	if got := load(t, b, log.Manifest()).Entries(); len(got) != maxParts+5 {
		t.Errorf("%d entries were read beside a huge one", len(got))
	}
}

func TestADamagedPartIsToldFromAStoreThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		damage  func(*testing.T, *blobtest.Fake, string)
		corrupt bool
	}{
		"missing":   {func(*testing.T, *blobtest.Fake, string) {}, true},
		"no zstd":   {replace([]byte("x")), true},
		"no JSON":   {replace(compress([]byte("{\n"))), true},
		"too short": {replace(compress([]byte(`{"k":"owner"}` + "\n"))), true},
		"refused": {func(_ *testing.T, b *blobtest.Fake, _ string) {
			b.Fault = func(blobtest.Call) blobtest.Fault { return blobtest.Fault{Kind: blobtest.Refused} }
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := new(blobtest.Fake)
			log := load(t, b, Manifest{})
			log.Append(entry("a"), entry("b"))
			save(t, log, b, 1)
			object := log.Manifest().Parts[0].name("s")
			if err := b.Delete(t.Context(), object); err != nil {
				t.Fatal(err)
			}
			tc.damage(t, b, object)
			_, err := Load(t.Context(), b, "s", log.Manifest())
			if err == nil || errors.Is(err, ErrCorrupt) != tc.corrupt {
				t.Errorf("got %v, want it to be corrupt: %v", err, tc.corrupt)
			}
		})
	}
}

func replace(body []byte) func(*testing.T, *blobtest.Fake, string) {
	return func(t *testing.T, b *blobtest.Fake, name string) {
		t.Helper()
		if err := b.Put(t.Context(), name, body); err != nil {
			t.Fatal(err)
		}
	}
}
