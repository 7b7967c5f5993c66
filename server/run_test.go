package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/reach"
)

// testConfig is the configuration of a server on free ports with its own database.
func testConfig(t *testing.T) Config {
	cfg := DefaultConfig()
	cfg.HTTPAddr, cfg.GRPCAddr = "127.0.0.1:0", "127.0.0.1:0"
	cfg.DatabaseURL = "sqlite:" + filepath.Join(t.TempDir(), "openintent.db")
	cfg.Log = &lockedBuffer{}
	return cfg
}

// running is a server under test.
type running struct {
	Addresses
	cancel  context.CancelFunc
	stopped chan error
}

func start(t *testing.T, cfg Config) *running {
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{cancel: cancel, stopped: make(chan error, 1)}
	ready := make(chan Addresses, 1)
	go func() { r.stopped <- Run(ctx, cfg, func(addresses Addresses) { ready <- addresses }) }()
	select {
	case r.Addresses = <-ready:
	case err := <-r.stopped:
		cancel()
		t.Fatalf("the server did not start: %v", err)
	case <-time.After(patience):
		t.Fatal("the server did not start in time")
	}
	t.Cleanup(cancel)
	return r
}

func (r *running) stop(t *testing.T) {
	r.cancel()
	select {
	case err := <-r.stopped:
		require.NoError(t, err)
	case <-time.After(patience):
		t.Fatal("the server did not stop in time")
	}
}

// get makes a REST request on a new connection.
func get(t *testing.T, client *http.Client, url string) (status int, body string) {
	request, err := http.NewRequestWithContext(as(t), http.MethodGet, url, nil)
	require.NoError(t, err)
	request.Header.Set("X-API-Key", DevelopmentKey)
	response, err := client.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

func dial(t *testing.T, address string, encryption credentials.TransportCredentials) *grpc.ClientConn {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(encryption))
	require.NoError(t, err)
	return connection
}

func TestRunServesBothFacesAndStopsWithoutATrace(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	cfg := testConfig(t)
	server := start(t, cfg)
	require.True(t, server.DevelopmentKey)
	log := cfg.Log.(*lockedBuffer)
	require.Contains(t, log.String(), `"msg":"listening","http":"`+server.HTTP+`","grpc":"`+server.GRPC+`"`)
	require.Contains(t, log.String(), "the development key serves")

	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for path, want := range map[string]string{
		"/healthz":          `"ok"`,
		"/readyz":           `"ready"`,
		"/metrics":          "openintent_requests_in_flight 0",
		"/v1/intents":       `{"intents":[],"total":0,"next_cursor":null,"total_bounded":false,"bounded":false}`,
		"/api/v1/intents":   `{"intents":[],"total":0,"next_cursor":null,"total_bounded":false,"bounded":false}`,
		"/v1/nowhere":       "ROUTE_NOT_FOUND",
		"/v1//intents":      "ROUTE_NOT_FOUND",
		"/healthz/../v1/no": "ROUTE_NOT_FOUND",
	} {
		_, body := get(t, client, "http://"+server.HTTP+path)
		require.Contains(t, body, want, path)
	}
	connection := dial(t, server.GRPC, insecure.NewCredentials())
	_, err := openintentv1.NewIntentServiceClient(connection).ListIntents(
		as(t, "authorization", "Bearer "+DevelopmentKey), &openintentv1.ListIntentsRequest{})
	require.NoError(t, err)
	watch, err := healthv1.NewHealthClient(connection).Watch(as(t), &healthv1.HealthCheckRequest{})
	require.NoError(t, err)
	serving, err := watch.Recv()
	require.NoError(t, err)
	require.Equal(t, healthv1.HealthCheckResponse_SERVING, serving.GetStatus())

	server.stop(t)
	for err == nil {
		_, err = watch.Recv()
	}
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.NoError(t, connection.Close())

	again := start(t, cfg)
	again.stop(t)
}

func TestRefusalsToStart(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	for _, test := range []struct {
		name    string
		change  func(*Config)
		problem string
	}{
		{"REST on every address without keys", func(c *Config) { c.HTTPAddr = ":0" }, "no API keys are configured"},
		{"gRPC on every address without keys", func(c *Config) { c.GRPCAddr = "0.0.0.0:0" }, "no API keys are configured"},
		{"a bad key", func(c *Config) { c.APIKeys = "a=" }, "API key 1 of the list"},
		{"no key file", func(c *Config) { c.APIKeysFile = "/nowhere/keys.yaml" }, "cannot be read"},
		{"no certificate", func(c *Config) { c.TLSCert, c.TLSKey = "/nowhere/c", "/nowhere/k" }, "OPENINTENT_TLS_CERT cannot be read"},
		{"a bound of nothing", func(c *Config) { c.MaxMembers = 0 }, "must be above 0"},
		{"an unknown log format", func(c *Config) { c.LogFormat = "xml" }, "OPENINTENT_LOG_FORMAT"},
		{"an unknown database", func(c *Config) { c.DatabaseURL = "mysql://root:hidden@db/x" }, "database"},
		{"a database that cannot be", func(c *Config) { c.DatabaseURL = "sqlite:/nowhere/x.db" }, "database"},
		{"the REST port taken", func(c *Config) { c.HTTPAddr = taken.Addr().String() }, "listens at " + taken.Addr().String() + " already; end it, or choose another address with --http-addr"},
		{"the gRPC port taken", func(c *Config) { c.GRPCAddr = taken.Addr().String() }, "the gRPC port cannot be opened"},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg := testConfig(t)
			test.change(&cfg)
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			err := Run(ctx, cfg, func(Addresses) { t.Error("it started"); cancel() })
			require.ErrorContains(t, err, test.problem)
			require.NotContains(t, err.Error(), "hidden")
		})
	}
}

