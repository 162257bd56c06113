package outbox

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/bobbin-agent/bobbin/shared/channel"
	"github.com/bobbin-agent/bobbin/shared/fault"
	"github.com/bobbin-agent/bobbin/shared/id"
	"github.com/bobbin-agent/bobbin/shared/table"
	"github.com/bobbin-agent/bobbin/shared/table/tabletest"
	"github.com/bobbin-agent/bobbin/shared/thread"
)

// refusing is a channel that takes nothing.
type refusing struct{}

func (refusing) Render(text string) []channel.Part { return []channel.Part{{Plain: text}} }

func (refusing) Send(context.Context, channel.Route, channel.Part) (string, error) {
	return "", fault.As(fault.GiveUp, errors.New("the chat is gone"))
}

// A sender may die right after it has settled the last message. A hold that it left would stand for ever, with no mark
// to bring anyone back, and keep the next message waiting.
func TestSettlingTheLastMessageLetsGoOfTheConversation(t *testing.T) {
	t.Parallel()
	scans := 0
	store := &tabletest.Fake{Fault: func(c tabletest.Call) tabletest.Fault {
		if c.Method == tabletest.MethodScan {
			scans++
		}
		if scans > 1 {
			return tabletest.Fault{Kind: tabletest.Refused} // as good as dead
		}
		return tabletest.Fault{}
	}}
	route := channel.Route{Connection: "telegram-1", Conversation: "1"}
	err := store.Write(t.Context(), table.Write{ID: "1", Ops: Enqueue(Row{Thread: "t", Route: route}, thread.Message{
		ID: "m", At: time.UnixMicro(1), From: thread.Agent, Text: "hello",
	})})
	if err != nil {
		t.Fatal(err)
	}
	s := Sender{Table: store, IDs: &id.Source{}, Channel: func(string) (channel.Channel, bool) { return refusing{}, true }}
	if report, _ := s.Flush(t.Context(), route.Key()); report.Refused != 1 {
		t.Fatalf("report %+v, want one message refused", report)
	}
	for _, item := range store.Items() {
		if item.Key.Partition == Partition(route.Key()) {
			t.Errorf("%s is left", item.Key)
		}
	}
}
