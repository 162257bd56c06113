package openai

import (
	"bytes"
	"encoding/json"
	"io"
	"iter"
	"net/http"

	"github.com/bobbin-agent/bobbin/shared/model/wire"
)

// loose is the HTTP client that the SDK gets. The SDK takes the event stream of OpenAI only: it stumbles over an event
// without data (gateways send comments to keep a connection alive), takes "error":null for an error, passes over a last
// event that no empty line ends, and reads on after [DONE] until the server closes. Here all of that is put right before
// the SDK reads it.
type loose struct{ client *wire.Client }

// Do is what the SDK calls.
func (l loose) Do(req *http.Request) (*http.Response, error) {
	resp, err := l.client.Do(req)
	if err != nil {
		return nil, err
	}
	next, stop := iter.Pull2(wire.Events(resp.Body))
	resp.Body = &body{body: resp.Body, next: next, stop: stop}
	return resp, nil
}

// body is a stream of server-sent events as OpenAI would send it.
type body struct {
	body io.Closer
	next func() ([]byte, error, bool)
	stop func()
	rest []byte // of the event that is being read
	done bool   // [DONE] was read
}

// Read is io.Reader's.
func (b *body) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		if err := b.advance(); err != nil {
			return 0, err
		}
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

// advance makes the next event the one to read.
func (b *body) advance() error {
	if b.done {
		return io.EOF
	}
	data, err, more := b.next()
	switch {
	case err != nil:
		return err
	case !more:
		return io.EOF
	}
	b.done = bytes.HasPrefix(data, []byte("[DONE]"))
	// A line break between two lines of JSON is white space.
	line := bytes.ReplaceAll(bytes.TrimSpace(withoutNullError(data)), []byte("\n"), []byte(" "))
	b.rest = append(append([]byte("data: "), line...), "\n\n"...)
	return nil
}

// withoutNullError drops "error":null from an event.
func withoutNullError(data []byte) []byte {
	if !bytes.Contains(data, []byte(`"error"`)) {
		return data
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil || string(fields["error"]) != "null" {
		return data
	}
	delete(fields, "error")
	without, err := json.Marshal(fields)
	if err != nil {
		return data
	}
	return without
}

// Close is io.Closer's.
func (b *body) Close() error {
	b.stop()
	return b.body.Close()
}
