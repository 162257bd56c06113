package pause

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestAPauseLastsAsLongAsAskedOrUntilTheContextEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ask, limit, want time.Duration
		whole            bool
	}{
		"whole":           {time.Second, time.Minute, time.Second, true},
		"cut short":       {time.Minute, time.Second, time.Second, false},
		"none":            {0, time.Second, 0, true},
		"less than none":  {-time.Second, time.Second, 0, true},
		"nobody is there": {time.Second, 0, 0, false},
		"nor for none":    {0, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.limit)
				defer cancel()
				begun := time.Now()
				if whole := For(ctx, c.ask); whole != c.whole || time.Since(begun) != c.want {
					t.Errorf("waited %v, whole: %v; want %v, %v", time.Since(begun), whole, c.want, c.whole)
				}
			})
		})
	}
}

func TestARandomPauseKeepsToItsLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lengths := map[time.Duration]bool{}
		for range 100 {
			begun := time.Now()
			if !UpTo(t.Context(), time.Second) {
				t.Fatal("cut short")
			}
			lengths[time.Since(begun)] = true
			if took := time.Since(begun); took <= 0 || took > time.Second {
				t.Errorf("waited %v", took)
			}
		}
		if len(lengths) < 50 {
			t.Errorf("only %d different lengths of 100", len(lengths))
		}
	})
}
