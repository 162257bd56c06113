package server

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/bobbin-agent/bobbin/shared/channel/telegram"
	"github.com/bobbin-agent/bobbin/shared/channel/web"
	"github.com/bobbin-agent/bobbin/shared/channel/web/webstore"
)

// handler serves the page, the commands of this machine, and the webhook if there is one. The context is the server's.
func (s *Server) handler(ctx context.Context) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+pairPath, s.servePair)
	if t := s.settings.Telegram; t != nil && !s.settings.Poll {
		mux.Handle("POST /telegram", webhook(t.webhook(ctx, s.inbox, s.settings.Log), s.settings.Log))
	}
	mux.Handle("/", web.Handler(web.Site{
		Door:         s.inbox,
		Conversation: webstore.Conversation{Table: s.store.Table()},
		People:       webstore.People{Book: s.book},
		Live:         &s.hub,
		About:        s.settings.About,
		Local:        localPerson,
		Clearing:     true,
		Report: func(ctx context.Context, err error) {
			s.settings.Log.WarnContext(ctx, "serving the page", slog.Any("error", err))
		},
	}))
	return mux
}

func webhook(hook telegram.Webhook, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, telegram.MaxBodyBytes+1))
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		status, err := hook.Handle(r.Context(), time.Now(), r.Header.Get(telegram.SecretHeader), body)
		if err != nil {
			log.WarnContext(r.Context(), "answering a webhook", slog.Int("status", status), slog.Any("error", err))
		}
		w.WriteHeader(status)
	})
}
