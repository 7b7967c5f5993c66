package server

import (
	"net"
	"net/http"
	"strings"

	"openintent/sessions"
)

const (
	// secretHeader carries the secret of a session's page, and at the sign-in the word signInWord in its place.
	secretHeader = "X-Openintent-Console"
	signInWord   = "sign-in"
	// secureCookie is the name of the cookie under TLS. Browsers let nobody but this host set one of that name, and only under TLS.
	secureCookie = "__Host-openintent_session"
	// plainCookie begins the name without TLS. The port follows, because browsers send a cookie to all ports of a host.
	plainCookie = "openintent_session_"
	// mostCookies is how many cookies of one name are looked at. Another port of the host can set some, too.
	mostCookies = 4
)

// plainName returns the name of the cookie of a request that came without TLS.
func plainName(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil && port != "" {
		return plainCookie + port
	}
	return plainCookie + "80"
}

// cookieNames are the names under which a request can bring the cookie.
func cookieNames(r *http.Request) []string {
	if r.TLS != nil {
		return []string{secureCookie}
	}
	return []string{secureCookie, plainName(r)} // a proxy may have ended TLS
}

// cookiesOf returns what may be the cookie of a request's session.
func cookiesOf(r *http.Request) (found []string) {
	for _, name := range cookieNames(r) {
		named := r.CookiesNamed(name)
		for _, cookie := range named[:min(len(named), mostCookies)] {
			found = append(found, cookie.Value)
		}
	}
	return found
}

// secretOf returns the secret that a request shows; the empty text for none.
func secretOf(r *http.Request) (secret string, shown bool) {
	values := r.Header[secretHeader]
	if len(values) == 0 {
		return "", false
	}
	if len(values) > 1 {
		return "", true // two secrets are none
	}
	return values[0], true
}

// cookie returns the form of the cookie for the browser of a request.
func (c *signingIn) cookie(r *http.Request, value string) *http.Cookie {
	made := &http.Cookie{
		Name: plainName(r), Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		MaxAge: int(sessions.LastsFor.Seconds()),
	}
	if c.isSecure(r) {
		made.Name, made.Secure = secureCookie, true
	}
	return made
}

// isSecure reports whether a browser speaks TLS, to the server or to a proxy in front of it.
func (c *signingIn) isSecure(r *http.Request) bool {
	return r.TLS != nil || strings.HasPrefix(r.Header.Get("Origin"), "https://") || strings.HasPrefix(c.public, "https://")
}

// forget tells the browser of a request to forget the cookies that it has sent.
func forget(w http.ResponseWriter, r *http.Request) {
	for _, name := range cookieNames(r) {
		if len(r.CookiesNamed(name)) > 0 {
			http.SetCookie(w, &http.Cookie{
				Name: name, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: name == secureCookie, MaxAge: -1,
			})
		}
	}
}
