package bench

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// build compiles one of this module's programs, as the Makefile does, and returns its file.
func build(b *testing.B, name string, args ...string) string {
	b.Helper()
	file := filepath.Join(b.TempDir(), filepath.Base(name))
	args = append([]string{"build", "-trimpath", "-o", file}, args...)
	cmd := exec.CommandContext(b.Context(), "go", append(args, name)...)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("building %s: %v\n%s", name, err, out)
	}
	return file
}

// process is a running Bobbin, with the settings that a benchmark gives it and nothing of this process's environment.
type process struct {
	cmd     *exec.Cmd
	said    bytes.Buffer
	address string
	begun   time.Time
}

// launch starts the program on a data folder.
func launch(b *testing.B, binary, data string, settings ...string) *process {
	b.Helper()
	p := &process{address: freeAddress(b)}
	p.cmd = exec.CommandContext(b.Context(), binary)
	p.cmd.Env = append([]string{"BOBBIN_DATA=" + data, "BOBBIN_ADDR=" + p.address}, settings...)
	p.cmd.Stdout, p.cmd.Stderr = &p.said, &p.said
	p.begun = time.Now()
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return p
}

// end asks the process to end and waits until it has.
func (p *process) end(b *testing.B) {
	b.Helper()
	if err := errors.Join(p.cmd.Process.Signal(syscall.SIGTERM), p.cmd.Wait()); err != nil {
		b.Errorf("ending Bobbin: %v\n%s", err, p.said.String())
	}
}

// kill ends the process as a crash would.
func (p *process) kill(b *testing.B) {
	b.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		b.Error(err)
	}
	_ = p.cmd.Wait() // that it was killed is known
}

func freeAddress(b *testing.B) string {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// tick is the unit in which Linux tells a process's CPU time.
const tick = 10 * time.Millisecond

// cpu is the CPU time that the process has used so far, its own and the kernel's for it.
func (p *process) cpu(b *testing.B) time.Duration {
	b.Helper()
	stat := p.proc(b, "stat")
	field := strings.Fields(stat[strings.LastIndex(stat, ")")+1:]) // from the third on
	user, err := strconv.Atoi(field[11])
	system, systemErr := strconv.Atoi(field[12])
	if err := errors.Join(err, systemErr); err != nil {
		b.Fatal(err)
	}
	return time.Duration(user+system) * tick
}

// resident is how much memory the process has, in MiB.
func (p *process) resident(b *testing.B) float64 {
	b.Helper()
	_, rest, _ := strings.Cut(p.proc(b, "status"), "VmRSS:")
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		b.Fatal(err)
	}
	return kib / 1024
}

func (p *process) proc(b *testing.B, name string) string {
	b.Helper()
	body, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), name))
	if errors.Is(err, os.ErrNotExist) {
		b.Skip("CPU time and memory of a process are read from /proc, which is not there")
	}
	if err != nil {
		b.Fatal(err)
	}
	return string(body)
}
