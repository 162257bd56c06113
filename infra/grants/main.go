// Command grants prints the permissions of all functions, one per line and tab-separated: the ID that the setting
// "without" takes, whose call needs it (ours or aws), and the reason.
package main

import (
	"fmt"
	"os"

	"github.com/bobbin-agent/bobbin/infra/grant"
)

func main() {
	for _, g := range grant.All() {
		if _, err := fmt.Fprintf(os.Stdout, "%s\t%s\t%s\n", g.ID(), g.By, g.Why); err != nil {
			os.Exit(1)
		}
	}
}
