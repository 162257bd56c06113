package emulator

import (
	"os/exec"
	"syscall"
)

// dieWithParent has the kernel ask the child to end when the thread that starts it is gone, however that came about.
func dieWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
}
