package server

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"
)

var (
	errPublicURL = errors.New("OPENINTENT_PUBLIC_URL must be the address under which clients reach the REST port, such as " +
		"https://openintent.example or https://example.com/agents, without a user, a query and a fragment")
	errPublicPlain = errors.New("OPENINTENT_PUBLIC_URL must begin with https://; only an address on this machine may do without TLS")
)

// publicPathForm is the form of the path of a public address. Others need escapes, which proxies and clients write differently.
var publicPathForm = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)*/?$`)

// checkPublicURL refuses a public address that clients could not use, or not safely.
func (c Config) checkPublicURL() error {
	if c.PublicURL == "" {
		return nil
	}
	at, err := url.Parse(c.PublicURL)
	_, plain := plainOrigin(c.PublicURL)
	switch {
	case err != nil || !plain || !isPublicHost(at) || strings.ContainsAny(c.PublicURL, "?#"):
		return errPublicURL
	case !publicPathForm.MatchString(at.EscapedPath()) || path.Clean("/"+at.Path) != "/"+strings.Trim(at.Path, "/"):
		return errPublicURL
	case at.Scheme != "https" && !isLoopbackHost(at.Hostname()):
		return errPublicPlain
	}
	return nil
}

// isPublicHost reports whether a URL names a host, and no port that there cannot be.
func isPublicHost(at *url.URL) bool {
	ip, notIP := netip.ParseAddr(at.Hostname())
	if notIP != nil && !hostName.MatchString(at.Hostname()) || ip.Zone() != "" {
		return false
	}
	if _, port, err := net.SplitHostPort(at.Host); err == nil {
		number, err := strconv.ParseUint(port, 10, 16)
		return err == nil && number > 0
	}
	return true
}

// publicAddress returns the public address without a slash at its end; empty if none is set.
func (c Config) publicAddress() string {
	origin, _ := plainOrigin(c.PublicURL)
	return origin + c.publicPath()
}

// publicPath returns the path of the public address, without a slash at its end.
func (c Config) publicPath() string {
	at, err := url.Parse(c.PublicURL)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(at.Path, "/")
}
