package blob_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/bobbin-agent/bobbin/shared/blob"
	"github.com/bobbin-agent/bobbin/shared/blob/blobtest"
)

// refusing lets the first calls of a store be refused, all but the last of them after they were done.
func refusing(times int) *blobtest.Fake {
	return &blobtest.Fake{Fault: func(c blobtest.Call) blobtest.Fault {
		switch {
		case c.Number < times:
			return blobtest.Fault{Kind: blobtest.Unheard}
		case c.Number == times:
			return blobtest.Fault{Kind: blobtest.Refused}
		}
		return blobtest.Fault{}
	}}
}

func TestARefusalIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := refusing(3)
		if err := blob.Ensure(t.Context(), store, "a", []byte("body")); err != nil {
			t.Fatalf("an object that a refused attempt had put already: %v", err)
		}
		got, err := blob.Fetch(t.Context(), store, "a")
		if err != nil || string(got) != "body" {
			t.Errorf("fetched %q, %v", got, err)
		}
	})
}

func TestPatienceEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		never := &blobtest.Fake{Fault: func(blobtest.Call) blobtest.Fault { return blobtest.Fault{Kind: blobtest.Refused} }}
		if err := blob.Ensure(t.Context(), never, "a", nil); !errors.Is(err, blob.ErrRefused) {
			t.Errorf("a store that stays away: %v, want ErrRefused", err)
		}
		if n := never.Calls().Sum(); n != 5 {
			t.Errorf("it was asked %d times, want 5", n)
		}
	})
}

func TestAMissingObjectIsNotAskedForAgain(t *testing.T) {
	t.Parallel()
	store := &blobtest.Fake{}
	if _, err := blob.Fetch(t.Context(), store, "a"); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
	if n := store.Calls().Sum(); n != 1 {
		t.Errorf("it was asked %d times, want once", n)
	}
}