// A server that cannot open its ports leaves no database behind, and does not bring one up to date that another program serves.
func TestAServerTriesItsPortsBeforeItMakesADatabase(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { require.NoError(t, taken.Close()) }()
	for _, change := range []func(*Config){
		func(c *Config) { c.HTTPAddr = taken.Addr().String() },
		func(c *Config) { c.GRPCAddr = taken.Addr().String() },
		func(c *Config) { c.AdminAddr = taken.Addr().String() },
	} {
		cfg := testConfig(t)
		change(&cfg)
		require.ErrorContains(t, Run(t.Context(), cfg, nil), "port cannot be opened")
		_, path, _ := strings.Cut(cfg.DatabaseURL, ":")
		require.NoFileExists(t, path)
	}
}

func TestTLSOnBothFaces(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	cfg := testConfig(t)
	roots := x509.NewCertPool()
	cfg.TLSCert, cfg.TLSKey = writeCertificate(t, roots)
	server := start(t, cfg)
	trust := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trust, ForceAttemptHTTP2: true}}
	code, body := get(t, client, "https://"+server.HTTP+"/readyz")
	require.Equal(t, http.StatusOK, code, body)
	code, _ = get(t, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, "http://"+server.HTTP+"/readyz")
	require.Equal(t, http.StatusBadRequest, code, "plain HTTP is not served")
	connection := dial(t, server.GRPC, credentials.NewTLS(trust))
	_, err := healthv1.NewHealthClient(connection).Check(as(t), &healthv1.HealthCheckRequest{})
	require.NoError(t, err)
	client.CloseIdleConnections()
	require.NoError(t, connection.Close())
	server.stop(t)
}

// writeCertificate makes a certificate for 127.0.0.1, trusted by the pool.
func writeCertificate(t *testing.T, roots *x509.CertPool) (certificatePath, keyPath string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	roots.AddCert(parsed)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	write := func(name, kind string, data []byte) string {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600))
		return path
	}
	return write("cert.pem", "CERTIFICATE", der), write("key.pem", "PRIVATE KEY", secret)
}

func TestHangupWithoutAKeyFileChangesNothing(t *testing.T) {
	cfg := testConfig(t)
	r := start(t, cfg)
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
	require.Eventually(t, func() bool {
		return strings.Contains(cfg.Log.(*lockedBuffer).String(), "none is configured")
	}, patience, time.Millisecond)
	r.stop(t)
}

func TestHangupReadsTheKeyFileAgain(t *testing.T) {
	cfg := testConfig(t)
	cfg.APIKeysFile = writeKeyFile(t, "", "- "+DevelopmentKey)
	server := start(t, cfg)
	defer server.stop(t)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	code, _ := get(t, client, "http://"+server.HTTP+"/v1/intents")
	require.Equal(t, http.StatusOK, code)

	require.NotContains(t, cfg.Log.(*lockedBuffer).String(), "other users may read")
	writeKeyFile(t, cfg.APIKeysFile, "- another")
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
	for began := time.Now(); code != http.StatusUnauthorized; {
		require.Less(t, time.Since(began), patience)
		code, _ = get(t, client, "http://"+server.HTTP+"/v1/intents")
	}
}

