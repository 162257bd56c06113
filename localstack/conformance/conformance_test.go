// Package conformance holds the AWS adapters to the guarantees of their seams, on a server that speaks AWS's protocols.
//
// BOBBIN_TEST_ENDPOINT says which: nothing for ministack and "moto" for moto's server, both installed and started here;
// "aws" for the real account of the ambient credentials; else the address of a server that runs already. Everything is
// made under names of its own and deleted in the end.
//
// A server that is known not to keep a guarantee is named by BOBBIN_TEST_KNOWN: what it gets wrong is then listed and
// left out, see known. Nothing is left out of any other run, but for the default one, which knows its ministack.
package conformance

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/bobbin-agent/bobbin/localstack/emulator"
	"github.com/bobbin-agent/bobbin/shared/aws/account"
	"github.com/bobbin-agent/bobbin/shared/id"
)

// server is what the tests run against.
var server struct {
	cfg  aws.Config
	real bool // the real AWS, where calls cost time and money
}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	endpoint, known := setting("BOBBIN_TEST_ENDPOINT"), setting("BOBBIN_TEST_KNOWN")
	if endpoint == "" {
		endpoint = emulator.Ministack.Name
		known = cmp.Or(known, endpoint)
	}
	stop, err := connect(endpoint)
	if emulator.Missing(err) {
		say("left out: the AWS adapters' conformance: %v", err)
		return 0
	}
	if err != nil {
		say("%v", err)
		return 1
	}
	defer stop()
	if err := leaveOut(known); err != nil {
		say("%v", err)
		return 1
	}
	return m.Run()
}

func connect(endpoint string) (stop func(), err error) {
	ctx := context.Background()
	switch endpoint {
	case emulator.Ministack.Name:
		return start(ctx, emulator.Ministack)
	case emulator.Moto.Name:
		return start(ctx, emulator.Moto)
	case "aws":
		server.real = true
		server.cfg, err = account.Load(ctx)
		return func() {}, err
	}
	server.cfg = settings(endpoint)
	return func() {}, nil
}

func start(ctx context.Context, p emulator.Product) (stop func(), err error) {
	s, err := emulator.Start(ctx, emulator.Config{Product: p})
	if err != nil {
		return nil, err
	}
	server.cfg = settings(s.URL)
	return s.Stop, nil
}

func settings(endpoint string) aws.Config {
	return aws.Config{
		BaseEndpoint: &endpoint,
		Region:       "us-east-1",
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
	}
}

func setting(name string) string {
	v, _ := os.LookupEnv(name)
	return v
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "conformance: "+format+"\n", args...) }

var ids id.Source

// unique is a name that nobody else has, fit for a table, a bucket and a queue.
func unique() string { return "bobbin-test-" + ids.New(time.Now()) }

// afterwards has the function clean up at the end of the test, when the test's own context is over.
func afterwards(t *testing.T, clean func(context.Context) error) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() {
		if err := clean(ctx); err != nil {
			t.Errorf("cleaning up: %v", err)
		}
	})
}
