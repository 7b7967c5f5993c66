package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// asked sends a request without a key as if it were for a host, with headers given as pairs.
func asked(t *testing.T, address, verb, path, host string, headers ...string) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(as(t), verb, "http://"+address+path, nil)
	require.NoError(t, err)
	request.Host = host
	for i := 0; i < len(headers); i += 2 {
		request.Header.Add(headers[i], headers[i+1])
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return reply{response.StatusCode, response.Header, string(body)}
}

// everyRoute lists a verb and a path for each route of the REST face, and some that are none.
func everyRoute(t *testing.T) (all [][2]string) {
	table, err := newRoutes()
	require.NoError(t, err)
	parameter := regexp.MustCompile(`\{[^}]*\}`)
	for _, route := range table.all {
		path := "/" + parameter.ReplaceAllString(strings.Join(route.segments, "/"), "some")
		all = append(all, [2]string{route.verb, path}, [2]string{route.verb, "/api" + path})
	}
	for _, route := range eventRoutes {
		all = append(all, [2]string{http.MethodGet, route.before + "some" + route.after})
	}
	documents, err := openDocuments("", nil, false)
	require.NoError(t, err)
	for path := range documents {
		all = append(all, [2]string{http.MethodGet, path}, [2]string{http.MethodHead, path})
	}
	for path := range healthRoutes(t.Context(), nil, nil, newMetrics()) {
		all = append(all, [2]string{http.MethodGet, path})
	}
	for _, path := range []string{resourcePath, resourcePath + "/mcp"} {
		all = append(all, [2]string{http.MethodGet, path})
	}
	return append(all, [2]string{http.MethodGet, "/v1/server/config"}, [2]string{http.MethodGet, "/v1/nowhere"},
		[2]string{http.MethodOptions, "/v1/intents"}, [2]string{http.MethodTrace, "/nowhere"})
}

func TestOnLoopbackEveryRouteRefusesForeignHostsAndPages(t *testing.T) {
	for name, keys := range map[string]string{"development key": "", "configured keys": "mine"} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(t)
			cfg.APIKeys = keys
			server := start(t, cfg)
			defer server.stop(t)
			routes := everyRoute(t)
			require.Greater(t, len(routes), 100)
			for _, route := range routes {
				for _, foreign := range []struct{ host, origin, reason string }{
					{"attacker.example", "", "HOST_NOT_ALLOWED"},
					{"attacker.example", "http://attacker.example", "HOST_NOT_ALLOWED"},
					{server.HTTP, "https://attacker.example", "ORIGIN_NOT_ALLOWED"},
					{server.HTTP, "null", "ORIGIN_NOT_ALLOWED"},
				} {
					var headers []string
					if foreign.origin != "" {
						headers = []string{"Origin", foreign.origin}
					}
					got := asked(t, server.HTTP, route[0], route[1], foreign.host, headers...)
					require.Equal(t, http.StatusForbidden, got.status, "%s %s", route, foreign)
					require.Empty(t, got.header.Get("Access-Control-Allow-Origin"))
					if route[0] != http.MethodHead {
						require.Equal(t, foreign.reason, problemOf(t, got, http.StatusForbidden)["reason"], "%s %s", route, foreign)
					}
				}
			}
			require.Contains(t, cfg.Log.(*lockedBuffer).String(), `"reason":"HOST_NOT_ALLOWED"`)
		})
	}
}

func TestOnLoopbackOwnNamesAndPagesAreServed(t *testing.T) {
	server := start(t, testConfig(t))
	defer server.stop(t)
	for _, host := range []string{"localhost", "LOCALHOST:1", "127.0.0.1", "127.9.9.9:80", "[::1]", "[::1]:8000"} {
		origin := "http://" + strings.TrimSuffix(host, ":80")
		require.Equal(t, http.StatusOK, asked(t, server.HTTP, http.MethodGet, "/docs", host).status, host)
		require.Equal(t, http.StatusOK, asked(t, server.HTTP, http.MethodGet, "/docs", host, "Origin", origin).status, host)
	}
	for _, host := range []string{
		"attacker.example:8000", "localhost.attacker.example", "10.0.0.1:8000", "0.0.0.0:8000", "127.0.0.1.attacker.example",
	} {
		require.Equal(t, http.StatusForbidden, asked(t, server.HTTP, http.MethodGet, "/docs", host).status, host)
	}
	for _, origin := range []string{
		"http://localhost:3000", "http://localhost:8001", "http://127.0.0.1:8000", "localhost:8000", "http://localhost:8000.attacker.example",
		"http://localhost:8000/", "ftp://localhost:8000", "", "*",
	} {
		got := asked(t, server.HTTP, http.MethodGet, "/docs", "localhost:8000", "Origin", origin)
		require.Equal(t, "ORIGIN_NOT_ALLOWED", problemOf(t, got, http.StatusForbidden)["reason"], origin)
	}
	two := asked(t, server.HTTP, http.MethodGet, "/docs", "localhost:8000", "Origin", "http://localhost:8000", "Origin", "http://a.example")
	require.Equal(t, http.StatusForbidden, two.status, "each of several origins counts")
}

