//go:build !linux

package emulator

import "os/exec"

// dieWithParent does nothing: only Linux can. A child outlives a parent that is killed, until its user ends it.
func dieWithParent(*exec.Cmd) {}
