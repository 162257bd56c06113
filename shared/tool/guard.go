package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/wait"
)

// Guard is the one path to the tools of a turn. The calls of a step are saved in a fenced write before they come here
// and their results in one after, so what a superseded turn asks for does not begin, and what it brings reaches nobody.
// It makes one step at a time.
type Guard struct {
	Tools []Tool
	Turn  id.Turn
	Alive *Lingering // counts the tools that run, if set

	asked *wait.Ask
}

// Run makes the calls of one step, side by side, and returns their results in the order of the calls. It returns when
// all have answered or run out of time; an error means that the context ended, which ends Run at once, or that the
// machinery broke. The step is the number of the turn's model requests that were answered before the one that asks for
// these calls, over all its invocations: with the turn and a call's place it makes the key of the call.
func (g *Guard) Run(ctx context.Context, step int, calls []model.ToolCall) ([]model.ToolResult, error) {
	g.asked = nil
	results := make([]Result, len(calls))
	errs := make([]error, len(calls))
	var group sync.WaitGroup
	for i, c := range calls {
		group.Go(func() { results[i], errs[i] = g.call(ctx, step, i, c) })
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	g.asked = first(results)
	out := make([]model.ToolResult, len(calls))
	for i, r := range results {
		out[i] = model.ToolResult{CallID: calls[i].ID, Text: r.Text, IsError: r.Failed}
	}
	return out, nil
}

// Asked is what the last step that Run made asks the owner; nil if nothing. The turn ends with it.
func (g *Guard) Asked() *wait.Ask { return g.asked }

// Perform makes an action that the owner has confirmed, as it was stored, within the limit of its tool. Errors are as
// those of Run.
func (g *Guard) Perform(ctx context.Context, a wait.Action) (Result, error) {
	t, ok := g.find(a.Tool)
	if !ok {
		return g.unknown(a.Tool), nil
	}
	t.Confirm = nil // it has been
	return g.run(ctx, t, Call{Key: a.Key, Turn: g.Turn, Arguments: a.Arguments})
}

// Limit is how long a call of the tool may take; 0 if there is no such tool.
func (g *Guard) Limit(name string) time.Duration {
	t, ok := g.find(name)
	if !ok {
		return 0
	}
	return cmp.Or(t.Limit, DefaultLimit)
}

// first finds what a step asks the owner. Calls that ask as well have not done anything yet and are told so: the owner
// is asked one thing at a time.
func first(results []Result) *wait.Ask {
	var ask *wait.Ask
	for i, r := range results {
		switch {
		case r.Ask == nil:
		case ask == nil:
			ask = r.Ask
		default:
			results[i] = Failure("Not started: one thing at a time. The owner is asked something else first; " +
				"ask again later if it is still needed.")
		}
	}
	return ask
}

func (g *Guard) call(ctx context.Context, step, place int, c model.ToolCall) (Result, error) {
	t, ok := g.find(c.Name)
	if !ok {
		return g.unknown(c.Name), nil
	}
	var arguments map[string]json.RawMessage
	if err := json.Unmarshal(c.Arguments, &arguments); err != nil {
		return Failure("The arguments are not a JSON object: " + err.Error()), nil //nolint:nilerr // for the model
	}
	if bad, ok := arguments["_invalid"]; ok && len(arguments) == 1 {
		return Failure("The arguments are not valid JSON: " + string(bad)), nil
	}
	key := id.From("action", string(g.Turn), strconv.Itoa(step), strconv.Itoa(place))
	return g.run(ctx, t, Call{Key: key, Turn: g.Turn, Arguments: c.Arguments})
}

type answer struct {
	Result

	err error
}

// run makes one call within its limit, unless the turn has ended. A tool that does not return when its time is up, or
// the turn over, keeps its goroutine, and its result goes nowhere.
func (g *Guard) run(turn context.Context, t Tool, c Call) (Result, error) {
	if err := context.Cause(turn); err != nil {
		return Result{}, err
	}
	limit := cmp.Or(t.Limit, DefaultLimit)
	ctx, cancel := context.WithTimeout(turn, limit)
	defer cancel()
	answered := make(chan answer, 1)
	g.Alive.begin()
	go func() { answered <- g.attempt(ctx, t, c) }()
	var a answer
	select {
	case a = <-answered:
	case <-ctx.Done():
		a.err = ctx.Err()
	}
	if err := context.Cause(turn); err != nil {
		return Result{}, err
	}
	if a.err != nil && ctx.Err() != nil {
		return timedOut(limit), nil
	}
	return a.Result, a.err
}

// attempt asks for the owner's confirmation where one is needed, and makes the call where none is.
func (g *Guard) attempt(ctx context.Context, t Tool, c Call) (a answer) {
	defer g.Alive.end()
	defer func() {
		if p := recover(); p != nil {
			a = answer{Result: Failure(fmt.Sprintf("The tool broke: %v", p))}
		}
	}()
	if t.Confirm != nil {
		if text := t.Confirm(c); text != "" {
			return answer{Result: confirmation(text, t, c)}
		}
	}
	r, err := t.Run(ctx, c)
	return answer{r, err}
}

func confirmation(text string, t Tool, c Call) Result {
	return Result{
		Text: "Not started: the owner has been asked to confirm it. If they do, it is done exactly as you asked for it " +
			"and you get its result; do not ask for it again.",
		Ask: &wait.Ask{
			Kind: wait.Confirmation, Text: text,
			Action: &wait.Action{Key: c.Key, Tool: t.Name, Arguments: c.Arguments},
		},
	}
}

func timedOut(limit time.Duration) Result {
	return Failure(fmt.Sprintf("The tool did not answer within %s. Its outcome is unknown; check before doing it again.", limit))
}

func (g *Guard) find(name string) (Tool, bool) {
	for _, t := range g.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}

func (g *Guard) unknown(name string) Result {
	return Failure(fmt.Sprintf("There is no tool %q. The tools are: %s.", name, g.names()))
}

func (g *Guard) names() string {
	names := make([]string, len(g.Tools))
	for i, t := range g.Tools {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}
