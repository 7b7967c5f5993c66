package openintent

import (
	"net"
	"net/netip"
	"strconv"
	"strings"
)

// DevelopmentKey is the key of a server that has no configured keys. Such a server listens on this machine only.
const DevelopmentKey = "dev-key-001"

// Address is where a server listens.
type Address struct {
	// Target is host:port.
	Target string
	// Host is the part before the port, without brackets.
	Host string
	// Scheme is "https" for TLS, "http" for none, and "" when the address does not say.
	Scheme string
}

// ParseAddress reads host:port, http://host:port or https://host:port. Its ErrInvalidArgument names the setting that
// has the text.
func ParseAddress(setting, text string) (Address, error) {
	scheme, target, isURL := strings.Cut(text, "://")
	if isURL {
		target = strings.TrimSuffix(target, "/")
	} else {
		scheme, target = "", text
	}
	host, port, err := net.SplitHostPort(target)
	number, notANumber := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil, host == "", notANumber != nil, number == 0,
		isURL && scheme != "http" && scheme != "https",
		strings.ContainsFunc(target, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune(`/?#@\`, c) }):
		return Address{}, badSetting(setting,
			"must be host:port, http://host:port or https://host:port, with a port from 1 to 65535, not "+strconv.Quote(text))
	}
	return Address{Target: target, Host: host, Scheme: scheme}, nil
}

// badSetting is the refusal of a setting of a client.
func badSetting(setting, wrong string) error {
	return &Error{Code: "INVALID_ARGUMENT", Message: setting + " " + wrong + ".", Violations: []Violation{{setting, wrong}}}
}

// Loopback reports whether the server runs on this machine.
func (a Address) Loopback() bool {
	address, err := netip.ParseAddr(a.Host)
	return a.Host == "localhost" || err == nil && address.IsLoopback()
}

// DefaultKey returns the key for a caller who has given none: DevelopmentKey on this machine, "" elsewhere.
func (a Address) DefaultKey() string {
	if a.Loopback() {
		return DevelopmentKey
	}
	return ""
}
