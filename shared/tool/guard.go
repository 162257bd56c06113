package tool

import (
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
)

// Guard is the one path to the tools of a turn. The calls of a step are saved in a fenced write before they come here
// and their results in one after, so what a superseded turn asks for does not begin, and what it brings reaches nobody.
type Guard struct {
	Tools []Tool
	Turn  id.Turn
}

// Run makes the calls of one step, side by side, and returns their results in the order of the calls. It returns when
// all have answered or run out of time; an error means that the context ended or the machinery broke.
func (g *Guard) Run(ctx context.Context, step int, calls []model.ToolCall) ([]model.ToolResult, error) {
	results := make([]model.ToolResult, len(calls))
	errs := make([]error, len(calls))
	var group sync.WaitGroup
	for i, c := range calls {
		group.Go(func() {
			var r Result
			r, errs[i] = g.call(ctx, step, i, c)
			results[i] = model.ToolResult{CallID: c.ID, Text: r.Text, IsError: r.Failed}
		})
	}
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return results, errors.Join(errs...)
}

func (g *Guard) call(ctx context.Context, step, place int, c model.ToolCall) (Result, error) {
	t, ok := g.find(c.Name)
	if !ok {
		return Failure(fmt.Sprintf("There is no tool %q. The tools are: %s.", c.Name, g.names())), nil
	}
	var arguments map[string]json.RawMessage
	if err := json.Unmarshal(c.Arguments, &arguments); err != nil {
		return Failure("The arguments are not a JSON object: " + err.Error()), nil //nolint:nilerr // for the model
	}
	if bad, ok := arguments["_invalid"]; ok && len(arguments) == 1 {
		return Failure("The arguments are not valid JSON: " + string(bad)), nil
	}
	key := id.From("action", string(g.Turn), strconv.Itoa(step), strconv.Itoa(place))
	return run(ctx, t, Call{Key: key, Turn: g.Turn, Arguments: c.Arguments})
}

// run makes one call within its limit. A tool that does not return when its time is up keeps its goroutine, and its
// result goes nowhere.
func run(ctx context.Context, t Tool, c Call) (Result, error) {
	limit := t.Limit
	if limit == 0 {
		limit = DefaultLimit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type answer struct {
		Result
		err error
	}
	answered := make(chan answer, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				answered <- answer{Result: Failure(fmt.Sprintf("The tool broke: %v", p))}
			}
		}()
		r, err := t.Run(ctx, c)
		answered <- answer{r, err}
	}()
	select {
	case a := <-answered:
		if a.err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return timedOut(limit), nil
		}
		return a.Result, a.err
	case <-ctx.Done():
		return timedOut(limit), nil
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

func (g *Guard) names() string {
	names := make([]string, len(g.Tools))
	for i, t := range g.Tools {
		names[i] = t.Name
	}
	return strings.Join(names, ", ")
}
