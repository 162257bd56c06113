// Package clock is the tool that tells the time anywhere.
package clock

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
	_ "time/tzdata" // the zones, for machines that have none, such as a function's

	"github.com/bobbin-agent/bobbin/shared/tool"
)

// Tool tells the current time in a time zone.
func Tool() tool.Tool {
	return tool.Tool{
		Name:        "clock",
		Description: "Tells the current date and time in a time zone.",
		Schema: json.RawMessage(`{"type":"object","properties":{"zone":{"type":"string","description":` +
			`"IANA time zone, such as Europe/Vienna; UTC if left out"}},"additionalProperties":false}`),
		Limit: time.Second,
		Run:   run,
	}
}

func run(_ context.Context, c tool.Call) (tool.Result, error) {
	var in struct {
		Zone string `json:"zone"`
	}
	if err := json.Unmarshal(c.Arguments, &in); err != nil {
		return tool.Failure("zone must be a string: " + err.Error()), nil //nolint:nilerr // for the model
	}
	zone, err := time.LoadLocation(in.Zone)
	if err != nil {
		return tool.Failure(fmt.Sprintf("There is no time zone %q; give an IANA name such as Europe/Vienna.", in.Zone)), nil //nolint:nilerr // for the model
	}
	return tool.Result{Text: time.Now().In(zone).Format("Monday, 2 January 2006, 15:04:05 MST (-07:00)")}, nil
}
