package stack

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"

	"github.com/bobbin-agent/bobbin/infra/grant"
)

// object is a JSON object of a template.
type object = map[string]any

// template is a synthesized stack as plain JSON values.
type template struct {
	t         *testing.T
	resources object
	outputs   object
}

// synth makes the template under these settings, with empty bootstraps.
func synth(t *testing.T, settings map[string]string) template {
	t.Helper()
	values := map[string]string{"build": emptyBuild(t)}
	maps.Copy(values, settings)
	s, err := Parse(given(values))
	if err != nil {
		t.Fatal(err)
	}
	app := awscdk.NewApp(&awscdk.AppProps{Outdir: jsii.String(t.TempDir())})
	made := *assertions.Template_FromStack(New(app, s), nil).ToJSON()
	return template{t, made["Resources"].(object), made["Outputs"].(object)}
}

func emptyBuild(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range grant.Functions {
		if err := os.MkdirAll(filepath.Join(dir, string(f)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, string(f), "bootstrap"), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// all returns the resources of a type by logical ID.
func (m template) all(kind string) map[string]object {
	found := map[string]object{}
	for id, r := range m.resources {
		if resource := r.(object); resource["Type"] == kind {
			found[id] = resource
		}
	}
	return found
}

// one returns the logical ID and the resource of a type whose ID begins with prefix; there must be exactly one.
func (m template) one(kind, prefix string) (string, object) {
	m.t.Helper()
	id, resource, count := "", object(nil), 0
	for i, r := range m.all(kind) {
		if strings.HasPrefix(i, prefix) {
			id, resource, count = i, r, count+1
		}
	}
	if count != 1 {
		m.t.Fatalf("the stack has %d resources %s whose ID begins with %q, want one", count, kind, prefix)
	}
	return id, resource
}

// function returns one function's properties.
func (m template) function(f grant.Function) (string, object) {
	m.t.Helper()
	for id, r := range m.all("AWS::Lambda::Function") {
		// A logical ID is the construct's name and eight hexadecimal digits.
		if id[:len(id)-8] == string(f) {
			return id, properties(r)
		}
	}
	m.t.Fatalf("the stack has no function %s", f)
	return "", nil
}

func properties(resource object) object { return resource["Properties"].(object) }

// at walks down objects and lists: a string is a key, an int an index. It returns nil where there is nothing.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.(object)[step]
		case int:
			v = v.([]any)[step]
		}
		if v == nil {
			return nil
		}
	}
	return v
}

// list makes a list of what IAM lets be one value or many.
func list(v any) []any {
	if many, ok := v.([]any); ok {
		return many
	}
	return []any{v}
}
