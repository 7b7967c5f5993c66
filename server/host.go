package server

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/grpc/metadata"

	"openintent/internal/fault"
)

var (
	errHostForeign = fault.New(fault.Denied, "HOST_NOT_ALLOWED",
		"This port is for this machine only and answers under its own names; use localhost or 127.0.0.1, or add the host to "+
			"OPENINTENT_ALLOWED_HOSTS of the server.")
	errHostNamed = fault.New(fault.Denied, "HOST_NOT_ALLOWED",
		"This port needs no key, so it answers only under IP addresses and names that it was told; use its IP address, or add the "+
			"host to OPENINTENT_ALLOWED_HOSTS of the server.")
	errOriginForeign = fault.New(fault.Denied, "ORIGIN_NOT_ALLOWED",
		"This port is for this machine only and answers no pages of other origins; add the origin to OPENINTENT_CORS_ORIGINS "+
			"of the server.")
	errPageForeign = fault.New(fault.Denied, "ORIGIN_NOT_ALLOWED",
		"This port is for whoever runs the server and answers no pages of other origins; ask it from a program.")
)

// ownNames are the names of a port on loopback: it answers requests that name one of its hosts, and among those that
// come from web pages only its own pages and the listed origins.
//
// Whoever reads a foreign page has a browser on this machine, so the page can reach ports on loopback. It sends its
// requests there as they are, and they name its origin. Or it makes its own name mean 127.0.0.1, and they name that as
// their host. Ports that others can reach as well need no such rule: a browser brings nothing there that a stranger
// could not send.
type ownNames struct {
	// hosts are served beside those that can only mean this machine, and origins beside the host's own pages.
	hosts, origins []string
	// admin is true for the admin address. No key protects it, so it has such names even where other machines reach it: a page
	// could make its own name mean that address, too.
	admin bool
	// anyIP is true for an admin address that other machines reach. A page can make its own name mean an address, but it cannot
	// make a request name another host than its own.
	anyIP bool
}

// admit refuses a request for a foreign host or from a foreign page. A request without a host or an origin names no
// foreign one: browsers always name the host, and the origin wherever a page could read the answer or change something.
// encrypted says that the request came over TLS to this port.
func (n *ownNames) admit(host string, origins []string, encrypted bool) error {
	if host != "" && !n.isOwnHost((&url.URL{Host: host}).Hostname()) {
		if n.anyIP {
			return errHostNamed
		}
		return errHostForeign
	}
	for _, origin := range origins {
		switch {
		case sameOrigin(origin, host, encrypted) || slices.Contains(n.origins, origin):
		case n.admin:
			return errPageForeign
		default:
			return errOriginForeign
		}
	}
	return nil
}

func (n *ownNames) isOwnHost(host string) bool {
	if _, err := netip.ParseAddr(host); n.anyIP && err == nil {
		return true
	}
	return isLoopbackHost(host) ||
		slices.ContainsFunc(n.hosts, func(own string) bool { return strings.EqualFold(own, host) })
}

// sameOrigin reports whether a page comes from the host that it asks. Without TLS the page may have come over https all
// the same, from a proxy in front.
func sameOrigin(origin, host string, encrypted bool) bool {
	scheme, from, ok := strings.Cut(origin, "://")
	switch {
	case !ok || host == "":
		return false
	case scheme == "https":
		host = strings.TrimSuffix(host, ":443")
	case scheme == "http" && !encrypted:
		host = strings.TrimSuffix(host, ":80")
	default:
		return false
	}
	return strings.EqualFold(from, host)
}

// protect puts the rule in front of a handler. refuse answers what it does not admit.
func (n *ownNames) protect(
	next http.Handler, refuse func(w http.ResponseWriter, r *http.Request, err error),
) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := n.admit(r.Host, r.Header.Values("Origin"), r.TLS != nil); err != nil {
			refuse(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// admitCall applies the rule to a call over gRPC. A nil receiver and a call from within the process know none.
func (n *ownNames) admitCall(headers metadata.MD) error {
	if n == nil {
		return nil
	}
	return n.admit(strings.Join(headers.Get(":authority"), ","), headers.Get("origin"), false)
}

// ownNames returns the names for a port that is configured at an address and listens at another form of it, or nil when
// other machines can reach it.
func (c Config) ownNames(configured string, listening net.Addr) *ownNames {
	if !isLoopback(listening.String()) {
		return nil
	}
	return &ownNames{hosts: c.hostsOf(configured), origins: c.corsOrigins()}
}

// adminNames returns the names under which the admin address answers. It answers no page but its own.
func (c Config) adminNames(listening net.Addr) *ownNames {
	return &ownNames{hosts: c.hostsOf(c.AdminAddr), admin: true, anyIP: !isLoopback(listening.String())}
}

// hostsOf returns the hosts that a port may be asked for: those that are allowed, and its own.
func (c Config) hostsOf(configured string) []string {
	hosts := slices.Clone(c.allowedHosts())
	if host, _, err := net.SplitHostPort(configured); err == nil && host != "" {
		hosts = append(hosts, host)
	}
	return hosts
}

// allowedHosts are the configured names.
func (c Config) allowedHosts() []string { return commaSeparated(c.AllowedHosts) }

// hostName is the form of a host's name in a request.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_])?$`)

// validateHosts refuses what can be no host.
func (c Config) validateHosts() error {
	for _, host := range c.allowedHosts() {
		if _, notIP := netip.ParseAddr(host); notIP != nil && !hostName.MatchString(host) {
			return fmt.Errorf("OPENINTENT_ALLOWED_HOSTS must list names or IP addresses without scheme and port, such as "+
				"api.example; %q is none", host)
		}
	}
	return nil
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

// commaSeparated returns the entries of a list in a setting.
func commaSeparated(list string) []string {
	if strings.TrimSpace(list) == "" {
		return nil
	}
	entries := strings.Split(list, ",")
	for i := range entries {
		entries[i] = strings.TrimSpace(entries[i])
	}
	return entries
}
