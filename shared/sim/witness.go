package sim

import (
	"fmt"
	"slices"
	"sync"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/model"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/tool"
)

// witness sees what reaches the world outside: the model, the tools, the owner.
type witness struct {
	world *world
	mu    sync.Mutex

	requests   map[point]int     // made
	failures   map[point]int     // of those, answered with a temporary error
	runs       map[string]string // the lane that asked the model about a letter
	actions    map[string]int    // by key
	deliveries []delivery
	refusals   int
	permits    map[string]table.Page // with SecondLook: as a lane saw them first
}

func (s *witness) start(w *world) {
	s.world = w
	s.requests, s.failures = map[point]int{}, map[point]int{}
	s.permits = map[string]table.Page{}
	s.runs, s.actions = map[string]string{}, map[string]int{}
}

// asked notes a request of the model, which no provider may refuse, and of which there is one for each step.
func (s *witness) asked(lane string, at point, messages []model.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if earlier, ok := s.runs[at.letter]; ok && earlier != lane && !s.world.handed(at.letter) {
		s.world.violate("%s had asked the model about %s, and %s did again", earlier, at.letter, lane)
	}
	s.runs[at.letter] = lane
	if s.requests[at] > s.failures[at] {
		s.world.violate("the model was asked twice at %v", at)
	}
	s.requests[at]++
	if err := wellFormed(messages); err != nil {
		s.world.violate("the request at %v would be refused: %v", at, err)
	}
}

func (s *witness) answered(at point, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := err.(*model.Error); ok && e.Kind == model.ErrorTemporary { //nolint:errorlint // as the provider returned it
		s.failures[at]++
	}
}

// acted notes an action of the tool, of which there is one for each key.
func (s *witness) acted(lane string, c tool.Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.actions[c.Key]++
	if n := s.actions[c.Key]; n > 1 {
		s.world.violate("action %s of turn %s was done %d times, by %s last", c.Key, c.Turn, n, lane)
	}
}

// confirmed checks that what was to be confirmed has been, and that this is the turn which goes on from that.
func (s *witness) confirmed(c tool.Call) {
	yes := slices.ContainsFunc(s.world.letters, func(l *letter) bool {
		return l.kind == reply && l.yes && l.turn() == c.Turn
	})
	if !yes {
		s.world.violate("action %s was done by turn %s, and nobody had confirmed it", c.Key, c.Turn)
	}
	s.world.cover.count("confirmed action")
}

// received notes what the owner got, and gives it the channel's ID.
func (s *witness) received(lane string, to channel.Route, part channel.Part) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := delivery{
		lane: lane, conversation: to.Key(), chat: to.Conversation, letter: to.ReplyTo, replyTo: to.ReplyTo, text: part.Plain, at: s.world.elapsed(),
		doubt: isDoubt(part.Plain),
	}
	if to.ReplyTo == "" && !d.doubt { // the first part of a reply names what it answers; the others do in their text
		if d.letter = nameIn(part.Plain); d.letter == "" { // of a notice
			d.letter = s.previous(d.conversation)
		}
		s.attribute(d)
	}
	s.deliveries = append(s.deliveries, d)
	external := externalID(len(s.deliveries))
	s.world.respond(d, external)
	return external
}

// previous is the letter that was answered last in a conversation.
func (s *witness) previous(conversation string) string {
	for _, d := range slices.Backward(s.deliveries) {
		if d.conversation == conversation && d.letter != "" {
			return d.letter
		}
	}
	return ""
}

// attribute finds out whose the line of doubt is that the lane sent last: that of the part which follows.
func (s *witness) attribute(d delivery) {
	for i := len(s.deliveries) - 1; i >= 0; i-- {
		if e := &s.deliveries[i]; e.lane == d.lane {
			if e.doubt && e.letter == "" {
				e.letter = d.letter
			}
			return
		}
	}
}

// wellFormed reports why a provider would refuse the messages: they alternate, beginning with the user, none is empty,
// and every call is answered exactly once in the message after it.
func wellFormed(messages []model.Message) error {
	open := map[string]bool{}
	for i, m := range messages {
		if want := [...]model.Role{model.User, model.Assistant}[i%2]; m.Role != want {
			return fmt.Errorf("message %d is the %s's", i, m.Role)
		}
		if len(m.Blocks) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		if err := answeredAll(open, m); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	if n := len(messages); n == 0 || messages[n-1].Role != model.User {
		return fmt.Errorf("%d messages do not end with the user's", n)
	}
	return nil
}

// answeredAll checks the results of a message against the open calls, and leaves the calls of it open.
func answeredAll(open map[string]bool, m model.Message) error {
	for _, b := range m.Blocks {
		if b.Result == nil {
			continue
		}
		if !open[b.Result.CallID] {
			return fmt.Errorf("result of %s, which was not called or has been answered", b.Result.CallID)
		}
		delete(open, b.Result.CallID)
	}
	for id := range open {
		return fmt.Errorf("call %s is not answered", id)
	}
	for _, b := range m.Blocks {
		if b.Call != nil {
			open[b.Call.ID] = true
		}
	}
	return nil
}
