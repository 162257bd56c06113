package capacity_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/capacity"
	"github.com/bobbin-agent/bobbin/shared/id"
)

var noon = time.UnixMicro(1_900_000_000_000_000).UTC()

// state writes a state in short: slots as number and session, "0a 2b"; waiters as kind, o for the owner's and b for the
// background, and session, "oc bd".
func state(permits int, slots, waiters string) capacity.State {
	s := capacity.State{Permits: permits}
	for word := range strings.FieldsSeq(slots) {
		session := strings.TrimLeft(word, "0123456789")
		number, _ := strconv.Atoi(strings.TrimSuffix(word, session))
		s.Slots = append(s.Slots, capacity.Slot{
			Number: number, Turn: id.Turn("turn of " + session), Session: id.Session(session), Epoch: 1,
		})
	}
	for i, word := range strings.Fields(waiters) {
		w := waiter(word)
		w.Since = noon.Add(time.Duration(i) * time.Second)
		s.Waiters = append(s.Waiters, w)
	}
	return s
}

func waiter(word string) capacity.Waiter {
	return capacity.Waiter{
		Since: noon.Add(time.Hour), Turn: id.Turn("turn of " + word[1:]), Session: id.Session(word[1:]), Thread: "thread",
		Background: word[0] == 'b',
	}
}

// crowd is n owner-started waiters of different sessions.
func crowd(n int) string {
	var words []string
	for i := range n {
		words = append(words, "o#"+strconv.Itoa(i))
	}
	return strings.Join(words, " ")
}

func granted(slot, spare int) capacity.Answer {
	return capacity.Answer{Verdict: capacity.Granted, Slot: slot, Spare: spare}
}

var (
	wait = capacity.Answer{Verdict: capacity.Wait, Slot: -1, Spare: -1}
	full = capacity.Answer{Verdict: capacity.Full, Slot: -1, Spare: -1}
)

func TestAskAnswersByPermitAndPlace(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		state capacity.State
		me    string
		want  capacity.Answer
	}{
		"nobody is there":                       {state(1, "", ""), "om", granted(0, -1)},
		"the lowest free number":                {state(3, "0a 2b", ""), "om", granted(1, -1)},
		"all are in use":                        {state(2, "0a 1b", ""), "om", wait},
		"the second in line takes the second":   {state(3, "", "oa"), "om", granted(1, -1)},
		"the one ahead takes what is left":      {state(3, "0a 2b", "oc"), "om", wait},
		"already first in line":                 {state(3, "0a 2b", "om oc"), "om", granted(1, -1)},
		"already second in line":                {state(3, "0a 2b", "oc om"), "om", wait},
		"background leaves one":                 {state(3, "0a", ""), "bm", granted(1, 2)},
		"background never takes the last":       {state(3, "0a 1b", ""), "bm", wait},
		"background counts from its place":      {state(3, "0a", "oc"), "bm", wait},
		"background spares the last slot":       {state(4, "", "oc"), "bm", granted(1, 3)},
		"waiting background lets an owner pass": {state(3, "0a 1b", "bc bd"), "om", granted(2, -1)},
		"background that may start goes first":  {state(3, "0a", "bc"), "om", granted(2, -1)},
		"background that may start leaves one":  {state(3, "0a", "bc od"), "om", wait},
		"background behind background":          {state(3, "", "bc"), "bm", granted(1, 2)},
		"one ahead whose session runs":          {state(3, "0a 1b", "oa ob"), "om", granted(2, -1)},
		"my own session runs":                   {state(3, "0m", "om"), "om", wait},
		"an earlier turn of mine has my place":  {state(2, "0a", "om oc"), "om", granted(1, -1)},
		"two ahead of one session count once":   {state(2, "", "oc oc"), "om", granted(1, -1)},
		"fewer permits than before":             {state(2, "3a 4b 5c", ""), "om", wait},
		"below fewer permits than before":       {state(2, "7a", ""), "om", granted(0, -1)},
		"old slots count against the spare one": {state(2, "7a", ""), "bm", wait},
		"no permits":                            {state(0, "", ""), "om", wait},
		"one permit, for the background":        {state(1, "", ""), "bm", granted(0, -1)},
		"one permit, an owner's turn ahead":     {state(1, "", "oa"), "bm", wait},
		"one permit, an owner's turn behind":    {state(1, "", "bm oa"), "bm", wait},
		"one permit, background ahead":          {state(1, "", "ba"), "bm", wait},
		"one permit, owner behind background":   {state(1, "", "ba"), "om", granted(0, -1)},
		"the last who may wait":                 {state(1, "0a", crowd(31)), "om", wait},
		"one too many":                          {state(1, "0a", crowd(32)), "om", full},
		"one too many of the background":        {state(1, "0a", crowd(32)), "bm", full},
		"those whose session runs do not count": {state(1, "0a", crowd(31)+" oa oa"), "om", wait},
		"a session is counted once":             {state(1, "0a", crowd(31)+" o#0 o#1"), "om", wait},
		"already waiting in a full line":        {state(1, "0a", crowd(32)+" om"), "om", wait},
		"my session runs and the line is full":  {state(1, "0m", crowd(32)), "om", wait},
		"a full line that moves":                {state(40, "", crowd(32)), "om", granted(32, -1)},
		"past a full line of the background":    {state(2, "0a", strings.ReplaceAll(crowd(32), "o", "b")), "om", granted(1, -1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, tc.state.Ask(waiter(tc.me))); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

func TestNextIsWhoMayStartInOrder(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		state capacity.State
		want  string // the sessions
	}{
		"nobody waits":                     {state(3, "0a", ""), ""},
		"nothing is free":                  {state(1, "0a", "ob oc"), ""},
		"as many as are free":              {state(3, "1a", "ob oc od"), "b c"},
		"owners pass waiting background":   {state(2, "1a", "bb oc od"), "c"},
		"background at its turn":           {state(3, "1a", "bb oc od"), "b c"},
		"not those whose session runs":     {state(3, "1a", "oa ob"), "b"},
		"a session once":                   {state(3, "", "ob ob oc"), "b c"},
		"one permit, background alone":     {state(1, "", "bb bc"), "b"},
		"one permit, the owner's first":    {state(1, "", "bb oc"), "c"},
		"the last permit, kept for nobody": {state(2, "1c", "bb oc"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, w := range tc.state.Next() {
				got = append(got, string(w.Session))
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestVerdictsHaveNames(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[capacity.Verdict]string{
		capacity.Granted: "granted", capacity.Wait: "wait", capacity.Full: "full", 0: "unknown",
	} {
		if got := verdict.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
