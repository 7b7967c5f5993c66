package webhooks

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func newSender(t testing.TB, cfg Config) *Sender {
	t.Helper()
	s, err := New(cfg)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func TestCheckTakesWhatMayBePostedTo(t *testing.T) {
	s := newSender(t, Config{})
	for _, rawURL := range []string{
		"https://example.com", "http://example.com/hook", "HTTPS://Example.COM:8443/a/b?c=d&e=%20f", "https://example.com./x",
		"https://xn--bcher-kva.example/hook", "https://8.8.8.8/hook", "https://[2606:4700::1111]:443/hook",
		"https://a_b.example.com/hook", "https://1.example.com", "https://example.com:65535", "https://internal-name/hook",
		"https://localhost.example.com/", "https://notlocalhost/",
	} {
		assert.NoError(t, s.Check(rawURL), rawURL)
	}
}

func TestCheckRefusesEveryForbiddenKind(t *testing.T) {
	s := newSender(t, Config{})
	for problem, refused := range map[error][]string{
		errTooLong:    {"https://example.com/" + strings.Repeat("a", 2048)},
		errCharacters: {"https://exa mple.com", "https://example.com/a b", "https://example.com/\r\nHost:x", "https://bücher.example", "https://①②⑦.0.0.1/", "https://example.com/\x00", "https://example.com/ä", " https://example.com", "https://example.com/\x7f", "https://127。0。0。1/"},
		errUnreadable: {"https://example.com:port/", "https://[::1", "http://%31/", "://", "https://example.com:-1/", "https://a\\@b/", "https://[]/", "https://[1::2::3]/", "https://[127.0.0.1]x/"},
		errScheme:     {"", "example.com/hook", "ftp://example.com", "file:///etc/passwd", "gopher://example.com", "javascript:alert(1)", "//example.com/hook", "httpss://example.com", "unix:///run/x.sock"},
		errUser:       {"https://user@example.com", "https://user:secret@example.com", "https://@example.com", "http://example.com@127.0.0.1/"},
		errFragment:   {"https://example.com/#", "https://example.com/hook#part"},
		errNoHost:     {"https://", "https:///hook", "https:example.com", "https://:443/", "http:/hook"},
		errPort:       {"https://example.com:0/", "https://example.com:65536/", "https://example.com:/", "https://example.com:99999999999999999999/"},
		errHost:       {"https://exa*mple.com/", "https://a..b/", "https://.example.com/", "https://" + strings.Repeat("a", 64) + ".com", "https://" + strings.Repeat("a.", 127) + "aa", "https://a,b/", "https://../"},
		errZone:       {"https://[fe80::1%25eth0]/", "https://[fe80::1%251]/"},
		errNumber: {
			"http://2130706433/", "http://0x7f000001/", "http://0x7f.1/", "http://0177.0.0.1/", "http://127.1/", "http://127.0.1/",
			"http://017700000001/", "http://0X7F.0.0.1/", "http://127.0.0.01/", "http://127.0.0.0x1/", "http://1.2.3.4.5/",
			"http://256.1.1.1/", "http://a.b.1/", "http://0x/", "http://0/", "http://4294967297/", "http://00127.0.0.1./",
		},
		errReserved: {
			"http://127.0.0.1/", "http://127.0.0.1./", "http://127.9.9.9:8080/", "http://10.0.0.1/", "http://192.168.0.1/",
			"http://172.16.0.1/", "http://169.254.169.254/latest/meta-data/", "http://100.64.0.1/", "http://0.0.0.0/",
			"http://255.255.255.255/", "http://224.0.0.1/", "http://192.0.2.1/", "http://198.18.0.1/", "http://[::1]/", "http://[::]/",
			"http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]/", "http://[0:0:0:0:0:ffff:10.0.0.1]/", "http://[fe80::1]/",
			"http://[fd00::1]/", "http://[ff02::1]/", "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/", "http://[2001::1]/",
			"http://[2001:db8::1]/", "http://localhost/", "http://LOCALHOST:80/", "http://localhost./", "http://a.localhost/",
			"http://A.LocalHost./",
		},
	} {
		for _, rawURL := range refused {
			assert.ErrorIs(t, s.Check(rawURL), problem, rawURL)
			assert.Empty(t, s.Endpoint(rawURL))
			assert.False(t, s.Post(t.Context(), Request{URL: rawURL, Secret: NewSecret()}).Delivered)
		}
	}
}

func TestCheckFollowsTheAllowedNetworks(t *testing.T) {
	s := newSender(t, Config{AllowedNetworks: "127.0.0.0/8,fd00::/8"})
	for _, rawURL := range []string{
		"http://127.0.0.1:8080/", "http://[::ffff:127.0.0.1]/", "http://localhost/", "http://a.localhost/", "http://[fd00::1]/",
	} {
		assert.NoError(t, s.Check(rawURL), rawURL)
	}
	for _, rawURL := range []string{"http://[::1]/", "http://10.0.0.1/", "http://169.254.169.254/"} {
		assert.ErrorIs(t, s.Check(rawURL), errReserved, rawURL)
	}
	assert.ErrorIs(t, newSender(t, Config{AllowedNetworks: "::1/128"}).Check("http://localhost/"), errReserved)
}

func TestAnEndpointIsWhatAURLLeadsTo(t *testing.T) {
	s := newSender(t, Config{})
	assert.Equal(t, "https://example.com:443/A?b", s.Endpoint("https://Example.com./A?b"))
	assert.Equal(t, "https://example.com:443/A?b", s.Endpoint("HTTPS://example.com:443/A?b"))
	assert.Equal(t, "http://example.com:80/", s.Endpoint("http://example.com"))
	assert.Equal(t, "https://[2606:4700::1111]:8443/", s.Endpoint("https://[2606:4700::1111]:8443"))
}

// asResolversRead returns the IPv4 address that lenient resolvers read from a host: one to four decimal, octal or hexadecimal
// numbers, of which the last fills the remaining bytes.
func asResolversRead(host string) (netip.Addr, bool) {
	parts := strings.Split(strings.TrimSuffix(host, "."), ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, part := range parts {
		base := 10
		if digits, hexadecimal := strings.CutPrefix(part, "0x"); hexadecimal {
			base, part = 16, "0"+digits
		} else if strings.HasPrefix(part, "0") {
			base = 8
		}
		number, err := strconv.ParseUint(part, base, 32)
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		if err != nil || number >= 1<<bits {
			return netip.Addr{}, false
		}
		value = value<<bits | number
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		"https://example.com/hook?a=b", "http://127.0.0.1:80/", "http://2130706433/", "http://0x7f.1", "http://[::1%25eth0]:1/",
		"http://a.localhost.", "https://u:p@h/#f", "http://0177.0.0.01", "http://[::ffff:10.1.1.1]", "http:////", "http://1.1.1.1:080/",
	} {
		f.Add(seed)
	}
	s := newSender(f, Config{})
	f.Fuzz(func(t *testing.T, rawURL string) {
		if err := s.Check(rawURL); err != nil {
			return
		}
		// An accepted URL leads where its text says, even for other programs that read it.
		parsed, err := url.Parse(rawURL)
		require.NoError(t, err)
		require.Nil(t, parsed.User)
		host := parsed.Hostname()
		require.NotEmpty(t, host)
		if literal := net.ParseIP(host); literal != nil {
			require.True(t, literal.IsGlobalUnicast() && !literal.IsPrivate() && !literal.IsLoopback(), rawURL)
		}
		if address, numeric := asResolversRead(strings.ToLower(host)); numeric {
			require.True(t, s.guard.permits(address), rawURL)
		}
		endpoint, err := url.Parse(s.Endpoint(rawURL))
		require.NoError(t, err)
		require.NotEmpty(t, endpoint.Port())
		require.Equal(t, s.Endpoint(rawURL), s.Endpoint(s.Endpoint(rawURL)))
	})
}
