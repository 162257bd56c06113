package outbox

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/thread"
)

var noon = time.UnixMilli(1_900_000_000_000)

// rowAt is a row of a message of that time.
func rowAt(at time.Time) Row {
	return Row{
		Thread: "t", Message: "m#1", Route: channel.Route{Connection: "telegram-1", Conversation: "7"}, Text: "hello",
		Session: "s", Turn: "u", At: at, ID: "m", Revision: "row",
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	ago := func(d time.Duration, r Row) Row {
		r.At = noon.Add(-d)
		return r
	}
	for name, tc := range map[string]struct {
		row  Row
		want move
	}{
		"new":                         {ago(0, Row{}), send},
		"old, never tried":            {ago(48*time.Hour, Row{}), send},
		"begun once":                  {ago(0, Row{Sending: 1}), resend},
		"begun twice":                 {ago(0, Row{Sending: 2}), lost},
		"begun thrice":                {ago(0, Row{Sending: 3}), lost},
		"put off":                     {ago(0, Row{Tries: 1, After: noon.Add(time.Millisecond)}), wait},
		"put off until now":           {ago(0, Row{Tries: 1, After: noon}), send},
		"put off for a day":           {ago(patience, Row{Tries: 9, After: noon}), send},
		"put off for longer":          {ago(patience+time.Second, Row{Tries: 9, After: noon}), expire},
		"put off beyond a day":        {ago(patience+time.Second, Row{Tries: 9, After: noon.Add(time.Second)}), wait},
		"in doubt for longer":         {ago(patience+time.Second, Row{Tries: 9, Sending: 1}), lost},
		"begun long ago, not put off": {ago(patience+time.Second, Row{Sending: 1}), resend},
	} {
		if got := decide(tc.row, noon); got != tc.want {
			t.Errorf("%s: got %d, want %d", name, got, tc.want)
		}
	}
}

func TestBeginMarksThePartAndRemembersItsMessage(t *testing.T) {
	t.Parallel()
	first := rowAt(noon).begin()
	if first.Sending != 1 || first.Doubt || first.Born != "row" {
		t.Errorf("the first time: %+v", first)
	}
	first.Revision = "marked"
	second := first.begin()
	if second.Sending != 2 || !second.Doubt || second.Born != "row" {
		t.Errorf("the second time: %+v", second)
	}
}

func TestConfirmGoesOnToTheNextPart(t *testing.T) {
	t.Parallel()
	row := Row{Sent: make([]string, 0, 8)}.begin()
	row.Tries = 3
	a, b := row.confirm("a"), row.confirm("b")
	want := Row{Part: 1, Sent: []string{"a"}}
	if diff := cmp.Diff(want, a); diff != "" || b.Sent[0] != "b" {
		t.Errorf("the other is %v; want (-), got (+):\n%s", b.Sent, diff)
	}
}

func TestPostponeWaitsAsLongAsTheChannelAsksOrEverLonger(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		tries int
		after time.Duration
		want  time.Duration
	}{
		"first": {0, 0, time.Second}, "second": {1, 0, 2 * time.Second}, "ninth": {8, 0, 256 * time.Second},
		"tenth": {9, 0, longestPause}, "hundredth": {100, 0, longestPause}, "asked for": {3, 77 * time.Second, 77 * time.Second},
		"asked for more than the longest": {0, time.Hour, time.Hour},
	} {
		row := Row{Sending: 1, Tries: tc.tries}.postpone(fault.Verdict{Action: fault.Retry, After: tc.after}, noon)
		if got := row.After.Sub(noon); got != tc.want || row.Sending != 0 || row.Tries != tc.tries+1 {
			t.Errorf("%s: waits %v, want %v; %+v", name, got, tc.want, row)
		}
	}
}

// brief lists operations as lines: what, where, under which condition.
func brief(ops []table.Op) (lines []string) {
	for _, op := range ops {
		kind := map[table.OpKind]string{table.OpPut: "put", table.OpDelete: "delete"}[op.Kind]
		cond := "at " + string(op.If.Revision())
		switch {
		case op.If.WantsAbsent():
			cond = "absent"
		case op.If.Blind():
			cond = "blind"
		}
		lines = append(lines, kind+" "+op.Key.String()+" "+cond)
	}
	return lines
}

func TestEnqueueStoresTheMessageTheRowAndItsMark(t *testing.T) {
	t.Parallel()
	row := rowAt(noon)
	row.Message, row.Text = "", ""
	m := thread.Message{ID: "m", At: noon, From: thread.Agent, Text: "hello", Turn: "u"}
	key := fmt.Sprintf("%016d#m", noon.UnixMicro())
	mark := "put " + row.mark().Key().String() + " absent"
	page := row
	page.Route.Connection = channel.Web
	stranger := row
	stranger.Thread = ""
	for name, tc := range map[string]struct {
		row  Row
		want []string
	}{
		"to a channel":  {row, []string{"put conv#telegram-1:7/o#" + key + " absent", mark, "put thread#t/m#" + key + " absent"}},
		"to a stranger": {stranger, []string{"put conv#telegram-1:7/o#" + key + " absent", mark}},
		"to the page":   {page, []string{"put thread#t/m#" + key + " absent"}},
	} {
		if diff := cmp.Diff(tc.want, brief(Enqueue(tc.row, m))); diff != "" {
			t.Errorf("%s: want (-), got (+):\n%s", name, diff)
		}
	}
}

func TestTheMessageOfARowThatIsSettledSaysWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	row := rowAt(noon).begin()
	row.Revision = "marked"
	row = row.confirm("x2").confirm("x1").confirm("x2")
	ops := row.settle(end{state: thread.Repeated, reason: "why"})
	if diff := cmp.Diff([]string{
		"delete conv#telegram-1:7/" + row.sort() + " at marked",
		"delete " + row.mark().Key().String() + " blind",
		fmt.Sprintf("put thread#t/m#%016d#m at row", noon.UnixMicro()),
		"put ref#telegram-1:7#x1/- absent",
		"put ref#telegram-1:7#x2/- absent",
	}, brief(ops)); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	var got map[string]any
	if err := json.Unmarshal(ops[2].Value, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"from": "", "text": "hello", "via": "telegram-1", "turn": "u", "state": "repeated", "error": "why",
		"external": []any{"x2", "x1", "x2"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the message: want (-), got (+):\n%s", diff)
	}
	var ref Ref
	if err := json.Unmarshal(ops[3].Value, &ref); err != nil || ref != (Ref{"t", "s", "u"}) {
		t.Errorf("a reply belongs to %+v, %v", ref, err)
	}
	if got := ops[3].Expires.Sub(noon); got != refTerm {
		t.Errorf("what a reply belongs to is kept for %v", got)
	}
}

func TestARowOfVeryManyPartsIsSettledInOneWrite(t *testing.T) {
	t.Parallel()
	row := rowAt(noon).begin()
	for i := range 500 {
		row = row.confirm(fmt.Sprint(i))
	}
	w := table.Write{ID: "w", Ops: append(row.settle(end{state: thread.Sent}), table.DeleteBlind(headKey("telegram-1:7")))}
	if err := w.Validate(); err != nil {
		t.Error(err)
	}
}

func TestAStrangersRowHasNoMessageToTell(t *testing.T) {
	t.Parallel()
	row := rowAt(noon).begin()
	row.Thread = ""
	for _, line := range brief(row.confirm("x").settle(end{state: thread.Sent})) {
		if strings.Contains(line, "thread#") || strings.Contains(line, "ref#") {
			t.Errorf("settling does %q", line)
		}
	}
}
