// Command grants prints the permissions of all functions, one per line and tab-separated: the ID that the setting
// "without" takes, whose call needs it (ours or aws), and the reason. Given a model, written provider:name, it leaves
// out the keys of other providers.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/bobbin-agent/bobbin/infra/grant"
)

func main() {
	model := strings.Join(os.Args[1:], "")
	for _, g := range grant.ForModel(grant.All(), model) {
		if _, err := fmt.Fprintf(os.Stdout, "%s\t%s\t%s\n", g.ID(), g.By, g.Why); err != nil {
			os.Exit(1)
		}
	}
}
