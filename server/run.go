package server

import (
	"context"
	"crypto/tls"
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

	"openintent/database"
)

// Addresses are the addresses on which a running server listens.
type Addresses struct {
	HTTP string
	GRPC string
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
	encryption, err := cfg.tls()
	if err != nil {
		return &SettingError{err}
	}
	sender, err := cfg.webhooks()
	if err != nil {
		return &SettingError{err}
	}
	db, err := database.Open(ctx, database.Config{
		URL: cfg.DatabaseURL, Clock: cfg.Clock, Logger: logger, Hooks: cfg.Hooks,
		Connections: database.Connections{
			Write: cfg.DatabaseWriteConnections, Read: cfg.DatabaseReadConnections, Heavy: cfg.DatabaseHeavyConnections,
		},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	metrics := newMetrics()
	rooms := wire(db, cfg, sender, metrics, logger)
	rooms.acceptKeys(keys, db.Now, logger)
	rooms.acceptOthers(keys, cfg, db.Now, logger)
	s, err := newServer(cfg, db, rooms, keys, encryption, metrics, logger)
	if err != nil {
		return err
	}
	defer s.end()
	httpListener, grpcListener, err := cfg.listen(ctx)
	if err != nil {
		return err
	}
	s.protect(httpListener.Addr(), grpcListener.Addr())
	s.connections.stray = strayAnswer(httpListener.Addr(), encryption != nil)
	warnOfReaders(keys, logger)
	hangups.reload(cfg, keys, logger)
	failed := s.serve(httpListener, grpcListener)
	if development {
		logger.Warn("no API keys are configured: the development key serves, on loopback only", "key", DevelopmentKey)
	}
	logger.Info(cfg.accessWithoutList(), "default_access", cfg.DefaultAccess)
	addresses := Addresses{httpListener.Addr().String(), grpcListener.Addr().String(), development}
	logger.Info("listening", "http", addresses.HTTP, "grpc", addresses.GRPC, "tls", encryption != nil,
		"database", db.Engine().String(), "version", cfg.Version)
	if ready != nil {
		ready(addresses)
	}

	select {
	case <-ctx.Done():
		logger.Info("stopping")
	case err = <-failed:
	}
	return errors.Join(err, s.stop())
}

// services are what the server serves: the rooms.
type services interface {
	// register adds the services to a registrar: the gRPC server or the in-process connection.
	register(registrar grpc.ServiceRegistrar)
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
	through  *interceptors
	// connections are those of the gRPC port.
	connections *connections
	gateway     *gateway
	grpc        *grpc.Server
	http        *http.Server
	health      *health.Server
	// stopNow cancels the context that the interceptors and /readyz watch.
	stopNow context.CancelFunc
}

// newServer puts both faces in front of the services. Nothing runs yet.
func newServer(
	cfg Config, db *database.DB, services services, keys *Keys, encryption *tls.Config, metrics *metrics,
	logger *slog.Logger,
) (*server, error) {
	stopping, stopNow := context.WithCancel(context.Background())
	through, err := newInterceptors(stopping, keys, newStreamLimits(cfg.MaxStreams, cfg.MaxStreamsPerKey), metrics, logger)
	if err != nil {
		stopNow()
		return nil, err
	}
	through.memory, through.scopes = newMemory(cfg.maxReceiveBytes()), newScopes(db)
	s := &server{
		cfg:         cfg,
		logger:      logger,
		services:    services,
		through:     through,
		connections: newConnections(through.memory, logger),
		health:      health.NewServer(),
		stopNow:     stopNow,
	}
	s.grpc = newGRPCServer(cfg, encryption, through, s.connections)
	early := earlyRegistrar{s.grpc, through}
	services.register(early)
	healthv1.RegisterHealthServer(early, s.health)
	reflection.Register(early)

	inside := newInProcess(through.unary, through.stream)
	services.register(inside)
	s.gateway, err = newGateway(inside, gatewayOptions{
		Identity:     keys,
		MaxBodyBytes: cfg.maxBodyBytes(),
		Doors:        cfg.doors(),
		Version:      cfg.Version,
		Logger:       logger,
		Metrics:      metrics,
		Memory:       through.memory,
		FoundMesh:    services.foundMesh,
	})
	if err != nil {
		s.end()
		return nil, err
	}
	s.gateway.doors = newDoorway(s.gateway, inside, through.limits, cfg)
	handler := allowOrigins(cfg.corsOrigins(), s.gateway.routes, newHTTPHandler(stopping, db, metrics, s.gateway))
	s.http = newHTTPServer(handler, encryption, logger)
	return s, nil
}

// protect makes ports that only this machine can reach answer under their own names only, on every route and method.
func (s *server) protect(httpAddress, grpcAddress net.Addr) {
	if names := s.cfg.ownNames(s.cfg.HTTPAddr, httpAddress); names != nil {
		s.http.Handler = names.protect(s.http.Handler, s.gateway.refuse)
	}
	s.through.names = s.cfg.ownNames(s.cfg.GRPCAddr, grpcAddress)
}

// end ends what a server has from the beginning, whether or not it ever served: the interceptors' context, and the
// goroutines of the gRPC server.
func (s *server) end() {
	s.stopNow()
	s.grpc.Stop()
}

// serve starts the services and both ports. The channel reports a port that fails by itself.
func (s *server) serve(httpListener, grpcListener net.Listener) (failed <-chan error) {
	s.services.start()
	failures := make(chan error, 2)
	go func() {
		if err := s.grpc.Serve(grpcListener); err != nil {
			failures <- fmt.Errorf("the gRPC port failed: %w", err)
		}
	}()
	go func() {
		serve := s.http.Serve
		if s.http.TLSConfig != nil {
			serve = func(listener net.Listener) error { return s.http.ServeTLS(listener, "", "") }
		}
		if err := serve(httpListener); !errors.Is(err, http.ErrServerClosed) {
			failures <- fmt.Errorf("the REST port failed: %w", err)
		}
	}()
	return failures
}

// stop ends calls first and then the services' own work. The calls may use three quarters of the time.
func (s *server) stop() error {
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
	return s.services.stop(ctx)
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