func TestAPageOfTheSameHostIsNoForeignOne(t *testing.T) {
	for _, test := range []struct {
		origin, host string
		encrypted    bool
		same         bool
	}{
		{"http://localhost:8000", "localhost:8000", false, true},
		{"http://localhost", "localhost:80", false, true},
		{"https://api.example", "api.example", false, true}, // TLS ends in front of the server
		{"https://api.example", "API.example:443", true, true},
		{"http://localhost:8000", "localhost:8000", true, false},
		{"https://api.example", "api.example:8443", true, false},
		{"https://api.example", "", false, false},
		{"null", "localhost:8000", false, false},
	} {
		require.Equal(t, test.same, sameOrigin(test.origin, test.host, test.encrypted), test)
	}
}

func TestAProxyOnThisMachineMayPassOnAllowedHosts(t *testing.T) {
	cfg := testConfig(t)
	cfg.APIKeys, cfg.AllowedHosts = "mine", "api.example, 192.0.2.7"
	server := start(t, cfg)
	defer server.stop(t)
	for _, host := range []string{"api.example", "API.example:443", "192.0.2.7:8000", "localhost"} {
		require.Equal(t, http.StatusOK, asked(t, server.HTTP, http.MethodGet, "/readyz", host).status, host)
	}
	same := asked(t, server.HTTP, http.MethodGet, "/docs", "api.example", "Origin", "https://api.example")
	require.Equal(t, http.StatusOK, same.status)
	require.Equal(t, http.StatusForbidden, asked(t, server.HTTP, http.MethodGet, "/readyz", "other.example").status)
	require.Equal(t, http.StatusForbidden,
		asked(t, server.HTTP, http.MethodGet, "/docs", "localhost", "Origin", "https://api.example").status)

	cfg.APIKeys = ""
	_, _, err := cfg.keys()
	require.ErrorContains(t, err, "under the names of OPENINTENT_ALLOWED_HOSTS everybody could use the development key")
}

func TestAPortThatOthersReachServesEveryHost(t *testing.T) {
	cfg := testConfig(t)
	cfg.APIKeys, cfg.HTTPAddr = "mine", "0.0.0.0:0"
	server := start(t, cfg)
	defer server.stop(t)
	_, port, err := net.SplitHostPort(server.HTTP)
	require.NoError(t, err)
	got := asked(t, "127.0.0.1:"+port, http.MethodGet, "/readyz", "openintent.example", "Origin", "https://elsewhere.example")
	require.Equal(t, http.StatusOK, got.status)
	require.Empty(t, got.header.Get("Access-Control-Allow-Origin"), "a browser shows the page nothing")
}

func TestAPortIsAskedUnderTheNameThatItIsConfiguredWith(t *testing.T) {
	cfg := DefaultConfig()
	names := cfg.ownNames("my-machine:8000", &net.TCPAddr{IP: net.IPv4(127, 0, 1, 1), Port: 8000})
	require.NoError(t, names.admit("my-machine:8000", nil, false))
	require.ErrorIs(t, names.admit("your-machine:8000", nil, false), errHostForeign)
	require.NoError(t, names.admit("", nil, false), "a request without a host is no browser's")
	require.Nil(t, cfg.ownNames("my-machine:8000", &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 8000}))
}

func TestOnLoopbackEveryMethodOverGRPCRefusesForeignHostsAndPages(t *testing.T) {
	server := start(t, testConfig(t))
	defer server.stop(t)
	methods, err := listMethods()
	require.NoError(t, err)
	call := func(ctx context.Context, authority, name string) error {
		connection, err := grpc.NewClient(server.GRPC, grpc.WithAuthority(authority),
			grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		defer func() { _ = connection.Close() }()
		stream, err := connection.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, name)
		require.NoError(t, err)
		_ = stream.CloseSend()
		return stream.RecvMsg(&emptypb.Empty{})
	}
	for name := range methods {
		for reason, ctx := range map[string]context.Context{
			"HOST_NOT_ALLOWED": as(t), "ORIGIN_NOT_ALLOWED": as(t, "origin", "https://attacker.example"),
		} {
			authority := server.GRPC
			if reason == "HOST_NOT_ALLOWED" {
				authority = "attacker.example:50051"
			}
			err := call(ctx, authority, name)
			require.Equal(t, codes.PermissionDenied, status.Code(err), "%s: %v", name, err)
			require.Equal(t, reason, reasonOfError(t, err), name)
		}
	}
	err = call(as(t), "localhost:1", "/openintent.v1.IntentService/ListIntents")
	require.Equal(t, "API_KEY_MISSING", reasonOfError(t, err))
	require.NoError(t, (&ownNames{}).admitCall(metadata.Pairs("x-api-key", "k")), "a call from within names no host")
}
