package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"

	"github.com/bobbin-agent/bobbin/localstack/emulator"
)

// browsers are the names that the page's tests look for, in package web.
var browsers = []string{"chromium", "chromium-browser", "google-chrome"}

// prepare installs the emulator, and writes a line for everything that is left out.
func prepare(ctx context.Context, w io.Writer, must bool) error {
	leftOut := func(what string, why any) { _, _ = fmt.Fprintf(w, "left out: %s: %v\n", what, why) }
	_, err := emulator.Install(ctx, "", emulator.Ministack)
	if err != nil && (must || !emulator.Missing(err)) {
		return err
	}
	if err != nil {
		leftOut("all tests on an AWS emulator", err)
	}
	if !slices.ContainsFunc(browsers, onPath) {
		leftOut("the page's tests in a browser", "no Chromium here")
	}
	leftOut("the deployed stack", "that is `make emulate`")
	return nil
}

func onPath(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}
