package blobtest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/bobbin-agent/bobbin/shared/blob"
)

// body makes n bytes without a pattern that a mistake of whole blocks would keep.
func body(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8 + i>>16)
	}
	return b
}

// sizes are those around which implementations change how they keep an object.
func (b *bench) sizes() []int { return []int{0, 1, 4095, 4096, 64 << 10, 64<<10 + 1, b.size.Largest} }

func roundTrip(b *bench) {
	for _, n := range b.sizes() {
		name := fmt.Sprintf("%d-bytes", n)
		b.put(name, body(n))
		b.expect(name, body(n))
	}
	if _, err := b.get("absent"); !errors.Is(err, blob.ErrNotFound) {
		b.Errorf("getting what is not there = %v, want ErrNotFound", err)
	}
}

func ranges(b *bench) {
	for _, n := range b.sizes() {
		name, whole := fmt.Sprintf("%d-bytes", n), body(n)
		b.put(name, whole)
		for _, r := range [][2]int{{0, n}, {0, 1}, {n / 2, 10}, {n - 1, 1}, {n - 1, 100}, {n, 1}, {n + 10, 5}, {0, n + 10}, {0, 0}, {1, 0}} {
			if r[0] < 0 {
				continue
			}
			want := whole[min(r[0], n):min(r[0]+r[1], n)]
			got, err := b.getRange(name, int64(r[0]), int64(r[1]))
			if err != nil || !bytes.Equal(got, want) {
				b.Errorf("%d bytes from %d of %d = %d bytes, %v, want %d", r[1], r[0], n, len(got), err, len(want))
			}
		}
		for _, r := range [][2]int64{{-1, 1}, {0, -1}} {
			if _, err := b.getRange(name, r[0], r[1]); !errors.Is(err, blob.ErrInvalid) {
				b.Errorf("%d bytes from %d = %v, want ErrInvalid", r[1], r[0], err)
			}
		}
	}
	if _, err := b.getRange("absent", 0, 1); !errors.Is(err, blob.ErrNotFound) {
		b.Errorf("a range of what is not there = %v, want ErrNotFound", err)
	}
}

func (b *bench) getRange(name string, offset, length int64) (part []byte, err error) {
	err = b.patiently(func() error {
		part, err = b.store.GetRange(b.Context(), b.dir+name, offset, length)
		return err
	})
	return part, err
}

func neverReplaced(b *bench) {
	for _, n := range b.sizes() {
		name := fmt.Sprintf("%d-bytes", n)
		b.put(name, body(n))
		for _, other := range [][]byte{body(n), []byte("other"), body(100 << 10)} {
			err := b.patiently(func() error { return b.store.Put(b.Context(), b.dir+name, other) })
			if !errors.Is(err, blob.ErrExists) {
				b.Errorf("putting %s again = %v, want ErrExists", name, err)
			}
		}
		b.expect(name, body(n))
	}
}

func racePuts(b *bench) {
	for _, n := range []int{10, 100 << 10} {
		name := fmt.Sprintf("%d-bytes", n)
		var wins, winner atomic.Int64
		var wg sync.WaitGroup
		for i := range b.size.Workers {
			wg.Go(func() {
				own := append(body(n), strconv.Itoa(i)...)
				err := b.patiently(func() error { return b.store.Put(b.Context(), b.dir+name, own) })
				switch {
				case err == nil:
					wins.Add(1)
					winner.Store(int64(i))
				case !errors.Is(err, blob.ErrExists):
					b.Errorf("putting %s = %v, want nil or ErrExists", name, err)
				}
			})
		}
		wg.Wait()
		if wins.Load() != 1 {
			b.Errorf("%d of %d puts of %s succeeded, want 1", wins.Load(), b.size.Workers, name)
		}
		b.expect(name, append(body(n), strconv.FormatInt(winner.Load(), 10)...))
	}
}

func deletes(b *bench) {
	b.delete("absent")
	for _, n := range b.sizes() {
		name := fmt.Sprintf("%d-bytes", n)
		b.put(name, body(n))
		b.put(name+"/below", []byte("stays"))
		b.delete(name)
		b.delete(name)
		if _, err := b.get(name); !errors.Is(err, blob.ErrNotFound) {
			b.Errorf("getting what was deleted = %v, want ErrNotFound", err)
		}
		b.put(name, []byte("again"))
		b.expect(name, []byte("again"))
		b.expect(name+"/below", []byte("stays"))
	}
}

func names(b *bench) {
	longest := b.dir + strings.Repeat("n", blob.MaxNameBytes-len(b.dir))
	if err := b.patiently(func() error { return b.store.Put(b.Context(), longest, []byte("long")) }); err != nil {
		b.Errorf("putting under a name of %d bytes: %v", len(longest), err)
	}
	bad := []string{"", longest + "n", "/a", "a/", "a//b", ".", "a/../b", "a b", "a\x00", "é", "a\\b", "a*", "a#b"}
	for _, name := range bad {
		_, getErr := b.store.Get(b.Context(), name)
		_, rangeErr := b.store.GetRange(b.Context(), name, 0, 1)
		errs := []error{b.store.Put(b.Context(), name, nil), getErr, rangeErr, b.store.Delete(b.Context(), name)}
		if i := slices.IndexFunc(errs, func(err error) bool { return !errors.Is(err, blob.ErrInvalid) }); i >= 0 {
			b.Errorf("%s of %q = %v, want ErrInvalid", []string{"put", "get", "range", "delete"}[i], name, errs[i])
		}
	}
}

func nothingIsShared(b *bench) {
	given := []byte("precious")
	b.put("k", given)
	copy(given, "spoiled!")
	got, err := b.get("k")
	if err != nil {
		b.Fatal(err)
	}
	copy(got, "spoiled!")
	part, err := b.getRange("k", 0, 4)
	if err != nil {
		b.Fatal(err)
	}
	copy(part, "!!!!")
	b.expect("k", []byte("precious"))
}
