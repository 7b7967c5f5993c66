package server

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/rs/cors"
)

// corsMaxAge is how long a browser may remember that a request is allowed.
const corsMaxAge = 10 * time.Minute

// exposedHeaders are the headers of answers that pages of other origins may read.
var exposedHeaders = []string{"Allow", "ETag", "Link", "Location", "Retry-After", "WWW-Authenticate", removedHeader, causeHeader, "X-Request-Id"}

// doorHeaders are the headers of the doors' protocols.
var doorHeaders = []string{"Mcp-Method", "Mcp-Name", "Mcp-Protocol-Version", "Mcp-Session-Id"}

// allowOrigins lets pages of these origins call a handler and read its answers. It answers the question that a browser
// asks before a call, which carries no key. Pages send their key in a header; cookies and the like mean nothing here,
// so no page may make a browser send them.
func allowOrigins(origins []string, table *routes, next http.Handler) http.Handler {
	if len(origins) == 0 {
		return next
	}
	rules := cors.New(cors.Options{
		AllowedOrigins: origins,
		AllowedMethods: table.verbs(),
		AllowedHeaders: slices.Concat([]string{"Content-Type", "Last-Event-Id"}, callHeaders, doorHeaders),
		ExposedHeaders: exposedHeaders,
		MaxAge:         int(corsMaxAge.Seconds()),
	})
	allowed := rules.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rules.OriginAllowed(r) {
			allowed.ServeHTTP(w, r)
			return
		}
		w.Header().Add("Vary", "Origin")
		next.ServeHTTP(w, r)
	})
}

// corsOrigins are the configured origins.
func (c Config) corsOrigins() []string { return commaSeparated(c.CORSOrigins) }

// validateOrigins refuses what no browser names as an origin.
func (c Config) validateOrigins() error {
	for _, origin := range c.corsOrigins() {
		if strings.Contains(origin, "*") {
			return fmt.Errorf("OPENINTENT_CORS_ORIGINS must name each origin in full, such as https://console.example:8443; "+
				"%q would let in pages that nobody has named", origin)
		}
		plain, ok := plainOrigin(origin)
		switch {
		case !ok:
			return fmt.Errorf("OPENINTENT_CORS_ORIGINS must list origins as browsers name them, such as "+
				"https://console.example:8443; %q is none", origin)
		case plain != origin:
			return fmt.Errorf("OPENINTENT_CORS_ORIGINS must list origins as browsers name them: %q instead of %q", plain, origin)
		}
	}
	return nil
}

// plainOrigin returns the form in which a browser names the origin of a URL.
func plainOrigin(text string) (origin string, ok bool) {
	at, err := url.Parse(text)
	if err != nil || at.Hostname() == "" || at.User != nil || strings.ContainsFunc(text, func(c rune) bool { return c > '~' }) {
		return "", false
	}
	port, usual := at.Port(), map[string]string{"http": "80", "https": "443"}[at.Scheme]
	if usual == "" || port == "" && strings.HasSuffix(at.Host, ":") {
		return "", false
	}
	host := strings.ToLower(at.Host)
	if port == usual {
		host = strings.TrimSuffix(host, ":"+port)
	}
	return at.Scheme + "://" + host, true
}
