// Package deploy puts Bobbin's stack on an emulator of AWS, by the same way that it goes into an account: the CDK app
// in infra/, run by the CDK's command line.
//
// Nothing has to be there but Go, Node and the functions' bootstraps: the command line is installed once, at a pinned
// version, into .tools at the top of the checkout, and the app is built there too. The credentials are the emulator's;
// those of the surroundings, and what selects them, are kept from everything that is started here.
package deploy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"

	"github.com/bobbin-agent/bobbin/localstack/emulator"
)

const (
	account = "000000000000" // the emulator's only one
	region  = "us-east-1"
	key     = "test" // as access key and as secret, both
)

// ErrNoNode means that the machine lacks Node or npm, which the CDK runs on.
var ErrNoNode = errors.New("the CDK needs Node 20 or later with npm, which is not on the PATH")

// Options says what to deploy. The zero Options deploys what `make build` made.
type Options struct {
	// Root is the top of the checkout; where it is empty, the one that the working directory is in.
	Root string
	// Build is the folder with one folder per function, each with its bootstrap for this machine; where it is empty,
	// build/<architecture> under Root.
	Build string
	// Settings are the stack's, by name; see stack.Settings in infra/. They go before those that an emulator needs.
	Settings map[string]string
	// Secrets are stored as SecureStrings: values by name, without the stage's prefix.
	Secrets map[string]string
	// Log takes what the tools say; nil discards it.
	Log io.Writer
}

// Outputs says where everything is.
type Outputs struct {
	Endpoint  string            // the emulator: scheme, host and port
	Host      string            // the Host header that leads a request to Endpoint to the HTTP API
	Table     string            // name
	Bucket    string            // name
	QueueURL  string            //
	Functions map[string]string // name in the account by name in functions/
}

// Up makes the emulator at endpoint hold the stack as it is in the checkout, and the secrets. It may be called again,
// to change settings or secrets or to bring new bootstraps; what is unchanged stays, data included. Errors wrap
// ErrNoNode or hold the last lines of the tool that failed.
func Up(ctx context.Context, endpoint string, o Options) (Outputs, error) {
	d, err := prepare(endpoint, o)
	if err != nil {
		return Outputs{}, err
	}
	if err := d.tools(ctx); err != nil {
		return Outputs{}, err
	}
	if err := d.storeSecrets(ctx); err != nil {
		return Outputs{}, err
	}
	if err := d.bootstrap(ctx); err != nil {
		return Outputs{}, err
	}
	return d.deploy(ctx)
}

// deployment is Options with everything filled in.
type deployment struct {
	root     string
	endpoint *url.URL
	settings map[string]string
	secrets  map[string]string
	log      io.Writer
}

// names of the functions: their folders in functions/, and, with a capital, the stack's outputs.
var functions = []string{"telegram", "web", "runner", "reap"}

func prepare(endpoint string, o Options) (deployment, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return deployment{}, fmt.Errorf("the emulator's address is %q and must be like http://127.0.0.1:4566", endpoint)
	}
	d := deployment{root: o.Root, endpoint: u, secrets: o.Secrets, log: o.Log}
	if d.log == nil {
		d.log = io.Discard
	}
	if d.root == "" {
		tools, err := emulator.Tools()
		if err != nil {
			return deployment{}, fmt.Errorf("finding the checkout: %w", err)
		}
		d.root = filepath.Dir(tools)
	}
	if o.Build == "" {
		o.Build = filepath.Join(d.root, "build", runtime.GOARCH)
	}
	if o.Build, err = filepath.Abs(o.Build); err != nil {
		return deployment{}, fmt.Errorf("finding the functions: %w", err)
	}
	d.settings = settings(o)
	return d, checkBuild(o.Build)
}

// settings are what an emulator needs, overlaid with what was asked for. It runs the bootstraps on this machine, keeps
// nothing, speaks plain HTTP and refuses the roles that the CDK would deploy by.
func settings(o Options) map[string]string {
	all := map[string]string{
		"arch":        runtime.GOARCH,
		"build":       o.Build,
		"retain":      "off",
		"stage":       "main",
		"synthesizer": "cli",
		"tls":         "off",
	}
	maps.Copy(all, o.Settings)
	return all
}

// checkBuild tells early, and better than the CDK would, that there is nothing to deploy.
func checkBuild(dir string) error {
	for _, f := range functions {
		if _, err := os.Stat(filepath.Join(dir, f, "bootstrap")); err != nil {
			return fmt.Errorf("looking for the functions, which `make build` makes: %w", err)
		}
	}
	return nil
}
