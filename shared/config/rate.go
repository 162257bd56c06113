package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Rate is how many messages a second are sent to Telegram. In each field 0 is Telegram's own limit and a negative
// number is none.
type Rate struct{ InAll, PerChat float64 }

// parseRate reads "30/1", "30" or "off".
func parseRate(s string) (Rate, error) {
	if s == "" {
		return Rate{}, nil
	}
	inAll, perChat, both := strings.Cut(s, "/")
	a, errA := rate(inAll)
	r := Rate{InAll: a}
	var errB error
	switch {
	case both:
		r.PerChat, errB = rate(perChat)
	case a < 0:
		r.PerChat = a
	}
	if errA != nil || errB != nil {
		return Rate{}, fmt.Errorf("BOBBIN_TELEGRAM_RATE is %q and must be messages a second in all and to one chat, "+
			`such as 30/1, or "off" for a Bot API server of your own`, s)
	}
	return r, nil
}

func rate(s string) (float64, error) {
	if strings.EqualFold(strings.TrimSpace(s), "off") {
		return -1, nil
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err == nil && !(v > 0 && v <= 1e6) {
		err = strconv.ErrRange
	}
	return v, err
}
