package transcript

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-agent/bobbin/shared/blob"
)

func anyRef() *rapid.Generator[Ref] {
	return rapid.Custom(func(t *rapid.T) Ref {
		return Ref{
			Epoch: rapid.Int64Min(0).Draw(t, "epoch"), Hash: rapid.StringMatching(`[A-Za-z0-9_-]{11}`).Draw(t, "hash"),
			Entries: rapid.IntMin(0).Draw(t, "entries"), Bytes: rapid.IntMin(0).Draw(t, "bytes"),
		}
	})
}

func TestAManifestIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		refs := rapid.SliceOfN(anyRef(), 0, 3)
		want := Manifest{Chunks: refs.Draw(t, "chunks"), Parts: refs.Draw(t, "parts")}
		body, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Manifest
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(want) != fmt.Sprint(got) {
			t.Fatalf("want %v, got %v", want, got)
		}
	})
}

// References are stored in every session's head: their spelling must not change.
func TestAReferenceIsSpeltForEver(t *testing.T) {
	t.Parallel()
	ref := Ref{Epoch: 37, Hash: "abc_DEF-123", Entries: 2, Bytes: 1296}
	if got, err := json.Marshal(ref); err != nil || string(got) != `"11.abc_DEF-123.2.100"` {
		t.Errorf("got %s, %v", got, err)
	}
	if got := ref.name("s"); got != "session/s/37-abc_DEF-123" || blob.CheckName(got) != nil {
		t.Errorf("the object is %q", got)
	}
}

func TestABrokenReferenceIsAnError(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`""`, `"1.a.2"`, `"1.a.2.3.4"`, `"!.a.2.3"`, `"1.a.!.3"`, `"1.a.2."`, `7`, `{}`} {
		var ref Ref
		if err := json.Unmarshal([]byte(body), &ref); err == nil {
			t.Errorf("%s was read as %+v", body, ref)
		}
	}
}

func chunks(bytes ...int) (refs []Ref) {
	for _, b := range bytes {
		refs = append(refs, Ref{Bytes: b})
	}
	return refs
}

func TestFoldTakesNeighboursOfASize(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		chunks []Ref
		bytes  int
		want   int
	}{
		"none":                         {nil, 10, 0},
		"too few":                      {chunks(10, 10, 10, 10, 10, 10), 10, 0},
		"enough":                       {chunks(10, 10, 10, 10, 10, 10, 10), 10, 7},
		"more than enough":             {chunks(10, 10, 10, 10, 10, 10, 10, 10), 10, 7},
		"a large one in between":       {chunks(10, 10, 10, 10, 10, 10, 99, 10, 10), 10, 0},
		"a large one before":           {chunks(99, 10, 10, 10, 10, 10, 10, 10), 10, 7},
		"two sizes at once":            {chunks(80, 80, 80, 80, 80, 80, 80, 10, 10, 10, 10, 10, 10, 10), 10, 14},
		"twice the size still belongs": {chunks(20, 20, 20, 20, 20, 20, 20), 10, 7},
		"more than that does not":      {chunks(21, 21, 21, 21, 21, 21, 21), 10, 0},
		"they would be too large":      {chunks(2<<20, 2<<20, 2<<20, 2<<20, 2<<20, 2<<20, 2<<20), 1 << 20, 0},
		"it is too large by itself":    {chunks(1, 1, 1, 1, 1, 1, 1), 9 << 20, 0},
	} {
		if got := fold(tc.chunks, tc.bytes); got != tc.want {
			t.Errorf("%s: got %d, want %d", name, got, tc.want)
		}
	}
}

func TestFoldNeverMakesAChunkThatIsTooLarge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 2*maxChunkBytes), 0, 40).Draw(t, "sizes")
		bytes := rapid.IntRange(1, maxChunkBytes).Draw(t, "bytes")
		n := fold(chunks(sizes...), bytes)
		sum := bytes
		for _, s := range sizes[len(sizes)-n:] {
			sum += s
		}
		if sum > maxChunkBytes || n%(mergeFan-1) != 0 {
			t.Fatalf("folds %d chunks into one of %d bytes", n, sum)
		}
	})
}

func TestRefsListsChunksFirstAndLeavesThemAlone(t *testing.T) {
	t.Parallel()
	m := Manifest{Chunks: make([]Ref, 1, 8), Parts: []Ref{{Entries: 2}}}
	m.Chunks[0].Entries = 1
	if got := m.Entries(); got != 3 {
		t.Errorf("counts %d entries", got)
	}
	_ = append(m.refs(), Ref{})
	if diff := cmp.Diff([]Ref{{Entries: 1}, {}}, m.Chunks[:2]); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
}
