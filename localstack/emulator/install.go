package emulator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// ErrNoPython means that this machine has no Python 3.10 or later that can make virtual environments.
var ErrNoPython = errors.New("no Python 3.10 or later with its venv module")

// ErrNoPackages means that pip did not get what it should install, as on a machine without a way to PyPI.
var ErrNoPackages = errors.New("pip can't get its packages; is PyPI within reach?")

// Missing reports whether the error of Install or Start means that the machine lacks what they take, ErrNoPython or
// ErrNoPackages. Tests then leave the emulator out, and say so.
func Missing(err error) bool { return errors.Is(err, ErrNoPython) || errors.Is(err, ErrNoPackages) }

// complete is the file that marks a folder whose installation went through.
const complete = "complete"

// Install puts the product into its folder under tools ("" is Tools()), unless it is there already, and returns the
// path of the Python that runs it. Of several installers at once, also in several processes, one does the work and the
// others wait for it. An installation that was broken off is begun anew.
func Install(ctx context.Context, tools string, p Product) (python string, err error) {
	if tools == "" {
		if tools, err = Tools(); err != nil {
			return "", err
		}
	}
	dir := filepath.Join(tools, p.Name+"-"+p.Version)
	python = filepath.Join(dir, "bin", "python")
	if runtime.GOOS == "windows" {
		python = filepath.Join(dir, "Scripts", "python.exe")
	}
	if exists(filepath.Join(dir, complete)) {
		return python, nil
	}
	if err := installLocked(ctx, dir, python, p); err != nil {
		return "", fmt.Errorf("installing %s %s: %w", p.Name, p.Version, err)
	}
	return python, nil
}

func installLocked(ctx context.Context, dir, python string, p Product) error {
	base, err := findPython(ctx)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o750); err != nil {
		return err
	}
	unlock, err := lock(ctx, dir+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	if exists(filepath.Join(dir, complete)) { // by whoever had the lock before
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := command(ctx, base, "-m", "venv", dir); err != nil {
		return err
	}
	pip := []string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input", "--retries=1", p.packages}
	if err := command(ctx, python, pip...); err != nil {
		return fmt.Errorf("%w (%w)", ErrNoPackages, err)
	}
	return os.WriteFile(filepath.Join(dir, complete), []byte(p.packages+"\n"), 0o600)
}

// findPython returns the first Python that will do.
func findPython(ctx context.Context) (string, error) {
	const probe = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))"
	for _, name := range []string{"python3", "python", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"} {
		path, err := exec.LookPath(name)
		if err == nil && command(ctx, path, "-c", probe) == nil {
			return path, nil
		}
	}
	return "", ErrNoPython
}

// command runs a program to its end; the error has the last line it printed.
func command(ctx context.Context, program string, args ...string) error {
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput() //nolint:gosec // programs of this package's own choice
	if err == nil {
		return nil
	}
	text := strings.TrimSpace(string(out))
	return fmt.Errorf("%s %s: %w: %s", filepath.Base(program), strings.Join(args, " "), err, text[strings.LastIndex(text, "\n")+1:])
}
