package turn

import (
	"errors"
	"testing"
)

func TestATurnTakesTheStepsOfItsLifeAndNoOthers(t *testing.T) {
	t.Parallel()
	all := []Status{Queued, Running, Waiting, Succeeded, Failed, Cancelled}
	steps := map[Status][]Status{
		Queued:  {Running, Cancelled},
		Running: {Waiting, Succeeded, Failed, Cancelled},
		Waiting: {Cancelled},
	}
	for _, from := range append(all, "") {
		for _, to := range append(all, "") {
			want := false
			for _, s := range steps[from] {
				want = want || s == to
			}
			got, err := from.Become(to)
			if e, refused := errors.AsType[*StatusError](err); refused == want || want && got != to ||
				refused && (got != from || e.From != from || e.To != to) {
				t.Errorf("%q → %q: got %q, %v; allowed is %v", from, to, got, err, want)
			}
		}
	}
}

func TestTheEndsAreEnds(t *testing.T) {
	t.Parallel()
	for s, want := range map[Status]bool{
		Queued: false, Running: false, "": false, Waiting: true, Succeeded: true, Failed: true, Cancelled: true,
	} {
		if s.Ended() != want {
			t.Errorf("%q is an end: %v, want %v", s, s.Ended(), want)
		}
	}
}
