package turn

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWorkCountsTheCallsThatAnsweredAndNamesThoseThatDidNot(t *testing.T) {
	t.Parallel()
	var none *Work
	before := none.of("u")
	w := (&before).begin([]string{"a", "b", "a"})
	if diff := cmp.Diff(&Work{Turn: "u", Open: []string{"a", "b", "a"}}, w); diff != "" {
		t.Errorf("begun: want (-), got (+):\n%s", diff)
	}
	first := w.end()
	if diff := cmp.Diff(&Work{Turn: "u", Done: map[string]int{"a": 2, "b": 1}}, first); diff != "" {
		t.Errorf("answered: want (-), got (+):\n%s", diff)
	}
	second := first.begin([]string{"a"})
	if diff := cmp.Diff(&Work{Turn: "u", Done: map[string]int{"a": 2, "b": 1}, Open: []string{"a"}}, second); diff != "" {
		t.Errorf("begun again: want (-), got (+):\n%s", diff)
	}
	second.end()
	if diff := cmp.Diff(map[string]int{"a": 2, "b": 1}, first.Done); diff != "" {
		t.Errorf("what had been saved has changed: want (-), got (+):\n%s", diff)
	}
	if got := first.end(); got.Open != nil || len(got.Done) != 2 {
		t.Errorf("after a step without calls: %+v", got)
	}
}

func TestWorkIsOfOneTurn(t *testing.T) {
	t.Parallel()
	w := &Work{Turn: "u", Done: map[string]int{"a": 1}}
	if diff := cmp.Diff(*w, w.of("u")); diff != "" {
		t.Errorf("its own: want (-), got (+):\n%s", diff)
	}
	if diff := cmp.Diff(Work{Turn: "v"}, w.of("v")); diff != "" {
		t.Errorf("another's: want (-), got (+):\n%s", diff)
	}
}

func TestTheWorkOfTwoTurnsIsSummedUp(t *testing.T) {
	t.Parallel()
	a := Work{Turn: "u", Done: map[string]int{"a": 1}, Open: []string{"x"}}
	b := Work{Turn: "v", Done: map[string]int{"a": 2, "b": 1}, Open: []string{"y", "x"}}
	for name, c := range map[string]struct{ a, b, want Work }{
		"both":   {a, b, Work{Turn: "u", Done: map[string]int{"a": 3, "b": 1}, Open: []string{"x", "y", "x"}}},
		"first":  {a, Work{Turn: "v"}, a},
		"second": {Work{}, b, Work{Done: b.Done, Open: b.Open}},
		"none":   {Work{}, Work{Turn: "v"}, Work{}},
	} {
		if diff := cmp.Diff(c.want, c.a.add(c.b)); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(map[string]int{"a": 1}, a.Done); diff != "" {
		t.Errorf("a summand has changed: want (-), got (+):\n%s", diff)
	}
}
