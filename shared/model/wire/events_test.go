package wire

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestEventsAreReadAsServersSendThem(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, body string
		want       []string
	}{
		{"two", "data: a\n\ndata: b\n\n", []string{"a\n", "b\n"}},
		{"without the space", "data:a\n\n", []string{"a\n"}},
		{"with names, numbers and comments", ": hello\nevent: x\nid: 1\nretry: 5\ndata: a\n\n", []string{"a\n"}},
		{"over several lines", "data: a\ndata:  b\n\n", []string{"a\n b\n"}},
		{"with carriage returns", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"a\n", "b\n"}},
		{"without data", "event: ping\n\n\n\ndata: a\n\n", []string{"a\n"}},
		{"without the last empty line", "data: a\n\ndata: b", []string{"a\n", "b\n"}},
		{"none", "", nil},
		{"no event stream", `{"choices":[]}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for data, err := range Events(iotest.OneByteReader(strings.NewReader(tt.body))) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(data))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("read otherwise (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBrokenStreamEndsWithItsErrorAndWithoutTheHalfEvent(t *testing.T) {
	t.Parallel()
	broken := errors.New("reset")
	var got []string
	var last error
	for data, err := range Events(io.MultiReader(strings.NewReader("data: a\n\ndata: half"), iotest.ErrReader(broken))) {
		if last = err; err == nil {
			got = append(got, string(data))
		}
	}
	if diff := cmp.Diff([]string{"a\n"}, got); diff != "" || !errors.Is(last, broken) {
		t.Errorf("ended with %v (-want +got):\n%s", last, diff)
	}
}
