package web

import (
	"net"
	"net/http"
	"net/netip"
)

// policy lets the page load its own files and talk to its own server, and nothing else: no inline script or style, no
// image from elsewhere, no frame around it, no string turned into markup.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// guard sets the headers of every answer and turns away what another site's page makes a browser send: requests to a
// name that was pointed at this machine (DNS rebinding), and changes from another origin (CSRF).
func (s *Site) guard(next http.Handler) http.Handler {
	var origin http.CrossOriginProtection
	origin.SetDenyHandler(refusing(http.StatusForbidden, "Another site sent this request."))
	next = origin.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		harden(w.Header(), s.Local == "")
		if s.Local != "" && !loopback(r.Host) {
			refusing(http.StatusMisdirectedRequest, "This server answers to localhost and 127.0.0.1 only.").ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func harden(h http.Header, https bool) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if https {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// loopback reports whether a Host header, with or without a port, names this machine.
func loopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	if len(name) > 2 && name[0] == '[' && name[len(name)-1] == ']' {
		name = name[1 : len(name)-1]
	}
	addr, err := netip.ParseAddr(name)
	return name == "localhost" || err == nil && addr.IsLoopback()
}