func TestAKeyFileThatOthersMayReadIsWarnedOf(t *testing.T) {
	cfg := testConfig(t)
	cfg.APIKeysFile = writeKeyFile(t, "", "- "+DevelopmentKey)
	require.NoError(t, os.Chmod(cfg.APIKeysFile, 0o640))
	server := start(t, cfg)
	defer server.stop(t)
	warned := func() int {
		return strings.Count(cfg.Log.(*lockedBuffer).String(), "other users may read the key file; prevent that with: chmod 600 "+cfg.APIKeysFile)
	}
	require.Equal(t, 1, warned())
	require.NoError(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
	require.Eventually(t, func() bool { return warned() == 2 }, patience, time.Millisecond)
}

// stubbornServices have one call that does not end by itself, and record when they are stopped.
type stubbornServices struct {
	openintentv1.UnimplementedMessageServiceServer
	entered chan struct{}
	finish  chan struct{}
	stopped chan struct{}
	admin   string // the admin address of their server
}

func (s *stubbornServices) SendMessage(context.Context, *openintentv1.SendMessageRequest) (*openintentv1.Message, error) {
	s.entered <- struct{}{}
	<-s.finish
	return &openintentv1.Message{}, nil
}

func (s *stubbornServices) register(registrar grpc.ServiceRegistrar) {
	openintentv1.RegisterMessageServiceServer(registrar, s)
}

func (s *stubbornServices) start() {}

func (s *stubbornServices) paths() *reach.Here { return nil }

func (s *stubbornServices) foundMesh(context.Context) error { return nil }

func (s *stubbornServices) stop(context.Context) error {
	close(s.stopped)
	return nil
}

// startStubborn serves stubborn services with one running call on each face.
func startStubborn(t *testing.T, timeout time.Duration) (server *server, services *stubbornServices, outcomes chan error) {
	cfg := testConfig(t)
	cfg.StopTimeout, cfg.AdminAddr = timeout, "127.0.0.1:0"
	db, err := database.Open(t.Context(), database.Config{URL: cfg.DatabaseURL})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	keys, err := LoadKeys(DevelopmentKey, "")
	require.NoError(t, err)
	services = &stubbornServices{
		entered: make(chan struct{}, 2), finish: make(chan struct{}), stopped: make(chan struct{}),
	}
	server, err = newServer(cfg, db, services, keys, nil, newMetrics(), nil, slog.New(slog.NewTextHandler(cfg.Log, nil)))
	require.NoError(t, err)
	ports, err := cfg.listen(t.Context())
	require.NoError(t, err)
	services.admin = ports.admin.Addr().String()
	server.serve(ports)

	outcomes = make(chan error, 2)
	connection := dial(t, ports.grpc.Addr().String(), insecure.NewCredentials())
	t.Cleanup(func() { _ = connection.Close() })
	go func() {
		_, err := openintentv1.NewMessageServiceClient(connection).SendMessage(as(t, "x-api-key", DevelopmentKey), aMessage())
		outcomes <- err
	}()
	go func() {
		request := httptest.NewRequestWithContext(as(t), http.MethodPost,
			"http://"+ports.http.Addr().String()+"/v1/channels/c/messages", strings.NewReader(`{"payload":{}}`))
		request.RequestURI = ""
		request.Header.Set("X-API-Key", DevelopmentKey)
		response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
		if err == nil {
			_ = response.Body.Close()
		}
		outcomes <- err
	}()
	for range 2 {
		select {
		case <-services.entered:
		case <-time.After(patience):
			t.Fatal("the calls did not arrive")
		}
	}
	return server, services, outcomes
}

func TestAStopWaitsForCallsUnderWay(t *testing.T) {
	server, services, outcomes := startStubborn(t, patience)
	stopped := make(chan error, 1)
	go func() { stopped <- server.stop() }()
	readyz := httptest.NewRecorder()
	require.Eventually(t, func() bool {
		readyz = httptest.NewRecorder()
		server.http.Handler.ServeHTTP(readyz, httptest.NewRequest(http.MethodGet, "/readyz", nil))
		return readyz.Code == http.StatusServiceUnavailable
	}, patience, time.Millisecond)
	require.Contains(t, readyz.Body.String(), "SERVER_STOPPING")
	status, err := server.health.Check(t.Context(), &healthv1.HealthCheckRequest{})
	require.NoError(t, err)
	require.Equal(t, healthv1.HealthCheckResponse_NOT_SERVING, status.GetStatus())
	select {
	case <-services.stopped:
		t.Fatal("the services were stopped before their calls ended")
	default:
	}
	close(services.finish)
	require.NoError(t, <-outcomes)
	require.NoError(t, <-outcomes)
	require.NoError(t, <-stopped)
	<-services.stopped
}

func TestAStopCutsOffCallsThatDoNotEnd(t *testing.T) {
	server, services, outcomes := startStubborn(t, 100*time.Millisecond)
	defer close(services.finish)
	require.NoError(t, server.stop())
	require.Error(t, <-outcomes)
	require.Error(t, <-outcomes)
	<-services.stopped
	require.Contains(t, server.cfg.Log.(*lockedBuffer).String(), "are cut off")
}

func TestReadyzFollowsTheDatabase(t *testing.T) {
	db, err := database.Open(t.Context(), database.Config{URL: testConfig(t).DatabaseURL})
	require.NoError(t, err)
	handler := newHTTPHandler(healthRoutes(t.Context(), db, nil, newMetrics()), http.NotFoundHandler())
	ask := func(path string) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		return answer
	}
	require.Equal(t, http.StatusOK, ask("/readyz").Code)
	require.NoError(t, db.Close())
	away := ask("/readyz")
	require.Equal(t, http.StatusServiceUnavailable, away.Code)
	require.Equal(t, "application/problem+json", away.Header().Get("Content-Type"))
	require.Contains(t, away.Body.String(), "DATABASE_UNAVAILABLE")
	require.Equal(t, http.StatusOK, ask("/healthz").Code, "the process itself is well")
}
