package model

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// redacted stands where a secret was.
const redacted = "[redacted]"

// minSecret is the length below which a secret is not looked for: cutting out a two-letter "key" would shred every text
// and protect nothing.
const minSecret = 4

// Redact cuts secrets out of text: as they are, escaped for a URL, and in base64 (whole, not inside a longer
// encoding). Secrets shorter than four bytes are left alone.
func Redact(text string, secrets ...string) string {
	for _, s := range secrets {
		for _, form := range secretForms(strings.TrimSpace(s)) {
			text = strings.ReplaceAll(text, form, redacted)
		}
	}
	return text
}

// secretForms lists how a secret may be spelled, the longest first where one holds another.
func secretForms(s string) []string {
	if len(s) < minSecret {
		return nil
	}
	return []string{
		base64.StdEncoding.EncodeToString([]byte(s)),
		base64.RawStdEncoding.EncodeToString([]byte(s)),
		base64.RawURLEncoding.EncodeToString([]byte(s)),
		url.QueryEscape(s),
		url.PathEscape(s),
		s,
	}
}
