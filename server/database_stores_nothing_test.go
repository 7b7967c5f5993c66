package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// A server whose database answers and stores nothing is not ready, over both faces, until the database stores again.
func TestReadyzFollowsWhatTheDatabaseStores(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		var full atomic.Bool
		db := databasetest.Open(t, database.Config{URL: url, Hooks: database.Hooks{BeforeCommit: func(context.Context) error {
			if full.Load() {
				return errors.New("no space left on device")
			}
			return nil
		}}})
		healthy := health.NewServer()
		stores := newStoring(db, healthy, slog.New(slog.DiscardHandler))
		handler := newHTTPHandler(healthRoutes(t.Context(), db, stores, newMetrics()), http.NotFoundHandler())
		ask := func() (int, string, healthv1.HealthCheckResponse_ServingStatus) {
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/readyz", nil))
			status, err := healthy.Check(t.Context(), &healthv1.HealthCheckRequest{})
			require.NoError(t, err)
			return answer.Code, answer.Body.String(), status.GetStatus()
		}
		for range 2 {
			require.NoError(t, stores.try(t.Context()))
			code, _, status := ask()
			require.Equal(t, http.StatusOK, code)
			require.Equal(t, healthv1.HealthCheckResponse_SERVING, status)

			full.Store(true)
			require.Error(t, stores.try(t.Context()))
			code, body, status := ask()
			require.Equal(t, http.StatusServiceUnavailable, code)
			require.Contains(t, body, "DATABASE_STORES_NOTHING")
			require.NotContains(t, body, "no space", "the cause is for the log")
			require.Equal(t, healthv1.HealthCheckResponse_NOT_SERVING, status)
			full.Store(false)
		}
	})
}

// A database that others keep busy stores things, so its servers are ready, and one that was found to store nothing stays so.
func TestReadyzIsNotAboutABusyDatabase(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		failure := error(nil)
		db := databasetest.Open(t, database.Config{URL: url, Hooks: database.Hooks{BeforeCommit: func(context.Context) error { return failure }}})
		stores := newStoring(db, health.NewServer(), slog.New(slog.DiscardHandler))
		busy := databasetest.Busy()
		require.True(t, database.IsBusy(busy))
		failure = busy
		require.NoError(t, stores.try(t.Context()))
		require.NoError(t, stores.check())
		failure = errors.New("no space left on device")
		require.Error(t, stores.try(t.Context()))
		failure = busy
		require.NoError(t, stores.try(t.Context()))
		require.ErrorIs(t, stores.check(), errStoresNothing)
	})
}
