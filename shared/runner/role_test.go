package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/prompt"
	"github.com/bobbin-agent/bobbin/shared/tool"
	"github.com/bobbin-agent/bobbin/shared/tool/ask"
	"github.com/bobbin-agent/bobbin/shared/turn"
)

// Render makes a part of each line.
func (w *worker) Render(text string) (parts []channel.Part) {
	if text == turn.InterruptedNotice {
		return []channel.Part{{Plain: text}}
	}
	for line := range strings.SplitSeq(text, "\n") {
		parts = append(parts, channel.Part{Plain: line})
	}
	return parts
}

// Send lets the part arrive, then answers.
func (w *worker) Send(ctx context.Context, to channel.Route, part channel.Part) (string, error) {
	if w.dead.Load() {
		return "", fault.As(fault.Unknown, errors.New("dead"))
	}
	where := ""
	if to.Conversation != "7" {
		where = " in chat " + to.Conversation
	}
	w.stage.note("the owner hears%s from %s: %s", where, w.name, short(part.Plain))
	id := w.stage.arrive(to)
	if !w.pass(ctx, "answers") {
		return "", fault.As(fault.Unknown, errors.New("no answer"))
	}
	return id, nil
}

// arrive gives a part that has arrived its ID.
func (s *stage) arrive(to channel.Route) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, to)
	return fmt.Sprint("m", len(s.heard))
}

// Info is the model's.
func (w *worker) Info() model.Info { return model.Info{Provider: "story"} }

// Stream waits until the story says what the model answers.
func (w *worker) Stream(ctx context.Context, req model.Request, _ func(model.Delta)) (model.Response, error) {
	last := req.Messages[len(req.Messages)-1]
	w.stage.note("%s: asks its model: %s", w.name, heard(last))
	select {
	case <-ctx.Done():
		return model.Response{}, context.Cause(ctx)
	case s := <-w.model:
		return s.response, s.err
	}
}

// heard is what a message says beside its circumstances.
func heard(m model.Message) string {
	var all []string
	for _, b := range m.Blocks {
		said := brief(b.Text)
		if b.Result != nil {
			said = "result: " + brief(b.Result.Text)
		}
		if said != "" {
			all = append(all, said)
		}
	}
	return strings.Join(all, " | ")
}

// briefs is what texts of the engine are called in stories, by how they begin.
var briefs = []struct{ begins, brief string }{
	{"[Your previous turn failed", "(the turn before failed)"},
	{prompt.Stopped, "(the turn before was stopped)"},
	{"[The owner confirmed", "(confirmed)"},
	{"[The owner declined", "(declined)"},
	{"Not started: the owner has been asked to confirm it.", "(is to be confirmed)"},
	{"The owner has been asked", "(has been asked)"},
	{"[", ""}, // circumstances
}

func brief(text string) string {
	for _, b := range briefs {
		if strings.HasPrefix(text, b.begins) {
			return b.brief
		}
	}
	return text
}

// said is what a story lets a model answer.
type said struct {
	response model.Response
	err      error
}

// text is an answer that ends the turn; a line of it ends at each /.
func text(s string) said {
	return said{response: model.Response{Blocks: []model.Block{{Text: strings.ReplaceAll(s, "/", "\n")}}, Stop: model.StopEnd}}
}

// broken is an error of the provider.
func broken(s string) said {
	return said{err: &model.Error{Provider: "story", Kind: model.ErrorTemporary, Message: s}}
}

// call asks for a tool; what else is said is its argument, or beside it.
func call(tool, what string) said {
	key := map[string]string{"pay": "amount", "ask_user": "question"}[tool]
	c := &model.ToolCall{ID: "1", Name: tool, Arguments: json.RawMessage(`{}`)}
	r := model.Response{Stop: model.StopTools}
	switch {
	case key != "":
		c.Arguments, _ = json.Marshal(map[string]string{key: what}) // strings always encode
	case what != "":
		r.Blocks = append(r.Blocks, model.Block{Text: what})
	}
	r.Blocks = append(r.Blocks, model.Block{Call: c})
	return said{response: r}
}

// tools are what a model can call.
func (w *worker) tools() []tool.Tool {
	return []tool.Tool{
		{Name: "hang", Limit: time.Hour, Run: w.hang},
		{Name: "stuck", Limit: time.Hour, Run: func(ctx context.Context, c tool.Call) (tool.Result, error) {
			return w.hang(context.WithoutCancel(ctx), c)
		}},
		{Name: "quick", Limit: time.Second, Run: func(context.Context, tool.Call) (tool.Result, error) {
			w.stage.note("%s: uses its quick tool", w.name)
			return tool.Result{Text: "used"}, nil
		}},
		ask.Tool(),
		{Name: "pay", Limit: time.Hour, Confirm: func(c tool.Call) string { return "Pay " + amount(c) + "?" }, Run: w.pay},
	}
}

// hang is the tool that notes that it begins, and waits.
func (w *worker) hang(ctx context.Context, _ tool.Call) (tool.Result, error) {
	w.stage.note("%s: begins to use its tool", w.name)
	return w.finished(ctx, "used")
}

// pay is the tool that has to be confirmed.
func (w *worker) pay(ctx context.Context, c tool.Call) (tool.Result, error) {
	w.stage.note("%s: begins to pay %s", w.name, amount(c))
	return w.finished(ctx, "paid")
}

func amount(c tool.Call) string {
	var in struct {
		Amount string `json:"amount"`
	}
	if err := json.Unmarshal(c.Arguments, &in); err != nil {
		return err.Error()
	}
	return in.Amount
}

func (w *worker) finished(ctx context.Context, result string) (tool.Result, error) {
	select {
	case <-w.tool:
		return tool.Result{Text: result}, nil
	case <-ctx.Done():
		return tool.Result{}, context.Cause(ctx)
	case <-w.ctx.Done(): // the process ends with all its tools
		return tool.Result{}, context.Canceled
	}
}
