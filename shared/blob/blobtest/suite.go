// Package blobtest holds every object store to the guarantees of shared/blob, and offers a Fake that breaks on demand.
package blobtest

import (
	"bytes"
	"cmp"
	"errors"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bobbin-agent/bobbin/shared/blob"
	"github.com/bobbin-agent/bobbin/shared/id"
)

// Suite is the conformance suite with its sizes; those at 0 are chosen for a store on the same machine. Its objects have
// names of their own, so that it can run against a store that others use.
type Suite struct {
	// Open returns the store to test. It is called once; release what it opens with t.Cleanup, because the tests go on
	// in parallel when Run has returned.
	Open func(t *testing.T) blob.Blob

	Workers int // goroutines that race for the same object; 8 if 0
	Listed  int // objects in the listing that takes several pages; 1,100 if 0, and it should be more than 1,000
	Largest int // bytes of the largest object; 5 MiB if 0
}

// Run runs the suite in its usual sizes.
func Run(t *testing.T, open func(t *testing.T) blob.Blob) { Suite{Open: open}.Run(t) }

// Run runs the suite.
func (s Suite) Run(t *testing.T) {
	s.Workers, s.Listed, s.Largest = cmp.Or(s.Workers, 8), cmp.Or(s.Listed, 1100), cmp.Or(s.Largest, 5<<20)
	store := s.Open(t)
	for name, test := range map[string]func(*bench){
		"an object is read as it was put":                     roundTrip,
		"a range is cut where the object ends":                ranges,
		"an object is never replaced":                         neverReplaced,
		"one of many puts of a name succeeds":                 racePuts,
		"what was deleted is gone and may be put again":       deletes,
		"a listing is ordered and stays within its prefix":    lists,
		"a listing pages through more objects than one holds": listsMany,
		"a name outside the rules is invalid everywhere":      names,
		"nothing is shared with the caller":                   nothingIsShared,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(&bench{T: t, store: store, size: s, dir: "suite/" + ids.New(time.Now()) + "/"})
		})
	}
}

var ids id.Source

// bench is what one property works on: a prefix of its own.
type bench struct {
	*testing.T
	store blob.Blob
	size  Suite
	dir   string
}

// patiently repeats a call while the store refuses.
func (b *bench) patiently(call func() error) error {
	for {
		if err := call(); !errors.Is(err, blob.ErrRefused) || b.Context().Err() != nil {
			return err
		}
	}
}

func (b *bench) put(name string, body []byte) {
	b.Helper()
	if err := b.patiently(func() error { return b.store.Put(b.Context(), b.dir+name, body) }); err != nil {
		b.Fatalf("putting %s, %d bytes: %v", name, len(body), err)
	}
}

func (b *bench) delete(name string) {
	b.Helper()
	if err := b.patiently(func() error { return b.store.Delete(b.Context(), b.dir+name) }); err != nil {
		b.Fatalf("deleting %s: %v", name, err)
	}
}

func (b *bench) get(name string) (body []byte, err error) {
	err = b.patiently(func() error {
		body, err = b.store.Get(b.Context(), b.dir+name)
		return err
	})
	return body, err
}

func (b *bench) expect(name string, want []byte) {
	b.Helper()
	if got, err := b.get(name); err != nil || !bytes.Equal(got, want) {
		b.Errorf("getting %s = %d bytes, %v, want the %d that were put", name, len(got), err, len(want))
	}
}

func (b *bench) same(what string, got, want any) {
	b.Helper()
	if diff := gocmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		b.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
