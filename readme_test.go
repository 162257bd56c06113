package bobbin_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// pack is what `go list` says of a package.
type pack struct {
	ImportPath string
	Doc        string // the first sentence of its comment
	GoFiles    []string
	Imports    []string
}

var update = flag.Bool("update", false, "write the package map of README.md anew")

const modulePath = "github.com/bobbin-agent/bobbin/"

func packages(t *testing.T) []pack {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Doc,GoFiles,Imports", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []pack
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pack
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// The table is written anew by: go test -run TestThePackageMap . -update
func TestThePackageMapInTheReadmeSaysWhatThePackagesSay(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("| package | what it is |\n| --- | --- |\n")
	for _, p := range packages(t) {
		path := strings.TrimPrefix(p.ImportPath, modulePath)
		if len(p.GoFiles) == 0 || strings.Contains(path, "/testdata/") {
			continue
		}
		if p.Doc == "" {
			t.Errorf("package %s has no comment", path)
		}
		table.WriteString("| `" + path + "` | " + strings.ReplaceAll(p.Doc, "|", `\|`) + " |\n")
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(readme), mapBegin)
	_, after, ok2 := strings.Cut(rest, mapEnd)
	if !ok || !ok2 {
		t.Fatalf("README.md lost the lines %q and %q, between which the package map stands", mapBegin, mapEnd)
	}
	want := before + mapBegin + "\n\n" + table.String() + "\n" + mapEnd + after
	if want == string(readme) {
		return
	}
	if !*update {
		t.Fatal("README.md's package map differs from the package comments: run go test -run TestThePackageMap . -update")
	}
	if err := os.WriteFile("README.md", []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

const (
	mapBegin = "<!-- packages: a test holds this table to the package comments -->"
	mapEnd   = "<!-- end of packages -->"
)
