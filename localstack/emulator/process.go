package emulator

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// stopWithin is how long a server may take to end when asked; then it is killed.
const stopWithin = 5 * time.Second

// process is a child that ends with this process.
type process struct {
	pid   int
	ended chan struct{} // closed when it has ended

	child *os.Process
	words *tail
}

// run starts the program in dir. Where the system can, it ends the child when the thread that started it ends; so one
// thread starts the child and stays for as long as it runs.
func run(program string, args, env []string, dir string, log io.Writer) (*process, error) {
	p := &process{ended: make(chan struct{}), words: &tail{next: log}}
	cmd := exec.Command(program, args...) //nolint:gosec,noctx // of this package's own choice; stop ends it
	cmd.Env, cmd.Dir = env, dir
	cmd.Stdout, cmd.Stderr = p.words, p.words
	cmd.WaitDelay = time.Second // for grandchildren that keep the output open
	dieWithParent(cmd)
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = cmd.Wait() // how it ended is in its last words
		close(p.ended)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	p.child, p.pid = cmd.Process, cmd.Process.Pid
	return p, nil
}

// stop asks the child to end and waits until it has.
func (p *process) stop() {
	select {
	case <-p.ended:
		return
	default:
	}
	if interrupt(p.child) == nil {
		select {
		case <-p.ended:
			return
		case <-time.After(stopWithin):
		}
	}
	_ = p.child.Kill() // fails only if it has ended
	<-p.ended
}

func (p *process) lastWords() string { return p.words.String() }

// tail keeps the end of what is written to it and passes all of it on to next, if there is one.
type tail struct {
	next io.Writer

	mu   sync.Mutex
	last []byte
}

const tailBytes = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, b...)
	if over := len(t.last) - tailBytes; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
	}
	if t.next != nil {
		return t.next.Write(b)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.last)
}
