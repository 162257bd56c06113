package bench

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// vendor is a model behind chat completions that answers at once, and tells when it was asked.
type vendor struct {
	*httptest.Server

	asked chan time.Time
}

func newVendor(b *testing.B) *vendor {
	b.Helper()
	v := &vendor{asked: make(chan time.Time, 1)}
	v.Server = httptest.NewServer(v)
	b.Cleanup(v.Close)
	return v
}

func (v *vendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.NotFound(w, r) // a look whether the model is there
		return
	}
	v.asked <- time.Now()
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	for _, choice := range []string{
		`{"index":0,"delta":{"role":"assistant","content":"Done."}}`,
		`{"index":0,"delta":{},"finish_reason":"stop"}`,
	} {
		fmt.Fprintf(w, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"instant","choices":[%s]}`+"\n\n", choice)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}
