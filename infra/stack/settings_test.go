package stack

import (
	"strings"
	"testing"

	"github.com/bobbin-agent/bobbin/infra/grant"
)

// given makes a lookup of the settings in the map.
func given(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func TestSettingsDefaultToTheCloud(t *testing.T) {
	t.Parallel()
	s, err := Parse(given(nil))
	if err != nil {
		t.Fatal(err)
	}
	if s.Stage != "main" || s.Arch != "arm64" || s.Build != "../build/arm64" || s.Concurrency != 20 {
		t.Errorf("got %+v", s)
	}
	if s.RunnerTimeout != 900 || s.Turns != 10 {
		t.Errorf("the runner may run %v s and %d turns at once, want 900 and 10", s.RunnerTimeout, s.Turns)
	}
	if !s.Retain || !s.TLSOnly || s.CLICreds || !s.Mapping {
		t.Errorf("without settings data is kept, TLS demanded, the bootstrap's roles used, the queue mapped; got %+v", s)
	}
	if want := grant.ForModel(grant.All(), s.Model); s.Model == "" || len(s.Grants) != len(want) {
		t.Errorf("without settings the grants are those of model %q; got %d of %d", s.Model, len(s.Grants), len(want))
	}
}

func TestBuildFollowsTheArchitectureUnlessGiven(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ arch, build, want string }{
		{"amd64", "", "../build/amd64"},
		{"amd64", "/elsewhere", "/elsewhere"},
	} {
		s, err := Parse(given(map[string]string{"arch": c.arch, "build": c.build}))
		if err != nil || s.Build != c.want {
			t.Errorf("arch %q, build %q: got %q, error %v; want %q", c.arch, c.build, s.Build, err, c.want)
		}
	}
}

func TestAWrongSettingIsNamedWithWhatItTakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, value, says string }{
		{"stage", "Main Street", "[a-z]"},
		{"arch", "x86", "arm64 or amd64"},
		{"retain", "no", "on or off"},
		{"tls", "1", "on or off"},
		{"synthesizer", "default", "roles or cli"},
		{"mapping", "true", "on or off"},
		{"concurrency", "1", "from 2 to 1000"},
		{"concurrency", "many", "from 2 to 1000"},
		{"concurrency", "10", "raise concurrency or lower turns"},
		{"turns", "0", "from 1 to 1000"},
		{"turns", "1001", "from 1 to 1000"},
		{"steps", "0", "from 1 to 10000"},
		{"repeats", "1", "from 2 to 1000"},
		{"runner-timeout", "59", "from 60 to 900"},
		{"runner-timeout", "901", "from 60 to 900"},
		{"runner-timeout", "5m", "from 60 to 900"},
		{"telegram-busy", "drop", "takes steer or queue or refuse"},
		{"telegram-debounce", "2", "1.5s"},
		{"telegram-debounce", "31s", "from 0s to 30s"},
		{"telegram-debounce", "-1s", "from 0s to 30s"},
		{"telegram-scope", "chat", "takes owner or conversation"},
		{"telegram-reset", "/stop", "not /stop"},
		{"telegram-reset", "/re\nset", "one line"},
		{"telegram-reset", strings.Repeat("x", 65), "64 characters"},
		{"web-busy", "wait", "steer or queue or refuse"},
		{"web-debounce", "soon", "1.5s"},
		{"web-clearing", "yes", "takes on or off"},
		{"without", "runner/*", "runner/s3:GetObject"},
		{"model-url", "localhost:11434", "https://"},
		{"telegram-bot", "77:token", "[1-9]"},
		{"telegram-api", "ftp://example.org", "https://"},
	} {
		_, err := Parse(given(map[string]string{c.name: c.value}))
		if err == nil || !strings.Contains(err.Error(), "setting "+c.name) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s=%s: error %v, want one that names the setting and says %q", c.name, c.value, err, c.says)
		}
	}
}

func TestTheMappingInvokesMoreRunnersThanTurnsMayRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		concurrency, turns, mapping string
		good                        bool
	}{
		{"11", "10", "on", true},
		{"10", "10", "on", false},
		{"1000", "1000", "on", false},
		{"2", "1", "on", true},
		{"", "20", "on", false},
		{"", "19", "on", true},
		{"2", "1000", "off", true}, // a poller of one's own is not bounded by the setting
	} {
		_, err := Parse(given(map[string]string{"concurrency": c.concurrency, "turns": c.turns, "mapping": c.mapping}))
		if (err == nil) != c.good {
			t.Errorf("concurrency %q, turns %q, mapping %s: error %v", c.concurrency, c.turns, c.mapping, err)
		}
	}
}

func TestNamesAreAllThatParseAsksFor(t *testing.T) {
	t.Parallel()
	asked := map[string]bool{}
	if _, err := Parse(func(name string) string { asked[name] = true; return "" }); err != nil {
		t.Fatal(err)
	}
	for _, name := range Names() {
		if !asked[name] {
			t.Errorf("Names has %q, which Parse never asks for", name)
		}
		delete(asked, name)
	}
	for name := range asked {
		t.Errorf("Parse asks for %q, which Names lacks", name)
	}
}
