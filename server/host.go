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

// ownHostOnly refuses requests to other hosts than this machine. It guards the development key, which everybody knows: a
// web page whose name is made to point to loopback reaches the port with its reader's browser, but under the page's name.
func ownHostOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if named := (&url.URL{Host: r.Host}); !isLoopbackHost(named.Hostname()) {
			writeProblem(w, toStatus(errHostForeign))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLoopbackHost tells whether only this machine can be meant by a host. A name other than localhost is not looked up:
// what it means may change.
func isLoopbackHost(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
