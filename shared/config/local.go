package config

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
)

// Local is how the one process on one machine runs.
type Local struct {
	Shared
	Data    string // BOBBIN_DATA: the folder of everything that is kept
	Address string // BOBBIN_ADDR: host:port of the page, on a loopback address
	Workers int    // BOBBIN_WORKERS: how many wake-ups are handled at once
	// Poll says whether updates are fetched from Telegram; if not, they come to the webhook, whose secret is set.
	Poll bool
	// HasToken says whether there is a bot.
	HasToken bool
	// Verbose is BOBBIN_VERBOSE, anything: log every step of every turn.
	Verbose bool
}

// Defaults of Local, and the bound of Workers.
const (
	defaultData    = "data"
	defaultAddress = "127.0.0.1:8080"
	defaultWorkers = 64
	mostWorkers    = 1000
)

// What Telegram takes as a webhook's secret token: these characters, at least one and at most so many.
const (
	secretCharacters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	mostSecret       = 256
)

// webhookSecret is no regular expression: one that counts to 256 takes every function a millisecond of its start.
func webhookSecret(s string) bool {
	return s != "" && len(s) <= mostSecret && strings.Trim(s, secretCharacters) == ""
}

// Local reads the settings of the one process.
func (l Lookup) Local() (Local, error) {
	shared, err := l.shared(localTurns)
	workers, workersErr := l.number("BOBBIN_WORKERS", defaultWorkers, 1, mostWorkers)
	data, dataErr := filepath.Abs(l.text("BOBBIN_DATA", defaultData))
	hasToken, hasSecret := l.has(TelegramToken), l.has(TelegramSecret)
	c := Local{
		Shared: shared, Data: data, Address: l.text("BOBBIN_ADDR", defaultAddress), Workers: workers,
		Poll: hasToken && !hasSecret, HasToken: hasToken,
		Verbose: l.text("BOBBIN_VERBOSE", "") != "",
	}
	var tokenErr error
	switch {
	case hasSecret && !hasToken:
		tokenErr = fmt.Errorf("%s is set without %s: set it too", Variables[TelegramSecret], Variables[TelegramToken])
	case hasSecret && !webhookSecret(l.text(Variables[TelegramSecret], "")):
		tokenErr = fmt.Errorf("%s must be 1 to 256 letters, digits, _ and -, as Telegram's setWebhook takes it",
			Variables[TelegramSecret])
	}
	return c, errors.Join(err, workersErr, loopback(c.Address), dataErr, tokenErr)
}

func (l Lookup) has(secret string) bool { return l.text(Variables[secret], "") != "" }

// loopback refuses to serve the page, which knows no password here, to other machines.
func loopback(address string) error {
	host, port, err := net.SplitHostPort(address)
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil {
		return fmt.Errorf("BOBBIN_ADDR is %q and must be host:port, such as %s", address, defaultAddress)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("BOBBIN_ADDR is %q and must be a loopback address, such as %s: "+
			"whoever reaches the page is taken for the owner", address, defaultAddress)
	}
	return nil
}
