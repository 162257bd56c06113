package bobbin_test

import (
	"slices"
	"strings"
	"testing"
)

// layers lists our packages bottom up: one imports what is in its own layer or below. "x/..." is everything below x; the
// longest name that fits a package counts.
var layers = [][]string{
	{"shared/fault", "shared/id", "shared/pause"},
	{ // seams
		"shared/table", "shared/blob", "shared/queue", "shared/secret", "shared/model", "shared/channel", "shared/live",
	},
	{ // engine and domains
		"shared/due", "shared/wake", "shared/thread", "shared/owner", "shared/inbox", "shared/turn", "shared/outbox",
		"shared/transcript", "shared/wait", "shared/capacity", "shared/prompt", "shared/tool", "shared/tool/...", "shared/agent", "shared/runner", "shared/reaper",
	},
	{ // adapters, the settings that choose among them, and the seams' suites and fakes
		"shared/aws/...", "shared/local/...", "shared/model/...", "shared/channel/...", "shared/config",
		"shared/table/...", "shared/blob/...", "shared/queue/...", "shared/secret/...",
	},
	{"shared/sim"},
	{"functions/...", "localstack/..."},
}

// technologies says who alone imports what is outside, so that whoever exchanges it has one place to look at.
var technologies = map[string][]string{
	"github.com/aws/aws-sdk-go-v2":  {"shared/aws/...", "localstack/..."},
	"github.com/aws/smithy-go":      {"shared/aws/...", "localstack/..."},
	"github.com/aws/aws-lambda-go":  {"functions/...", "localstack/poller"},
	"github.com/anthropics":         {"shared/model/anthropic"},
	"github.com/openai":             {"shared/model/openai"},
	"go.etcd.io/bbolt":              {"shared/local/bolt"},
	"github.com/klauspost/compress": {"shared/transcript"},
	"github.com/yuin/goldmark":      {"shared/channel/telegram/markup"},
	"github.com/google/go-cmp":      nil, // beside tests and what is for them
	"pgregory.net/rapid":            nil,
	"testing":                       nil,
}

// lean says what functions must do without: whatever is linked is paid for at every cold start.
var lean = map[string][]string{
	"functions/telegram": {"github.com/yuin/goldmark", "github.com/anthropics", "shared/model/...", "shared/agent", "shared/aws/s3"},
	"functions/web":      {"github.com/yuin/goldmark", "github.com/anthropics", "shared/model/...", "shared/agent", "shared/aws/s3"},
	"functions/reap":     {"github.com/yuin/goldmark", "github.com/anthropics", "shared/model/...", "shared/agent", "shared/aws/s3"},
}

// fits reports whether a package is the pattern, or below it if it ends in "/...".
func fits(name, pattern string) bool {
	above, below := strings.CutSuffix(pattern, "/...")
	return name == pattern || below && strings.HasPrefix(name, above+"/")
}

func fitsAny(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return fits(name, p) })
}

// below reports whether an import path is the module or package, or inside it.
func below(path, module string) bool { return path == module || strings.HasPrefix(path, module+"/") }

// layer is the index of the layer that a package is in; -1 if it is in none.
func layer(name string) int {
	at, longest := -1, -1
	for i, patterns := range layers {
		for _, p := range patterns {
			if fits(name, p) && len(strings.TrimSuffix(p, "...")) > longest {
				at, longest = i, len(strings.TrimSuffix(p, "..."))
			}
		}
	}
	return at
}

// forTests reports whether a package is there for tests only: by its name, a suite or a fake; or the simulation.
func forTests(name string) bool { return strings.HasSuffix(name, "test") || name == "shared/sim" }

// ours lists all packages but the module's root, by their names below the module, and with the imports of their non-test files.
func ours(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, p := range packages(t) {
		if name, ok := strings.CutPrefix(p.ImportPath, modulePath); ok {
			all[name] = p.Imports
		}
	}
	return all
}

func TestEveryPackageImportsItsOwnLayerOrBelow(t *testing.T) {
	t.Parallel()
	for name, imports := range ours(t) {
		at := layer(name)
		if at < 0 {
			t.Errorf("%s is in no layer: say in this test where it belongs", name)
		}
		for _, path := range imports {
			if other, ok := strings.CutPrefix(path, modulePath); ok && layer(other) > at {
				t.Errorf("%s imports %s, which is in a layer above it", name, other)
			}
		}
	}
}

func TestEveryTechnologyHasOnePlace(t *testing.T) {
	t.Parallel()
	for name, imports := range ours(t) {
		for _, path := range imports {
			for technology, places := range technologies {
				if below(path, technology) && !fitsAny(name, places) && !forTests(name) {
					t.Errorf("%s imports %s, which is for %v", name, path, places)
				}
			}
		}
	}
}

func TestWhatIsForTestsStaysOutOfPrograms(t *testing.T) {
	t.Parallel()
	for name, imports := range ours(t) {
		for _, path := range imports {
			if other, ok := strings.CutPrefix(path, modulePath); ok && forTests(other) && !forTests(name) {
				t.Errorf("%s imports %s", name, other)
			}
		}
	}
}

func TestFunctionsCarryNothingOfOneMachine(t *testing.T) {
	t.Parallel()
	all := ours(t)
	for name := range all {
		if fits(name, "functions/...") {
			without(t, all, name, []string{"go.etcd.io/bbolt", "shared/local/...", "localstack/..."})
		}
	}
}

func TestLeanFunctionsStayLean(t *testing.T) {
	t.Parallel()
	all := ours(t)
	for name, unwanted := range lean {
		if _, ok := all[name]; !ok {
			t.Errorf("there is no %s any more: bring this test up to date", name)
		}
		without(t, all, name, unwanted)
	}
}

// without fails the test if the program links anything unwanted, and says by which way.
func without(t *testing.T, all map[string][]string, program string, unwanted []string) {
	t.Helper()
	way := map[string]string{program: program}
	for queue := []string{program}; len(queue) > 0; queue = queue[1:] {
		for _, path := range all[queue[0]] {
			name := strings.TrimPrefix(path, modulePath)
			if _, seen := way[name]; seen {
				continue
			}
			way[name] = way[queue[0]] + " → " + name
			queue = append(queue, name)
			if fitsAny(name, unwanted) || slices.ContainsFunc(unwanted, func(u string) bool { return below(path, u) }) {
				t.Errorf("%s is linked: %s", name, way[name])
			}
		}
	}
}
