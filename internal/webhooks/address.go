package webhooks

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"syscall"
)

// errForbidden refuses a connection to an address that the guard does not permit.
var errForbidden = errors.New("the address is private or reserved")

// guard decides which addresses a post may connect to.
type guard struct {
	allowed []netip.Prefix
}

// forbidden4 are the IPv4 networks without public addresses (IANA's special-purpose registry), and the public address of a
// cloud's metadata service.
var forbidden4 = prefixes(
	"0.0.0.0/8",        // this network, unspecified
	"10.0.0.0/8",       // private
	"100.64.0.0/10",    // shared by carriers
	"127.0.0.0/8",      // loopback
	"168.63.129.16/32", // internal services of a cloud, reachable only from its machines
	"169.254.0.0/16",   // link-local, metadata of cloud machines
	"172.16.0.0/12",    // private
	"192.0.0.0/24",     // protocol assignments
	"192.0.2.0/24",     // documentation
	"192.88.99.0/24",   // relays of 6to4
	"192.168.0.0/16",   // private
	"198.18.0.0/15",    // benchmarks
	"198.51.100.0/24",  // documentation
	"203.0.113.0/24",   // documentation
	"224.0.0.0/4",      // multicast
	"240.0.0.0/4",      // reserved, broadcast
)

// global6 is the only part of IPv6 with public addresses; forbidden6 are the exceptions within it.
var (
	global6    = netip.MustParsePrefix("2000::/3")
	forbidden6 = prefixes(
		"2001::/23",     // protocol assignments: Teredo, benchmarks, ORCHID
		"2001:db8::/32", // documentation
		"2002::/16",     // 6to4, which embeds an IPv4 address
		"3fff::/20",     // documentation
	)
	// translated is the network of addresses with an IPv4 address in their last four bytes (NAT64); the guard judges that one.
	translated = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(texts ...string) []netip.Prefix {
	parsed := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		parsed[i] = netip.MustParsePrefix(text)
	}
	return parsed
}

// newGuard reads the configured networks: comma-separated, as 10.1.0.0/16 or fd00:1::/32.
func newGuard(networks string) (guard, error) {
	var g guard
	for text := range strings.SplitSeq(networks, ",") {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		network, err := netip.ParsePrefix(text)
		switch {
		case err != nil:
			return guard{}, fmt.Errorf("%q is no network; write one as 10.1.0.0/16 or fd00:1::/32", text)
		case network.Addr().Is4In6():
			return guard{}, fmt.Errorf("%q is an IPv4 network mapped into IPv6; write it as 10.1.0.0/16", text)
		case network != network.Masked():
			return guard{}, fmt.Errorf("%q has bits set beyond its length; the network is %s", text, network.Masked())
		}
		g.allowed = append(g.allowed, network)
	}
	return g, nil
}

// permits reports whether a post may connect to an address.
func (g guard) permits(address netip.Addr) bool {
	address = address.WithZone("").Unmap()
	if contains(g.allowed, address) {
		return true
	}
	if translated.Contains(address) {
		bytes := address.As16()
		return g.permits(netip.AddrFrom4([4]byte(bytes[12:])))
	}
	if address.Is4() {
		return !contains(forbidden4, address)
	}
	return global6.Contains(address) && !contains(forbidden6, address)
}

// control is the Control function of a net.Dialer, which calls it for each address just before it connects.
func (g guard) control(_, address string, _ syscall.RawConn) error {
	resolved, err := netip.ParseAddrPort(address)
	if err != nil || !g.permits(resolved.Addr()) {
		return errForbidden
	}
	return nil
}

func contains(networks []netip.Prefix, address netip.Addr) bool {
	for _, network := range networks {
		if network.Contains(address) {
			return true
		}
	}
	return false
}
