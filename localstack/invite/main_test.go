package main

import (
	"strings"
	"testing"
)

func TestWhatIsMissingIsSaidInOneLine(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	t.Setenv("AWS_CONFIG_FILE", "/nonexistent")
	for name, c := range map[string]struct{ args, table, want string }{
		"no table":  {"", "", "BOBBIN_TABLE"},
		"no region": {"", "table", "AWS_REGION"},
		"a flag":    {"-nosuch", "table", "usage"},
	} {
		err := invite(t.Context(), strings.Fields(c.args), c.table)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line that says %s", name, err, c.want)
		}
	}
}
