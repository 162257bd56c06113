package live

import (
	"slices"
	"sync"

	"github.com/bobbin-agent/bobbin/shared/id"
)

const (
	// buffer is how many events a subscriber may be behind before it is told to resync.
	buffer = 64
	// maxReplay bounds the bytes kept of one running reply; of a longer one the beginning is forgotten.
	maxReplay = 1 << 20
)

// Hub passes events from publishers to subscribers within this process. The zero Hub is ready to use; all methods are
// safe for concurrent use, and none waits for a subscriber.
type Hub struct {
	mu     sync.Mutex
	rooms  map[id.Thread]*room
	closed bool
}

// Publish tells all subscribers of the thread. It also keeps the text of running turns until they end, so that someone
// who comes in the middle of a reply sees it whole.
func (h *Hub) Publish(thread id.Thread, e Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	r := h.room(thread)
	r.note(e)
	for s := range r.subscribers {
		r.send(s, e)
	}
	h.sweep(thread, r)
}

// Subscribe returns the thread's events from now on, beginning with a Restart of each running turn. The channel is
// closed by cancel, which may be called again, and by Close.
func (h *Hub) Subscribe(thread id.Thread) (events <-chan Event, cancel func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := make(subscriber, buffer)
	if h.closed {
		close(s)
		return s, func() {}
	}
	r := h.room(thread)
	r.subscribers[s] = struct{}{}
	r.replay(s)
	return s, func() { h.leave(thread, s) }
}

// Close ends all subscriptions, and those to come: a server that shuts down calls it so that no stream holds it back.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.rooms {
		for s := range r.subscribers {
			close(s)
		}
	}
	h.rooms, h.closed = nil, true
}

func (h *Hub) leave(thread id.Thread, s subscriber) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.rooms[thread]
	if r == nil {
		return
	}
	if _, in := r.subscribers[s]; !in {
		return
	}
	delete(r.subscribers, s)
	close(s)
	h.sweep(thread, r)
}

func (h *Hub) room(thread id.Thread) *room {
	if h.rooms == nil {
		h.rooms = map[id.Thread]*room{}
	}
	r := h.rooms[thread]
	if r == nil {
		r = &room{subscribers: map[subscriber]struct{}{}}
		h.rooms[thread] = r
	}
	return r
}

// sweep forgets a room where nothing runs and nobody listens, so that the hub is as small as what goes on.
func (h *Hub) sweep(thread id.Thread, r *room) {
	if len(r.subscribers) == 0 && len(r.replies) == 0 {
		delete(h.rooms, thread)
	}
}

type subscriber chan Event

// room is what the hub knows of one thread.
type room struct {
	subscribers map[subscriber]struct{}
	replies     []reply // of the running turns, oldest first; rarely more than two
}

type reply struct {
	turn id.Turn
	text []byte
}

func (r *room) note(e Event) {
	switch e.Kind {
	case Text:
		r.reply(e.Turn).add(e.Text)
	case Restart:
		p := r.reply(e.Turn)
		p.text = nil
		p.add(e.Text)
	case Turned:
		r.turned(e)
	case Stored, Resync:
	}
}

func (r *room) turned(e Event) {
	switch e.Status {
	case Running:
		r.reply(e.Turn)
	case Ended:
		r.replies = slices.DeleteFunc(r.replies, func(p reply) bool { return p.turn == e.Turn })
	case Queued:
	}
}

func (r *room) reply(turn id.Turn) *reply {
	i := slices.IndexFunc(r.replies, func(p reply) bool { return p.turn == turn })
	if i < 0 {
		i = len(r.replies)
		r.replies = append(r.replies, reply{turn: turn})
	}
	return &r.replies[i]
}

func (p *reply) add(text string) {
	p.text = append(p.text, text...)
	if over := len(p.text) - maxReplay; over > 0 {
		p.text = slices.Clone(p.text[over+maxReplay/2:]) // half, so that this happens seldom
	}
}

// send gives s the event, or, when s is full, empties it and starts it anew. Only the holder of the hub's lock sends,
// so there is room after emptying, whatever the reader does meanwhile.
func (r *room) send(s subscriber, e Event) {
	select {
	case s <- e:
		return
	default:
	}
	for len(s) > 0 {
		select {
		case <-s:
		default:
		}
	}
	s <- Event{Kind: Resync}
	r.replay(s)
}

// replay tells s of the running turns; of more than fit, of the oldest.
func (r *room) replay(s subscriber) {
	for _, p := range r.replies {
		if len(s) == cap(s) {
			return
		}
		s <- Event{Kind: Restart, Turn: p.turn, Text: string(p.text)}
	}
}
