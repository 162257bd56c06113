package web

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/bobbin-agent/bobbin/shared/fault"
)

// refusal is an error whose words are the owner's to read.
type refusal struct {
	status int
	say    string
}

func (e *refusal) Error() string { return e.say }

func refuse(status int, say string) error { return &refusal{status: status, say: say} }

// answering runs a handler and turns its error into the answer. After an error nothing may have been written.
func (s *Site) answering(h func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		err := h(w, r)
		if err == nil {
			return
		}
		if no, is := errors.AsType[*refusal](err); is {
			refusing(no.status, no.say).ServeHTTP(w, r)
			return
		}
		s.fail(w, r, err)
	})
}

// fail answers what broke here. Nothing is known to be stored, so it is always a 5xx, and the page sends again.
func (s *Site) fail(w http.ResponseWriter, r *http.Request, err error) {
	verdict := fault.Of(err)
	switch verdict.Action {
	case fault.Drop: // the visitor has gone
	case fault.GiveUp, fault.Retry, fault.Unknown:
		s.Report(r.Context(), err)
	}
	if verdict.Action == fault.GiveUp {
		refusing(http.StatusInternalServerError, "Something broke on the server; its log says what.").ServeHTTP(w, r)
		return
	}
	if verdict.After > 0 {
		seconds := int64((verdict.After + time.Second - 1) / time.Second)
		w.Header().Set("Retry-After", strconv.FormatInt(seconds, 10))
	}
	refusing(http.StatusServiceUnavailable, "The server can't do this right now.").ServeHTTP(w, r)
}

func refusing(status int, say string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = reply(w, status, map[string]string{"error": say})
	})
}

func reply(w http.ResponseWriter, status int, body any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b) // an error means that nobody listens any more
	return nil
}

// decode reads a body of at most limit bytes that is one JSON value.
func decode(w http.ResponseWriter, r *http.Request, limit int64, into any) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return refuse(http.StatusUnsupportedMediaType, "The body must be application/json.")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return refuse(http.StatusRequestEntityTooLarge, "This is too long.")
	}
	if err != nil {
		return refuse(http.StatusBadRequest, "The body did not arrive whole.")
	}
	if json.Unmarshal(body, into) != nil {
		return refuse(http.StatusBadRequest, "The body is not the JSON that belongs here.")
	}
	return nil
}
