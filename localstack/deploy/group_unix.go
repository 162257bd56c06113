//go:build unix

package deploy

import (
	"os/exec"
	"syscall"
)

// endTogether makes the end of the command's context the end of all that it has started too: the CDK's command line
// runs the app, and the app runs Node.
func endTogether(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
