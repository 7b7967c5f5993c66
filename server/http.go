package server

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net/http"
	"time"

	"openintent/internal/database"
)

const (
	// headerTimeout bounds how long a client may take to send a request's headers.
	headerTimeout = 10 * time.Second
	// maxHeaderBytes bounds a request's first line and headers together.
	maxHeaderBytes = 64 << 10
	// idleTimeout ends kept-alive connections that nobody uses. A whole answer has no timeout, because event streams
	// last; slow_clients.go bounds each write.
	idleTimeout = 2 * time.Minute
	// maxStreamsPerHTTPConnection is how many requests one HTTP/2 connection may carry simultaneously, and
	// unreadPerHTTPConnection is how many bytes of their bodies may wait unread.
	maxStreamsPerHTTPConnection = 250
	unreadPerHTTPConnection     = 1 << 20
	// readyTimeout bounds how long the database may take to answer /readyz.
	readyTimeout = 2 * time.Second
)

// newHTTPServer makes the server of a port that speaks HTTP: REST or the admin address.
func newHTTPServer(handler http.Handler, encryption *tls.Config, logger *slog.Logger) *http.Server {
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          maxStreamsPerHTTPConnection,
			MaxReceiveBufferPerConnection: unreadPerHTTPConnection,
			MaxReceiveBufferPerStream:     unreadPerHTTPConnection / 4,
			SendPingTimeout:               quietFor,
			PingTimeout:                   answerWithin,
			WriteByteTimeout:              silentClient,
		},
		IdleTimeout: idleTimeout,
		// Clients cause handshake failures and the like, so they are logged at debug.
		ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
	if encryption != nil {
		server.TLSConfig = encryption.Clone()
	}
	return server
}

// newHTTPHandler answers the paths of a table itself, which are only read, and passes all others on. It does not use
// http.ServeMux, because that answers unclean paths with redirects that do not have our problem form.
func newHTTPHandler(own map[string]http.Handler, others http.Handler) http.Handler {
	return boundTimes(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler, isOwn := own[r.URL.Path]
		switch {
		case !isOwn:
			others.ServeHTTP(w, r)
		case r.Method == http.MethodGet || r.Method == http.MethodHead:
			handler.ServeHTTP(w, r)
		default:
			refuseMethod(w, http.MethodGet, http.MethodHead)
		}
	}))
}

// healthRoutes answer by path how the server is.
func healthRoutes(stopping context.Context, db *database.DB, storing *storing, metrics *metrics) map[string]http.Handler {
	return map[string]http.Handler{
		"/healthz": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { writeHealth(w, "ok") }),
		"/readyz": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := checkReady(r.Context(), stopping, db, storing); err != nil {
				writeProblem(w, toStatus(err))
				return
			}
			writeHealth(w, "ready")
		}),
		"/metrics": metrics.handler(),
	}
}

// checkReady reports whether calls can succeed now: the server is not stopping, and the database answers
// and stores what it is given.
func checkReady(ctx, stopping context.Context, db *database.DB, storing *storing) error {
	if stopping.Err() != nil {
		return errStopping
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := db.Ping(ctx); err != nil {
		return errDatabaseAway.Because(err)
	}
	return storing.check()
}

func writeHealth(w http.ResponseWriter, word string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(`{"status":"` + word + `"}` + "\n"))
}
