package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/tracing"
	"openintent/reach"
)

// Addresses are the addresses on which a running server listens.
type Addresses struct {
	HTTP string
	GRPC string
	// Admin is empty if there is no admin address.
	Admin string
	// DevelopmentKey is true when no keys were configured and the server accepts DevelopmentKey.
	DevelopmentKey bool
}

// Run serves until the context ends and then stops, within cfg.StopTimeout. It calls ready (which may be nil) once
// both ports answer. An error before that is a refusal to start, in a sentence for the operator; an error after it
// means that a port or a room failed. A stop that had to cut calls off is logged and is not an error.
func Run(ctx context.Context, cfg Config, ready func(Addresses)) (err error) {
	if err := cfg.validate(); err != nil {
		return &SettingError{err}
	}
	logger, err := newLogger(cfg)
	if err != nil {
		return &SettingError{err}
	}
	hangups := catchHangups()
	defer hangups.end()
	keys, development, err := cfg.keys()
	if err != nil {
		return &SettingError{err}
	}
	clock, cfg, err := cfg.underTest(development)
	if err != nil {
		return &SettingError{err}
	}
	encryption, err := openTLS(cfg, logger)
	if err != nil {
		return &SettingError{err}
	}
	sender, err := cfg.webhooks()
	if err != nil {
		return &SettingError{err}
	}
	traced, err := tracing.Open(ctx, tracing.Config{Version: cfg.Version, Logger: logger})
	if err != nil {
		return &SettingError{err}
	}
	defer traced.Close(context.Background()) // does nothing after stop
	if traced != nil {
		logger = tracing.Logged(logger)
	}
	if err := cfg.tryPorts(ctx); err != nil {
		return err
	}
	file := readyFile(cfg.ReadyFile)
	if err := file.remove(); err != nil {
		return &SettingError{err}
	}
	db, err := database.Open(ctx, database.Config{
		URL: cfg.DatabaseURL, Clock: cfg.Clock, Logger: logger, SlowStatements: cfg.SlowStatements, Hooks: cfg.Hooks, AsItIs: !cfg.Migrate,
		Connections: database.Connections{
			Write: cfg.DatabaseWriteConnections, Read: cfg.DatabaseReadConnections, Heavy: cfg.DatabaseHeavyConnections,
		},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	metrics := newMetrics()
	rooms := wire(db, cfg, sender, metrics, newSpans(traced, cfg), logger)
	rooms.accept(keys, cfg, db.Now, logger)
	rooms.watchTLS(encryption, cfg, logger)
	s, err := newServer(cfg, db, rooms, keys, encryption, metrics, newSpans(traced, cfg), logger)
	if err != nil {
		return err
	}
	defer s.end()
	s.tracing, s.gateway.testTime = traced, newTestTime(clock, rooms)
	ports, err := cfg.listen(ctx)
	if err != nil {
		return err
	}
	s.protect(ports)
	s.connections.stray = strayAnswer(ports.http.Addr(), encryption != nil)
	cfg.warn(keys, logger)
	hangups.reload(keys, encryption, logger)
	failed := s.serve(ports)
	addresses := ports.addresses(development)
	addresses.announce(logger, "tls", encryption != nil, "database", db.Engine().String(), "version", cfg.Version)
	if err := file.write(addresses); err != nil {
		return errors.Join(err, s.stop())
	}
	if ready != nil {
		ready(addresses)
	}
	return errors.Join(s.await(ctx, failed), file.remove(), s.stop())
}

// announce logs where the server listens, and how.
func (a Addresses) announce(logger *slog.Logger, how ...any) {
	if a.DevelopmentKey {
		logger.Warn("no API keys are configured: the development key serves, on loopback only", "key", DevelopmentKey)
	}
	logger.Info("listening", append([]any{"http", a.HTTP, "grpc", a.GRPC, "admin", a.Admin}, how...)...)
}

// await waits until the context ends or something fails.
func (s *server) await(ctx context.Context, failed <-chan error) error {
	select {
	case <-ctx.Done():
		s.logger.Info("stopping")
		return nil
	case err := <-failed:
		return err
	}
}

// services are what the server serves: the rooms.
type services interface {
	// register adds the services to a registrar: the gRPC server or the in-process connection.
	register(registrar grpc.ServiceRegistrar)
	// paths keeps the paths to agents at this server.
	paths() *reach.Here
	// start begins the services' own work.
	start()
	// stop ends that work and waits for it, at most until the context ends. When stop is called, no call is running
	// any more except those that were cut off.
	stop(ctx context.Context) error
	// foundMesh makes the mesh of the door for RepoMesh's protocol, unless it is there.
	foundMesh(ctx context.Context) error
}

// server is what exists between start and stop.
type server struct {
	cfg      Config
	logger   *slog.Logger
	services services
	tracing  *tracing.Tracing // nil if nothing is traced
	through  *interceptors
	// connections are those of the gRPC port.
	connections *connections
	gateway     *gateway
	grpc        *grpc.Server
	http        *http.Server
	admin       *http.Server // nil if there is no admin address
	health      *health.Server
	storing     *storing
	figures     *figures
	// stopNow cancels the context that the interceptors and /readyz watch.
	stopNow context.CancelFunc
}

// newServer puts both faces in front of the services. Nothing runs yet.
func newServer(
	cfg Config, db *database.DB, services services, keys *Keys, encryption *tlsFiles, metrics *metrics,
	spans *spans, logger *slog.Logger,
) (*server, error) {
	stopping, stopNow := context.WithCancel(context.Background())
	through, err := newInterceptors(stopping, keys, newLimits(cfg), metrics, logger)
	if err != nil {
		stopNow()
		return nil, err
	}
	through.observer.spans = spans
	through.here = services.paths()
	through.memory, through.scopes = newMemory(cfg.maxReceiveBytes()), newScopes(db)
	s := &server{
		cfg:         cfg,
		logger:      logger,
		services:    services,
		through:     through,
		connections: newConnections(through.memory, newStrangers(cfg.MaxStrangers), logger),
		health:      health.NewServer(),
		stopNow:     stopNow,
	}
	s.grpc = newGRPCServer(cfg, encryption.settings("h2"), through, s.connections)
	early := earlyRegistrar{s.grpc, through}
	services.register(early)
	healthv1.RegisterHealthServer(early, s.health)
	inside := newInProcess(through.unary, through.stream)
	services.register(inside)
	openintentv1.RegisterExchangeServiceServer(early, newExchangeServer(through, inside))
	s.storing = newStoring(db, s.health, logger)
	s.figures = newFigures(metrics.registry, logger)
	info := &serverInfo{cfg: cfg, db: db, here: through.here, storing: s.storing, figures: s.figures, startedAt: db.Now()}
	openintentv1.RegisterServerServiceServer(early, info)
	openintentv1.RegisterServerServiceServer(inside, info)
	reflection.Register(early)
	s.gateway, err = newGateway(inside, gatewayOptions{
		Identity:     keys,
		MaxBodyBytes: cfg.maxBodyBytes(),
		Doors:        cfg.doors(),
		Console:      cfg.Console,
		Version:      cfg.Version,
		Logger:       logger,
		Metrics:      metrics,
		Memory:       through.memory,
		FoundMesh:    services.foundMesh,
		Spans:        spans,
	})
	if err != nil {
		s.end()
		return nil, err
	}
	s.gateway.doors = newDoorway(s.gateway, inside, through.limits, through.here, cfg)
	s.gateway.console = newConsole(s.gateway, keys, cfg, logger)
	health := healthRoutes(stopping, db, s.storing, metrics)
	handler := allowOrigins(cfg.corsOrigins(), s.gateway.routes, newHTTPHandler(health, s.gateway))
	s.http = newHTTPServer(handler, encryption.settings("h2", "http/1.1"), logger)
	s.connections.strangers.watch(s.http)
	if cfg.AdminAddr != "" {
		s.admin = newHTTPServer(newAdminHandler(health), nil, logger)
	}
	return s, nil
}

// protect makes ports that only this machine can reach, and the one that needs no key, answer under their own names only, on
// every route and method.
func (s *server) protect(ports listeners) {
	names := s.cfg.ownNames(s.cfg.HTTPAddr, ports.http.Addr())
	if names != nil {
		s.http.Handler = names.protect(s.http.Handler, s.gateway.refuse)
	}
	s.gateway.doors.resource.listens(names != nil, s.logger)
	s.through.names = s.cfg.ownNames(s.cfg.GRPCAddr, ports.grpc.Addr())
	if s.admin != nil {
		s.admin.Handler = s.cfg.adminNames(ports.admin.Addr()).protect(s.admin.Handler, s.gateway.refuse)
	}
}

// end ends what a server has from the beginning, whether or not it ever served: the interceptors' context, and the
// goroutines of the gRPC server.
func (s *server) end() {
	s.stopNow()
	s.grpc.Stop()
}

// serve starts the services and the ports. The channel reports a port that fails by itself.
func (s *server) serve(ports listeners) (failed <-chan error) {
	s.services.start()
	s.storing.looks.Start()
	s.figures.keeping.Start()
	failures := make(chan error, 3)
	go func() {
		if err := s.grpc.Serve(ports.grpc); err != nil {
			failures <- fmt.Errorf("the gRPC port failed: %w", err)
		}
	}()
	if s.admin != nil {
		go func() {
			if err := s.admin.Serve(ports.admin); !errors.Is(err, http.ErrServerClosed) {
				failures <- fmt.Errorf("the admin port failed: %w", err)
			}
		}()
	}
	go func() {
		serve := s.http.Serve
		if s.http.TLSConfig != nil {
			serve = func(listener net.Listener) error { return s.http.ServeTLS(listener, "", "") }
		}
		if err := serve(ports.http); !errors.Is(err, http.ErrServerClosed) {
			failures <- fmt.Errorf("the REST port failed: %w", err)
		}
	}()
	return failures
}

// stop ends calls first and then the services' own work. The calls may use three quarters of the time. The admin address
// answers until the end, so that whoever watches sees the server stop.
func (s *server) stop() error {
	if s.admin != nil {
		defer func() { _ = s.admin.Close() }()
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.StopTimeout)
	defer cancel()
	callsContext, cancelCalls := context.WithTimeout(ctx, s.cfg.StopTimeout*3/4)
	defer cancelCalls()

	s.health.Shutdown()
	s.stopNow()
	var ports sync.WaitGroup
	ports.Go(func() { s.stopGRPC(callsContext) })
	ports.Go(func() { s.stopHTTP(callsContext) })
	ports.Wait()
	s.storing.looks.Stop()
	s.figures.keeping.Stop()
	err := s.services.stop(ctx)
	s.tracing.Close(ctx)
	return err
}

func (s *server) stopGRPC(ctx context.Context) {
	drained := make(chan struct{})
	go func() {
		s.grpc.GracefulStop()
		close(drained)
	}()
	select {
	case <-drained:
	case <-ctx.Done():
		s.logger.Warn("gRPC calls were still running at the end of the stop and are cut off")
		s.grpc.Stop()
	}
}

func (s *server) stopHTTP(ctx context.Context) {
	s.gateway.doors.stop()
	defer s.gateway.doors.await(ctx)
	if err := s.http.Shutdown(ctx); err != nil {
		s.logger.Warn("REST calls were still running at the end of the stop and are cut off")
		_ = s.http.Close()
	}
}
