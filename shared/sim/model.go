package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/pause"
	"github.com/bobbin-agent/bobbin/shared/tool"
	"github.com/bobbin-agent/bobbin/shared/tool/ask"
)

// modelSeam is the model as one process sees it: the scripted one, reached over the gate.
type modelSeam struct {
	*process
	model.Model
}

// Stream sends one request.
func (s modelSeam) Stream(ctx context.Context, req model.Request, show func(model.Delta)) (model.Response, error) {
	at := locate(req.Messages)
	s.world.cover.count("model asked")
	var answer model.Response
	v := s.enter(ctx, think, at.String())
	if v.fate == dead {
		return answer, &model.Error{Provider: "sim", Kind: model.ErrorOther, Message: "the process has died"}
	}
	s.world.seen.asked(laneOf(ctx), at, req.Messages)
	answer, err := s.answer(ctx, v, req, show)
	if v.fate == killAfter {
		s.world.kill(s.process, v.pause)
	}
	s.world.seen.answered(at, err)
	return answer, err
}

func (s modelSeam) answer(ctx context.Context, v verdict, req model.Request, show func(model.Delta)) (model.Response, error) {
	switch v.fate {
	case refuse:
		return model.Response{}, &model.Error{
			Provider: "sim", Kind: model.ErrorTemporary, Status: 529, Message: "overloaded", RetryAfter: v.pause,
		}
	case forGood:
		return model.Response{}, &model.Error{Provider: "sim", Kind: model.ErrorOther, Status: 400, Message: "no such thing"}
	default:
	}
	return s.Model.Stream(ctx, req, show)
}

// point is where in a conversation a request stands: the owner's message it answers, and how many answers it has.
type point struct {
	letter string
	step   int
}

func (p point) String() string { return fmt.Sprintf("%s step %d", p.letter, p.step) }

func locate(messages []model.Message) point {
	p := point{}
	for _, m := range slices.Backward(messages) {
		if m.Role == model.Assistant {
			p.step++
			continue
		}
		for _, b := range slices.Backward(m.Blocks) {
			if name := nameIn(b.Text); name != "" {
				p.letter = name
				return p
			}
		}
	}
	return p
}

// tools are those of the model: one that acts, one that acts once the owner has confirmed it, and one that asks.
func (p *process) tools() []tool.Tool {
	return []tool.Tool{
		{Name: "act", Description: "Acts.", Schema: []byte(`{"type":"object"}`), Limit: 20 * time.Second, Run: p.act},
		{
			Name: "confirm", Description: "Acts.", Schema: []byte(`{"type":"object"}`), Run: p.confirmed,
			Confirm: func(c tool.Call) string { return "May I do " + purpose(c) + "?" },
		},
		ask.Tool(),
	}
}

// confirmed acts, and has the model say so.
func (p *process) confirmed(ctx context.Context, c tool.Call) (tool.Result, error) {
	p.world.seen.confirmed(c)
	r, err := p.act(ctx, c)
	if err == nil {
		r.Text = "say confirmed " + purpose(c) // which the model then obeys
	}
	return r, err
}

// purpose is what is to be confirmed.
func purpose(c tool.Call) string {
	var in struct {
		For string `json:"for"`
	}
	_ = json.Unmarshal(c.Arguments, &in) // without it, for nothing
	return in.For
}

// act notes what it does, takes as long as it is asked to, and fails when asked to.
func (p *process) act(ctx context.Context, c tool.Call) (tool.Result, error) {
	v := p.enter(ctx, act, c.Key)
	if v.fate == dead {
		return tool.Result{}, errors.New("the process has died")
	}
	p.world.seen.acted(laneOf(ctx), c)
	if v.fate == killAfter {
		p.world.kill(p, v.pause)
		return tool.Result{}, errors.New("the process has died")
	}
	if v.fate == forGood {
		return tool.Failure("It did not work."), nil
	}
	lasting, deaf := duration(c.Arguments)
	if deaf {
		pause.For(p.world.ctx, lasting) //nolint:contextcheck // it does not heed its own
		p.world.cover.count("deaf tool")
		return tool.Result{Text: "acted"}, nil
	}
	if !pause.For(ctx, lasting) {
		p.world.cover.count("tool interrupted")
		return tool.Result{}, ctx.Err()
	}
	return tool.Result{Text: "acted"}, nil
}
