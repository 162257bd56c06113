package e2e

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/model/scripted"
)

// mind is the model behind the vendor's server: the scripted one, with one more instruction. "hold NAME" keeps the
// request open until the test lets NAME go, and answers "held NAME", or as the lines after it say.
type mind struct {
	model.Model
	arrived bell

	mu       sync.Mutex
	requests []model.Request
	holds    map[string]chan struct{}
	open     map[string]int // requests under way, by the first word of a hold's name
	most     map[string]int // the most of them at once
}

func newMind() *mind {
	return &mind{
		Model: scripted.New(""), holds: map[string]chan struct{}{}, open: map[string]int{}, most: map[string]int{},
	}
}

// Stream is model.Model's.
func (m *mind) Stream(ctx context.Context, r model.Request, show func(model.Delta)) (model.Response, error) {
	name, hold := strings.CutPrefix(newest(r), "hold ")
	if !hold {
		m.arrive(r, "", 0)
		return m.Model.Stream(ctx, r, show)
	}
	name, _, more := strings.Cut(name, "\n")
	topic, _, _ := strings.Cut(name, " ")
	m.arrive(r, topic, 1)
	defer m.leave(topic)
	if more {
		return m.heldScript(ctx, name, r, show)
	}
	show(model.Delta{Kind: model.DeltaText, Text: "held "})
	select {
	case <-m.hold(name):
	case <-ctx.Done():
		return model.Response{}, ctx.Err()
	}
	show(model.Delta{Kind: model.DeltaText, Text: name})
	return model.Response{Blocks: []model.Block{{Text: "held " + name}}, Stop: model.StopEnd}, nil
}

// heldScript obeys the lines after a hold, once it is let go.
func (m *mind) heldScript(ctx context.Context, name string, r model.Request, show func(model.Delta)) (model.Response, error) {
	select {
	case <-m.hold(name):
		return m.Model.Stream(ctx, r, show)
	case <-ctx.Done():
		return model.Response{}, ctx.Err()
	}
}

func (m *mind) arrive(r model.Request, topic string, holding int) {
	m.mu.Lock()
	m.requests = append(m.requests, r)
	m.open[topic] += holding
	m.most[topic] = max(m.most[topic], m.open[topic])
	m.mu.Unlock()
	m.arrived.ring()
}

func (m *mind) leave(topic string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open[topic]--
}

func (m *mind) hold(name string) chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.holds[name] == nil {
		m.holds[name] = make(chan struct{})
	}
	return m.holds[name]
}

// release lets a hold go, and all later ones of its name.
func (m *mind) release(name string) { close(m.hold(name)) }

// atOnce is the most requests with "hold TOPIC …" that were under way at the same time.
func (m *mind) atOnce(topic string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.most[topic]
}

// holding is how many requests with "hold TOPIC …" are under way.
func (m *mind) holding(topic string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.open[topic]
}

// asked are the requests so far in which the owner's newest words are text.
func (m *mind) asked(text string) []model.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(m.requests), func(r model.Request) bool { return newest(r) != text })
}

// wait returns the last request of n with the owner's newest words, once it has come.
func (m *mind) wait(ctx context.Context, t testing.TB, text string, n int) model.Request {
	t.Helper()
	for {
		arrived := m.arrived.wait()
		if got := m.asked(text); len(got) >= n {
			return got[n-1]
		}
		select {
		case <-arrived:
		case <-ctx.Done():
			t.Fatalf("waiting for model request %d about %q, after %d: %v", n, text, len(m.asked(text)), ctx.Err())
		}
	}
}

// newest are the owner's newest words: the last text of the last message with one.
func newest(r model.Request) string {
	for _, message := range slices.Backward(r.Messages) {
		for _, b := range slices.Backward(message.Blocks) {
			if message.Role == model.User && b.Text != "" {
				return b.Text
			}
		}
	}
	return ""
}

// heard are all texts that the model was given as the user's, circumstances and notes in brackets left out.
func heard(r model.Request) (texts []string) {
	for _, message := range r.Messages {
		for _, b := range message.Blocks {
			if message.Role == model.User && b.Text != "" && !aside(b.Text) {
				texts = append(texts, b.Text)
			}
		}
	}
	return texts
}

// aside reports whether a text tells circumstances, such as "[Mon 2026-11-30 12:00 UTC, via telegram]".
func aside(text string) bool {
	return strings.HasPrefix(text, "[") && strings.HasSuffix(text, " via telegram]")
}
