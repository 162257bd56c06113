package turn

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestOrderIsFixedWidthAndOrdersBySecondSequencePlace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type at struct {
			second, sequence int64
			place            int
		}
		draw := func(name string) (at, string) {
			a := at{
				rapid.Int64Range(0, 99_999_999_999).Draw(t, name+" second"), rapid.Int64Min(0).Draw(t, name+" sequence"),
				rapid.IntRange(0, 999).Draw(t, name+" place"),
			}
			if rapid.Bool().Draw(t, name+" is near") {
				a.second, a.sequence = a.second%2, a.sequence%2
			}
			return a, Order(time.Unix(a.second, 999), a.sequence, a.place)
		}
		a, x := draw("a")
		b, y := draw("b")
		less := a.second < b.second || a.second == b.second && (a.sequence < b.sequence || a.sequence == b.sequence && a.place < b.place)
		if len(x) != len(y) || less != (x < y) || (a == b) != (x == y) {
			t.Fatalf("%+v is %q, %+v is %q", a, x, b, y)
		}
	})
}

func TestOrderTakesWhatAChannelShouldNotSend(t *testing.T) {
	t.Parallel()
	want := Order(time.Unix(0, 0), 0, 0)
	if got := Order(time.Time{}, -5, 0); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
