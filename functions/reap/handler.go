package main

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/bobbin-agent/bobbin/shared/reaper"
)

// handler sweeps, and goes on for its minute while turns run.
type handler struct {
	reaper *reaper.Reaper
	log    *slog.Logger
}

// handle takes whatever the schedule sends; that it comes is all it says. It returns the last sweep's error, so that an
// alarm on the function's errors sees it.
func (h handler) handle(ctx context.Context, _ json.RawMessage) error {
	var last error
	h.reaper.Watch(ctx, func(r reaper.Report, err error) {
		last = err
		if r.Idle() && err == nil {
			return
		}
		h.log.LogAttrs(ctx, slog.LevelInfo, "brought back", append(r.Attrs(), slog.Any("error", err))...)
	})
	return last
}
