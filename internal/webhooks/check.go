package webhooks

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

const (
	maxURLBytes   = 2048
	maxNameBytes  = 253
	maxLabelBytes = 63
	nameLetters   = "abcdefghijklmnopqrstuvwxyz0123456789-_"
)

// These errors say what is wrong with a URL, as a sentence without its full stop, for the person who gave the URL.
var (
	errTooLong    = errors.New("a webhook's URL has at most 2048 bytes")
	errCharacters = errors.New("a webhook's URL is written in visible ASCII; percent-encode other characters, and write an international host name as xn--")
	errUnreadable = errors.New("this is not a URL; write one such as https://example.com/hook")
	errScheme     = errors.New("a webhook's URL begins with https:// or http://")
	errUser       = errors.New("a webhook's URL holds no user name or password; every post is signed instead")
	errFragment   = errors.New("a webhook's URL has no fragment; leave out # and what follows")
	errNoHost     = errors.New("a webhook's URL names a host, as in https://example.com/hook")
	errHost       = errors.New("the host is neither a name of letters, digits, hyphens and dots nor an IP address")
	errNumber     = errors.New("the host looks like a number; write an IPv4 address as four decimal numbers without leading zeros, such as 192.0.2.1")
	errZone       = errors.New("an address with a zone means something on one machine only; use one without")
	errPort       = errors.New("the port is a number from 1 to 65535")
	errReserved   = errors.New("the address is private, loopback, link-local or otherwise reserved, and the server's configuration does not allow it")
)

// Check refuses a URL that Post would not post to, as far as the text of the URL shows this. It does not resolve names; Post
// does when it connects. The error is a sentence, without its full stop, for the person who gave the URL.
func (s *Sender) Check(rawURL string) error {
	_, err := s.parse(rawURL)
	return err
}

// parse checks a URL and splits it into its parts.
func (s *Sender) parse(rawURL string) (*url.URL, error) {
	if len(rawURL) > maxURLBytes {
		return nil, errTooLong
	}
	if strings.ContainsFunc(rawURL, func(letter rune) bool { return letter <= ' ' || letter > '~' }) {
		return nil, errCharacters
	}
	parsed, err := url.Parse(rawURL)
	if err != nil {
		return nil, errUnreadable
	}
	switch {
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return nil, errScheme
	case parsed.User != nil:
		return nil, errUser
	case strings.Contains(rawURL, "#"):
		return nil, errFragment
	case parsed.Hostname() == "":
		return nil, errNoHost
	}
	if err := checkPort(parsed); err != nil {
		return nil, err
	}
	return parsed, s.checkHost(parsed)
}

func checkPort(parsed *url.URL) error {
	if parsed.Port() == "" {
		if strings.HasSuffix(parsed.Host, ":") {
			return errPort
		}
		return nil
	}
	if port, err := strconv.ParseUint(parsed.Port(), 10, 16); err != nil || port == 0 {
		return errPort
	}
	return nil
}

// checkHost refuses a host that is neither a name nor an address in its usual form, and addresses that the guard refuses. It
// refuses all unusual forms (one number, octal, hexadecimal) that resolvers read as an IPv4 address.
func (s *Sender) checkHost(parsed *url.URL) error {
	host := parsed.Hostname()
	if strings.HasPrefix(parsed.Host, "[") {
		return s.checkAddress(host)
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if !isName(host) {
		return errHost
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	if isNumber(last) {
		if _, err := netip.ParseAddr(host); err != nil {
			return errNumber
		}
		return s.checkAddress(host)
	}
	if last == "localhost" && !s.guard.permits(loopback) {
		return errReserved
	}
	return nil
}

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

func (s *Sender) checkAddress(host string) error {
	address, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		return errHost
	case address.Zone() != "":
		return errZone
	case !s.guard.permits(address):
		return errReserved
	}
	return nil
}

// isName reports whether a host has the form of a name.
func isName(host string) bool {
	if len(host) > maxNameBytes {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > maxLabelBytes || strings.Trim(label, nameLetters) != "" {
			return false
		}
	}
	return true
}

// isNumber reports whether resolvers would read a whole name as an IPv4 address because of its last label.
func isNumber(label string) bool {
	if digits, hexadecimal := strings.CutPrefix(label, "0x"); hexadecimal {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// endpointOf returns the URL in one spelling. Posts to the same endpoint share a circuit and a bound. Many agents may be behind
// one host and port, so if only these counted, one agent's failures would keep posts from the others.
func endpointOf(parsed *url.URL) string {
	port := parsed.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[parsed.Scheme]
	}
	host := strings.ToLower(strings.TrimSuffix(parsed.Hostname(), "."))
	return parsed.Scheme + "://" + net.JoinHostPort(host, port) + parsed.RequestURI()
}
