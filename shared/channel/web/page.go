package web

import (
	"bytes"
	"embed"
	"io/fs"
	"net/http"
	"path"
	"time"
)

//go:embed page
var files embed.FS

// kinds are the content types of the page's files: told here, because a machine's own table may say otherwise, and a
// browser runs no script of another type.
var kinds = map[string]string{
	".html": "text/html; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// routePage adds the page's files. They change with the program only: browsers keep them and ask if they are current.
func routePage(mux *http.ServeMux) {
	entries, err := fs.ReadDir(files, "page")
	if err != nil {
		panic("reading the embedded page: " + err.Error())
	}
	for _, e := range entries {
		pattern := "GET /static/" + e.Name()
		if e.Name() == "index.html" {
			pattern = "GET /{$}"
		}
		mux.Handle(pattern, static(e.Name()))
	}
}

func static(name string) http.Handler {
	body, err := files.ReadFile(path.Join("page", name))
	if err != nil {
		panic("reading the embedded page: " + err.Error())
	}
	tag := `"` + hash(string(body))[:16] + `"`
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("Content-Type", kinds[path.Ext(name)])
		w.Header().Set("ETag", tag)
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(body))
	})
}
