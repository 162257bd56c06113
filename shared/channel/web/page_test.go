package web

import (
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"testing"
)

// maxPage bounds the bytes of all the page's files: it must stay a page that one can read in an evening.
const maxPage = 52 << 10

func TestPageIsSmallAndCurrent(t *testing.T) {
	t.Parallel()
	entries, err := fs.ReadDir(files, "page")
	if err != nil {
		t.Fatal(err)
	}
	s, total := newBackend().site(), 0
	for _, e := range entries {
		address := "/static/" + e.Name()
		if e.Name() == "index.html" {
			address = "/"
		}
		w := ask(s, "GET", address, "")
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != kinds[path.Ext(e.Name())] {
			t.Errorf("%s: %d, %q", address, w.Code, w.Header().Get("Content-Type"))
		}
		total += w.Body.Len()
		if again := ask(s, "GET", address, "", "If-None-Match", w.Header().Get("ETag")); again.Code != http.StatusNotModified {
			t.Errorf("%s: asked again it answers %d", address, again.Code)
		}
	}
	if total > maxPage {
		t.Errorf("the page has %d bytes, want at most %d", total, maxPage)
	}
}

func TestPageNeverTurnsTextIntoMarkup(t *testing.T) {
	t.Parallel()
	risky := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|DOMParser|srcdoc|setHTML|createContextualFragment`)
	inline := regexp.MustCompile(`(?i)<script>| on[a-z]+=|<style| style=|javascript:`)
	elsewhere := regexp.MustCompile(`["'(]https?://[a-z]`)
	err := fs.WalkDir(files, "page", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		body, err := files.ReadFile(name)
		for _, bad := range []*regexp.Regexp{risky, inline, elsewhere} {
			if path.Ext(name) != ".svg" && bad.Match(body) {
				t.Errorf("%s has %q: what the model writes must reach the page as text", name, bad.Find(body))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
