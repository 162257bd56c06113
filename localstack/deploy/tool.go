package deploy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// cdkVersion is that of the npm package aws-cdk, the command line.
const cdkVersion = "2.1148.1"

const (
	// grace is how long a tool's output is waited for after it was killed.
	grace = 5 * time.Second
	// lastBytes is how much of a tool's output an error shows.
	lastBytes = 2000
)

func (d deployment) toolDir() string { return filepath.Join(d.root, ".tools") }
func (d deployment) appPath() string { return filepath.Join(d.toolDir(), "infra") }
func (d deployment) cdkDir() string  { return filepath.Join(d.toolDir(), "cdk-"+cdkVersion) }
func (d deployment) cdkPath() string { return filepath.Join(d.cdkDir(), "node_modules", ".bin", "cdk") }

// tools brings the CDK's command line and the app up to date.
func (d deployment) tools(ctx context.Context) error {
	if _, err := exec.LookPath("node"); err != nil {
		return fmt.Errorf("%w: %w", ErrNoNode, err)
	}
	if err := d.installCDK(ctx); err != nil {
		return err
	}
	return d.run(ctx, "building the CDK app", filepath.Join(d.root, "infra"), "go", "build", "-o", d.appPath(), ".")
}

// installCDK installs the command line unless it is there. It is installed beside its place and moved there whole, so
// that neither a broken installation nor two at once do harm: whoever comes second throws its own away.
func (d deployment) installCDK(ctx context.Context) (err error) {
	if _, err := os.Stat(d.cdkPath()); err == nil {
		return nil
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return fmt.Errorf("%w: %w", ErrNoNode, err)
	}
	const doing = "installing the CDK's command line"
	if err := os.MkdirAll(d.toolDir(), 0o750); err != nil {
		return fmt.Errorf(doing+": %w", err)
	}
	dir, err := os.MkdirTemp(d.toolDir(), "cdk-")
	if err != nil {
		return fmt.Errorf(doing+": %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := d.run(ctx, doing, dir, "npm", "install", "--prefix", dir, "aws-cdk@"+cdkVersion,
		"--no-save", "--no-audit", "--no-fund"); err != nil {
		return err
	}
	if err := os.Rename(dir, d.cdkDir()); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf(doing+": %w", err)
	}
	return nil
}

// run starts a tool in a folder and waits for it. When the context ends, the tool ends with all that it started. The
// error says what was being done and holds the tool's last lines.
func (d deployment) run(ctx context.Context, doing, dir, name string, args ...string) error {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // the tools are this package's own choice
	cmd.Dir = dir
	cmd.Env = d.environ()
	cmd.Stdout = io.MultiWriter(d.log, &said)
	cmd.Stderr = cmd.Stdout
	cmd.WaitDelay = grace
	endTogether(cmd)
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", doing, errors.Join(ctx.Err(), err), last(said.Bytes()))
	}
	return nil
}

// last is the end of what a tool said, from the first whole line on.
func last(said []byte) []byte {
	if over := len(said) - lastBytes; over > 0 {
		_, said, _ = bytes.Cut(said[over:], []byte("\n"))
	}
	return bytes.TrimSpace(said)
}

// environ is this process's environment with the emulator's address and credentials in place of its own.
func (d deployment) environ() []string {
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "AWS_") })
	return append(env,
		"AWS_ENDPOINT_URL="+d.endpoint.String(),
		"AWS_ENDPOINT_URL_S3="+d.endpoint.String(),
		"AWS_ACCESS_KEY_ID="+key,
		"AWS_SECRET_ACCESS_KEY="+key,
		"AWS_REGION="+region,
		"AWS_DEFAULT_REGION="+region,
		"AWS_CONFIG_FILE="+os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE="+os.DevNull,
		"AWS_EC2_METADATA_DISABLED=true",
		"CDK_DISABLE_CLI_TELEMETRY=true",
		"CDK_DISABLE_VERSION_CHECK=1",
		// An old Node is said at length on every run.
		"JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=1",
		"JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION=1",
		"NODE_NO_WARNINGS=1",
	)
}
