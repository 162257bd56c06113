package telegramtest

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"
)

const (
	hookTimeout    = 60 * time.Second // of the clock: a webhook runs in real time
	maxConnections = 40
	maxSecret      = 256
	longestRetry   = 60 // seconds of the protocol
	longestAsked   = 3600
)

// hook is a webhook that was set.
type hook struct {
	url    string
	secret string
	slots  chan struct{} // as many deliveries run at once as it holds
}

// Attempt is one delivery to the webhook.
type Attempt struct {
	Update int64 // its ID
	Status int   // the answer's; 0 when there was none
}

func hookClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{MaxIdleConnsPerHost: 2 * maxConnections},
		Timeout:       hookTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

var secretShape = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)

func (s *Server) setWebhook(p params) (any, error) {
	address, secret := value[string](p, "url"), value[string](p, "secret_token")
	drop := value[bool](p, "drop_pending_updates")
	if address == "" {
		s.setHook(nil, drop)
		return true, nil
	}
	if u, err := url.Parse(address); err != nil || u.Host == "" {
		return nil, &refusal{code: 400, description: "Bad Request: bad webhook: invalid webhook URL specified"}
	}
	if len(secret) > maxSecret || !secretShape.MatchString(secret) {
		return nil, &refusal{code: 400, description: "Bad Request: secret token contains unallowed characters"}
	}
	if allowed, ok := p["allowed_updates"]; ok {
		s.mu.Lock()
		s.allow(allowed)
		s.mu.Unlock()
	}
	connections := value[int](p, "max_connections")
	if connections < 1 || connections > 100 {
		connections = maxConnections
	}
	s.setHook(&hook{url: address, secret: secret, slots: make(chan struct{}, connections)}, drop)
	return true, nil
}

// SetWebhook has updates sent to an address, without a call of the bot's.
func (s *Server) SetWebhook(address, secret string) {
	s.setHook(&hook{url: address, secret: secret, slots: make(chan struct{}, maxConnections)}, false)
}

// setHook changes the webhook; nil deletes it. A poll under way ends with 409.
func (s *Server) setHook(h *hook, drop bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if drop {
		s.acknowledge(func(*update) bool { return true })
	}
	s.hook = h
	if h == nil {
		return
	}
	s.poll++
	s.arrived.ring()
	for _, l := range s.lanes {
		s.deliver(l)
	}
}

// deliver starts the loop of a lane, if there is anything to do and none at work.
func (s *Server) deliver(l *lane) {
	if s.hook == nil || l.running || len(l.queue) == 0 || s.isStopped() {
		return
	}
	l.running = true
	s.work.Go(func() { s.drain(l) })
}

// drain delivers a lane's updates, each until it is acknowledged, as long as there is a webhook.
func (s *Server) drain(l *lane) {
	for tries := 0; ; tries++ {
		u, h := s.head(l)
		if u == nil {
			return
		}
		status, asked := s.post(h, u)
		if status == 0 && s.isStopped() {
			return
		}
		s.settle(l, u, status)
		if status >= 200 && status < 300 {
			tries = -1
			continue
		}
		if !s.rest(retryAfter(tries, asked)) {
			return
		}
	}
}

// head is the update that is next, and where to; nil when the loop is done.
func (s *Server) head(l *lane) (*update, *hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hook == nil || len(l.queue) == 0 || s.isStopped() {
		l.running = false
		return nil, nil
	}
	return l.queue[0], s.hook
}

// settle records an attempt, and acknowledges the update if it was taken.
func (s *Server) settle(l *lane, u *update, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts = append(s.attempts, Attempt{Update: u.id, Status: status})
	s.happened.ring()
	if status < 200 || status >= 300 || u.done {
		return
	}
	u.done = true
	l.queue = l.queue[1:]
	s.remove(u)
	u.chat.changed.ring()
}

// remove drops one update from the list of all. It is near the front: older ones went before it.
func (s *Server) remove(u *update) {
	for i, other := range s.updates {
		if other == u {
			s.updates = append(s.updates[:i], s.updates[i+1:]...)
			return
		}
	}
}

// post makes one call. asked is the wait that the webhook asked for, in seconds.
func (s *Server) post(h *hook, u *update) (status, asked int) {
	select {
	case h.slots <- struct{}{}:
	case <-s.stopped:
		return 0, 0
	}
	defer func() { <-h.slots }()
	req, err := http.NewRequestWithContext(s.life(), http.MethodPost, h.url, bytes.NewReader(u.body))
	if err != nil {
		return 0, 0
	}
	req.Header.Set("Content-Type", "application/json")
	if h.secret != "" {
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", h.secret)
	}
	resp, err := s.hooks.Do(req)
	if err != nil {
		return 0, 0
	}
	drained(resp)
	asked, err = strconv.Atoi(resp.Header.Get("Retry-After"))
	if err != nil {
		asked = 0
	}
	return resp.StatusCode, asked
}

// retryAfter is how many seconds to wait after so many failed tries before: none at first, then 2, 4, 8 up to 60, or
// what the webhook asked for.
func retryAfter(tries, asked int) int {
	switch {
	case asked > 0:
		return min(asked, longestAsked)
	case tries == 0:
		return 0
	}
	return min(1<<min(tries, 6), longestRetry)
}

// rest waits for seconds of the protocol; false when the server ends meanwhile.
func (s *Server) rest(seconds int) bool {
	timer := time.NewTimer(time.Duration(seconds) * s.options.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.stopped:
		return false
	}
}

func (s *Server) isStopped() bool {
	select {
	case <-s.stopped:
		return true
	default:
		return false
	}
}

// drained reads an answer to its end, so that its connection can be used again.
func drained(resp *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, maxRequestBytes))
	_ = resp.Body.Close()
}
