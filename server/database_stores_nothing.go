package server

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/loop"
	"openintent/keys"
)

const (
	// storingInterval is how often a server finds out whether the database stores anything, and storingPatience how long that may take.
	storingInterval = 10 * time.Second
	storingPatience = 10 * time.Second
)

// errStoresNothing is the answer of /readyz while the database answers and stores nothing.
var errStoresNothing = fault.New(fault.Unavailable, "DATABASE_STORES_NOTHING",
	"The database answers but stores nothing, because its disk is full, it is read-only, or the like; the server's log says why.").After(storingInterval)

// storing knows whether the database stores what it is given. A database whose disk is full, or that is read-only, answers and can serve
// nobody. So the server stores a few bytes now and then. It logs a failure once, and the next success. A nil storing knows of no failure.
type storing struct {
	db     *database.DB
	health *health.Server
	looks  *loop.Loop
	failed atomic.Bool
}

func newStoring(db *database.DB, health *health.Server, logger *slog.Logger) *storing {
	s := &storing{db: db, health: health}
	s.looks = loop.New("store a little in the database, to see whether that is possible", storingInterval, logger, s.try).Slowing(storingInterval)
	return s
}

// try stores a little. A failure that tells only that others are at work counts for nothing.
func (s *storing) try(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storingPatience)
	defer cancel()
	err := s.db.Write(ctx, keys.Probe)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || database.IsBusy(err) {
		return nil
	}
	if failed := err != nil; s.failed.Swap(failed) != failed {
		serving := healthv1.HealthCheckResponse_SERVING
		if failed {
			serving = healthv1.HealthCheckResponse_NOT_SERVING
		}
		s.health.SetServingStatus("", serving)
	}
	return err
}

// check refuses while the database stores nothing.
func (s *storing) check() error {
	if s != nil && s.failed.Load() {
		return errStoresNothing
	}
	return nil
}
