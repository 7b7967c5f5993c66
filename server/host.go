package server

import (
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"openintent/fault"
)

var errHostForeign = fault.New(fault.Denied, "HOST_NOT_ALLOWED",
	"With the development key the server answers only under this machine's own name; use localhost or 127.0.0.1, "+
		"or configure API keys.")

// ownHostOnly refuses requests for hosts other than this machine. It protects the development key, which everybody
// knows: a web page can point its own name to loopback and so reach the port through its reader's browser, but the
// request then carries the page's name.
func ownHostOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if named := (&url.URL{Host: r.Host}); !isLoopbackHost(named.Hostname()) {
			writeProblem(w, toStatus(errHostForeign))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLoopbackHost reports whether a host can only mean this machine. It does not look up names other than localhost:
// their meaning may change.
func isLoopbackHost(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
