package blobtest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bobbin-agent/bobbin/shared/blob"
	"github.com/bobbin-agent/bobbin/shared/blob/blobtest"
)

func TestFakeConforms(t *testing.T) {
	t.Parallel()
	blobtest.Run(t, func(*testing.T) blob.Blob { return &blobtest.Fake{} })
}

func TestFaultsOfAPutAnswerAndStoreAsTheySay(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		kind         blobtest.Kind
		answer, then error
	}{
		"none":    {blobtest.None, nil, nil},
		"refused": {blobtest.Refused, blob.ErrRefused, blob.ErrNotFound},
		"unheard": {blobtest.Unheard, blob.ErrRefused, nil},
	} {
		fake := &blobtest.Fake{Fault: func(c blobtest.Call) blobtest.Fault {
			if c.Number > 1 {
				return blobtest.Fault{}
			}
			return blobtest.Fault{Kind: tt.kind}
		}}
		if err := fake.Put(t.Context(), "a", nil); !errors.Is(err, tt.answer) {
			t.Errorf("%s: putting = %v, want %v", name, err, tt.answer)
		}
		if _, err := fake.Get(t.Context(), "a"); !errors.Is(err, tt.then) {
			t.Errorf("%s: getting then = %v, want %v", name, err, tt.then)
		}
	}
}

func TestASlowCallWhoseCallerGoesIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := &blobtest.Fake{Fault: func(blobtest.Call) blobtest.Fault { return blobtest.Slow(time.Minute) }}
		if err := fake.Put(t.Context(), "a", nil); err != nil {
			t.Errorf("a slow put = %v, want nil", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := fake.Get(ctx, "a"); !errors.Is(err, blob.ErrRefused) {
			t.Errorf("getting = %v, want ErrRefused", err)
		}
	})
}

func TestCallsAreCounted(t *testing.T) {
	t.Parallel()
	fake := &blobtest.Fake{}
	_ = fake.Put(t.Context(), "a", []byte("four"))
	before := fake.Calls()
	_ = fake.Put(t.Context(), "a", []byte("again"))
	_, _ = fake.Get(t.Context(), "a")
	_, _ = fake.GetRange(t.Context(), "a", 0, 1)
	_, _ = fake.List(t.Context(), "", "")
	_ = fake.Delete(t.Context(), "a")
	want := blobtest.Counts{Put: 1, Get: 1, GetRange: 1, List: 1, Delete: 1}
	if got := fake.Calls().Sub(before); got != want || before.Bytes != 4 {
		t.Errorf("counted %+v after %d bytes, want %+v after 4", got, before.Bytes, want)
	}
}
