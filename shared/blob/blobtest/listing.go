package blobtest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/bobbin-agent/bobbin/shared/blob"
)

// list pages through a listing, each page held to the promises about pages.
func (b *bench) list(prefix, after string) []blob.Info {
	b.Helper()
	var all []blob.Info
	for {
		var page blob.Page
		err := b.patiently(func() (err error) {
			page, err = b.store.List(b.Context(), prefix, after)
			return err
		})
		if err != nil || len(page.Objects) > 1000 {
			b.Fatalf("listing %q after %q = %d objects, %v, want at most 1000", prefix, after, len(page.Objects), err)
		}
		all = append(all, page.Objects...)
		if page.Next == "" {
			return all
		}
		if page.Next <= after {
			b.Fatalf("the page after %q goes on after %q", after, page.Next)
		}
		after = page.Next
	}
}

func lists(b *bench) {
	all := []string{"a", "a-b", "a.b", "a/b", "a/b/c", "a/c", "a0", "aa", "b/1", "b/10", "b/2", "b=", "b_"}
	var infos []blob.Info
	for _, i := range []int{5, 0, 12, 3, 1, 2, 11, 4, 10, 6, 7, 9, 8} {
		b.put(all[i], body(i))
	}
	for i, name := range all {
		infos = append(infos, blob.Info{Name: b.dir + name, Size: int64(i)})
	}
	for _, q := range [][2]string{
		{"", ""}, {"a", ""}, {"a/", ""}, {"b/1", ""}, {"c", ""}, {"", "a/b"}, {"", "a/bb"}, {"a/", "a/b"}, {"b", "a"}, {"a", "b"}, {"", "z"},
	} {
		prefix, after := b.dir+q[0], q[1]
		if after != "" {
			after = b.dir + after
		}
		var want []blob.Info
		for _, info := range infos {
			if strings.HasPrefix(info.Name, prefix) && info.Name > after {
				want = append(want, info)
			}
		}
		b.same(fmt.Sprintf("listing %q after %q", q[0], q[1]), b.list(prefix, after), want)
	}
	b.delete("a/b")
	b.same("listing after a delete", b.list(b.dir+"a/b", ""), []blob.Info{{Name: b.dir + "a/b/c", Size: 4}})
}

func listsMany(b *bench) {
	want := make([]string, b.size.Listed)
	var wg sync.WaitGroup
	gate := make(chan struct{}, b.size.Workers)
	for i := range want {
		want[i] = fmt.Sprintf("%smany/%05d", b.dir, i)
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			if err := b.patiently(func() error { return b.store.Put(b.Context(), want[i], nil) }); err != nil {
				b.Errorf("putting %s: %v", want[i], err)
			}
		})
	}
	wg.Wait()
	var got []string
	for _, info := range b.list(b.dir+"many/", "") {
		got = append(got, info.Name)
	}
	b.same("listing", got, want)
}
