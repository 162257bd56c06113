package clock_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/bobbin-agent/bobbin/shared/tool"
	"github.com/bobbin-agent/bobbin/shared/tool/clock"
)

// The clock of a bubble begins at midnight UTC, 1 January 2000.
func TestTheClockTellsTheTimeOfAZone(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		`{}`:                          "Saturday, 1 January 2000, 00:00:00 UTC (+00:00)",
		`{"zone":""}`:                 "Saturday, 1 January 2000, 00:00:00 UTC (+00:00)",
		`{"zone":"Europe/Vienna"}`:    "Saturday, 1 January 2000, 01:00:00 CET (+01:00)",
		`{"zone":"America/New_York"}`: "Friday, 31 December 1999, 19:00:00 EST (-05:00)",
	} {
		synctest.Test(t, func(t *testing.T) {
			got, err := clock.Tool().Run(t.Context(), tool.Call{Arguments: json.RawMessage(arguments)})
			if err != nil || got.Failed || got.Text != want {
				t.Errorf("%s: got %+v, %v; want %q", arguments, got, err, want)
			}
		})
	}
}

func TestTheModelIsToldWhatIsWrongWithAZone(t *testing.T) {
	t.Parallel()
	for arguments, want := range map[string]string{
		`{"zone":"Middle/Earth"}`:     "Middle/Earth",
		`{"zone":"../../etc/passwd"}`: "IANA",
		`{"zone":7}`:                  "must be a string",
	} {
		got, err := clock.Tool().Run(t.Context(), tool.Call{Arguments: json.RawMessage(arguments)})
		if err != nil || !got.Failed || !strings.Contains(got.Text, want) {
			t.Errorf("%s: got %+v, %v", arguments, got, err)
		}
	}
}

func TestItsSchemaIsAnObjectThatNamesTheZone(t *testing.T) {
	t.Parallel()
	var schema struct {
		Type       string
		Properties map[string]struct{ Type string }
	}
	if err := json.Unmarshal(clock.Tool().Schema, &schema); err != nil || schema.Type != "object" || schema.Properties["zone"].Type != "string" {
		t.Errorf("got %+v, %v", schema, err)
	}
}
