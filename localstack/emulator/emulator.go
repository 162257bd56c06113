// Package emulator installs and runs servers that speak AWS's protocols, on this machine and without Docker: ministack,
// which holds whole deployments, and moto's, a second opinion.
//
// Each is installed once, at a pinned version, into a folder of its own under the repository's .tools, which git
// ignores. A server runs on a free port of the loopback address and ends with the process that started it. Without a
// Python, or a way to the packages, Start's error is one that is Missing, and whoever tests goes on without.
package emulator

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Product is an emulator that this package can install and run.
type Product struct {
	Name    string // as in messages and folder names
	Version string // pinned

	packages string // what pip installs, version and all
	module   string // what python -m runs
	health   string // the path that answers 200 when the server is ready
	args     func(host, port string) []string
	env      func(host, port, url, state string) []string
}

// Ministack is the main one. It takes whole deployments and runs their functions.
var Ministack = Product{
	Name: "ministack", Version: "1.5.33",
	packages: "ministack==1.5.33",
	module:   "ministack",
	health:   "/_ministack/ready",
	args:     func(string, string) []string { return nil },
	env: func(host, port, url, state string) []string {
		return []string{
			"GATEWAY_PORT=" + port,
			"BIND_HOST=" + host,       // it listens on all interfaces otherwise
			"AWS_ENDPOINT_URL=" + url, // handed to its functions, which would call the real AWS otherwise
			"IOT_MTLS_ENABLED=0",      // a listener on a fixed port that nobody here needs
			"SFTP_ENABLED=0",          // likewise
			"LOG_LEVEL=WARNING",
			"TMPDIR=" + state, // where it unpacks functions
			"S3_DATA_DIR=" + state,
			"STATE_DIR=" + state,
		}
	},
}

// Moto is moto's server: tables, buckets, queues and parameters only.
var Moto = Product{
	Name: "moto", Version: "5.2.5",
	packages: "moto[server]==5.2.5",
	module:   "moto.server",
	health:   "/moto-api/",
	args:     func(host, port string) []string { return []string{"-H", host, "-p", port} },
	env:      func(_, _, _, state string) []string { return []string{"TMPDIR=" + state} },
}

// Config says what to run. Only Product is needed.
type Config struct {
	Product Product
	// Tools is the folder to install into; "" is Tools().
	Tools string
	// Env is set for the server on top of what it needs, each entry as "KEY=value": for example "AUTH=true", with which
	// ministack enforces the policies of roles.
	Env []string
	// Log gets what the server prints; nil keeps only its last words, for the error of a start that failed.
	Log io.Writer
}

const (
	host = "127.0.0.1"
	// portTries is how often Start looks for another port when somebody else took the one it had found free.
	portTries = 3
	// readyWithin bounds a start. It takes about two seconds; the first ever also compiles the server's code.
	readyWithin = 60 * time.Second
)

// Server is a running emulator.
type Server struct {
	// URL is its address, as in AWS_ENDPOINT_URL.
	URL string

	product Product
	process *process
	state   string // its temporary folder
}

// Start installs the product if need be, runs it and waits until it is ready to serve. The context bounds the start
// alone; the server runs until Stop or until this process ends. The error is
// Missing if there is no Python to run it with, or no way to get it.
func Start(ctx context.Context, c Config) (*Server, error) {
	python, err := Install(ctx, c.Tools, c.Product)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		s, err := start(ctx, c, python)
		if err == nil || try == portTries || ctx.Err() != nil {
			return s, err
		}
	}
}

func start(ctx context.Context, c Config, python string) (*Server, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, fmt.Errorf("finding a free port: %w", err)
	}
	state, err := os.MkdirTemp("", c.Product.Name+"-")
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "http://" + net.JoinHostPort(host, port), product: c.Product, state: state}
	args := append([]string{"-m", c.Product.module}, c.Product.args(host, port)...)
	env := append(withoutAWS(os.Environ()), c.Product.env(host, port, s.URL, state)...)
	s.process, err = run(python, args, append(env, c.Env...), state, c.Log)
	if err == nil {
		err = s.ready(ctx)
	}
	if err != nil {
		s.Stop()
		return nil, fmt.Errorf("starting %s %s: %w", c.Product.Name, c.Product.Version, err)
	}
	return s, nil
}

// ready asks the server until it answers, has ended, or has taken too long.
func (s *Server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		if answers(ctx, s.URL+s.product.health) {
			return nil
		}
		select {
		case <-s.process.ended:
			return fmt.Errorf("it ended by itself: %s", s.process.lastWords())
		case <-ctx.Done():
			return fmt.Errorf("it did not get ready: %w: %s", ctx.Err(), s.process.lastWords())
		case <-tick.C:
		}
	}
}

func answers(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	req.Close = true // an open connection would hold up the server's end
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// PID is the server's process ID.
func (s *Server) PID() int { return s.process.pid }

// Env is what a program needs in its environment, each entry as "KEY=value", to use the server as its AWS: the address,
// credentials that the server takes, and a region.
func (s *Server) Env() []string {
	return []string{
		"AWS_ENDPOINT_URL=" + s.URL,
		"AWS_ENDPOINT_URL_S3=" + s.URL,
		"AWS_ACCESS_KEY_ID=test",
		"AWS_SECRET_ACCESS_KEY=test",
		"AWS_REGION=us-east-1",
		"AWS_DEFAULT_REGION=us-east-1",
	}
}

// Stop ends the server and removes what it kept. It returns when both is done; a second call does nothing.
func (s *Server) Stop() {
	if s.process != nil {
		s.process.stop()
	}
	_ = os.RemoveAll(s.state) // a leftover in the machine's temporary folder is not worth failing for
}

// freePort asks the machine for a port of the loopback address that nobody has now.
func freePort(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", err
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}

// withoutAWS leaves out the settings by which a user reaches the real AWS.
func withoutAWS(env []string) []string {
	kept := make([]string, 0, len(env))
	for _, e := range env {
		if !strings.HasPrefix(e, "AWS_") {
			kept = append(kept, e)
		}
	}
	return kept
}

// Tools is the folder that emulators are installed into: .tools in the root of the repository that the working
// directory is in, which is where the nearest go.mod with a .git beside it stands, else the nearest go.mod.
func Tools() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	root := ""
	for ; ; dir = filepath.Dir(dir) {
		if exists(filepath.Join(dir, "go.mod")) {
			if root == "" || exists(filepath.Join(dir, ".git")) {
				root = dir
			}
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if root == "" {
		return "", fmt.Errorf("no go.mod above the working directory")
	}
	return filepath.Join(root, ".tools"), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
