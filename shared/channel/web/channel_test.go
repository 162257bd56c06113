package web

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-agent/bobbin/shared/channel"
)

var _ channel.Channel = Channel{}

func TestPartIsTheWholeMarkdownAndNeverBlank(t *testing.T) {
	t.Parallel()
	for text, plain := range map[string]string{"**Hi**\n\n- a": "**Hi**\n\n- a", "": "…", " \n": "…"} {
		if diff := cmp.Diff([]channel.Part{{Plain: plain}}, Channel{}.Render(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	if external, err := (Channel{}).Send(t.Context(), channel.Route{}, channel.Part{Plain: "x"}); external != "" || err != nil {
		t.Errorf("Send returned %q, %v", external, err)
	}
}
