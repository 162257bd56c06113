package id_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bobbin-agent/bobbin/shared/id"
)

var uuid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-([78])[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func version(s string) string {
	if m := uuid.FindStringSubmatch(s); m != nil {
		return m[1]
	}
	return ""
}

func TestIDsOfTimeSortByIt(t *testing.T) {
	t.Parallel()
	var source id.Source
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	var got []string
	for i := range 200 {
		s := source.New(now.Add(time.Duration(i) * time.Millisecond))
		if version(s) != "7" {
			t.Fatalf("%q is no version 7 UUID", s)
		}
		got = append(got, s)
	}
	if !slices.IsSorted(got) {
		t.Error("IDs of later times sort before earlier ones")
	}
}

func TestIDsOfOneInstantDiffer(t *testing.T) {
	t.Parallel()
	var source id.Source
	now := time.Now()
	seen := map[string]bool{}
	for range 1000 {
		seen[source.New(now)] = true
	}
	if len(seen) != 1000 {
		t.Errorf("1000 IDs of one instant are %d different ones", len(seen))
	}
}

func TestASeededSourceRepeatsItself(t *testing.T) {
	t.Parallel()
	now := time.UnixMilli(1_900_000_000_000)
	run := func() (out [3]string) {
		source := id.Source{Rand: rand.NewChaCha8([32]byte{1})}
		for i := range out {
			out[i] = source.New(now)
		}
		return out
	}
	if a, b := run(), run(); a != b {
		t.Errorf("the same seed gave %v, then %v", a, b)
	}
}

func TestASourceIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()
	source := id.Source{Rand: rand.NewChaCha8([32]byte{2})}
	var mu sync.Mutex
	var group sync.WaitGroup
	seen := map[string]bool{}
	for range 20 {
		group.Go(func() {
			s := source.New(time.UnixMilli(1))
			mu.Lock()
			defer mu.Unlock()
			seen[s] = true
		})
	}
	group.Wait()
	if len(seen) != 20 {
		t.Errorf("20 callers got %d different IDs", len(seen))
	}
}

func TestTheSameCauseAlwaysGivesTheSameIDAndAnotherNever(t *testing.T) {
	t.Parallel()
	parts := rapid.SliceOfN(rapid.StringN(0, 6, -1), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		a, b := parts.Draw(t, "a"), parts.Draw(t, "b")
		if id.From(a...) != id.From(slices.Clone(a)...) {
			t.Fatal("the same parts gave two IDs")
		}
		if same := slices.Equal(a, b); same != (id.From(a...) == id.From(b...)) {
			t.Fatalf("%q and %q: same parts %v, same IDs %v", a, b, same, !same)
		}
	})
}

func TestTheBoundsBetweenPartsCount(t *testing.T) {
	t.Parallel()
	if id.From("ab", "c") == id.From("a", "bc") || id.From("a") == id.From("a", "") {
		t.Error("parts run into one another")
	}
}

// An ID that is stored somewhere must never change its value with a new release.
func TestIDsOfCausesAreForEver(t *testing.T) {
	t.Parallel()
	got := id.From("turn", "telegram-1", "42")
	if want := "f3e880ce-9d10-8f47-a5d6-a2678f183ee4"; got != want || version(got) != "8" {
		t.Errorf("got %s, want %s: records under the old ID would be lost", got, want)
	}
}
