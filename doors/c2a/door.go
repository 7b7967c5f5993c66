package c2a

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc"

	"openintent/doors"
	"openintent/internal/fault"
)

// Config is what the door needs.
type Config struct {
	// Connection leads to the contract; required.
	Connection grpc.ClientConnInterface
	// Version is the program's version.
	Version string
	// MaxMessageBytes bounds what a harness sends in one message; 1 MiB when 0.
	MaxMessageBytes int64
	// Logger receives who comes, why connections end, and the failures of the door itself; nil means no log.
	Logger *slog.Logger
}

// times are the times of a connection. They are whole seconds where the contract takes seconds.
type times struct {
	// initialize is how long a harness may take for its first request, alive how often it is asked for a sign of life, and write how long
	// it may take to read a message and to answer that.
	initialize, alive, write time.Duration
	// arrive is how long a message may take to arrive once it has begun, and close how long a harness may take to answer that a connection
	// is closed.
	arrive, close time.Duration
	// acknowledge is how long a delivery waits for its answer before it is made again.
	acknowledge time.Duration
}

var usualTimes = times{
	initialize: 10 * time.Second, alive: 20 * time.Second, write: 30 * time.Second, arrive: 30 * time.Second, close: 10 * time.Second,
	acknowledge: 30 * time.Second,
}

// Door serves C2A.
type Door struct {
	config Config
	times  times
	// stopping ends with the door.
	stopping context.Context
	stop     context.CancelFunc
}

// New makes the door.
func New(config Config) *Door {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.MaxMessageBytes == 0 {
		config.MaxMessageBytes = 1 << 20
	}
	d := &Door{config: config, times: usualTimes}
	d.stopping, d.stop = context.WithCancel(context.Background())
	return d
}

// Stop ends all connections and tells their harnesses to connect again. It does not wait for them.
func (d *Door) Stop() { d.stop() }

// errNoSocket refuses a request that is no beginning of a WebSocket.
var errNoSocket = fault.New(fault.Invalid, "WEBSOCKET_NEEDED",
	"This door speaks C2A on WebSockets only; connect with a WebSocket client, or start openintent c2a.")

// ServeHTTP serves a harness that connects by WebSocket, until it leaves.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	caller, err := doors.Identify(r.Context(), d.config.Connection, r.Header)
	if err != nil {
		if doors.OwnFailure(err) {
			d.config.Logger.ErrorContext(r.Context(), "the door for C2A failed", "error", err)
		}
		refusal := doors.RefusalOf(err)
		d.Refuse(w, refusal.HTTPStatus(), refusal)
		return
	}
	if r.Method != http.MethodGet || !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		refusal := doors.RefusalOf(errNoSocket)
		d.Refuse(w, refusal.HTTPStatus(), refusal)
		return
	}
	s, err := d.accept(w, r)
	if err != nil {
		return // accept has answered
	}
	_ = d.serve(r.Context(), caller, s)
}

// Refuse answers a request that does not reach the protocol.
func (d *Door) Refuse(w http.ResponseWriter, status int, refusal doors.Refusal) {
	doors.RefuseRPC(w, status, refusal)
}

// Serve serves one harness on standard input and output, one message a line, until its input ends or the context does. The caller is
// whoever the connection of the caller says. It returns why the door ended the connection, and nil if the harness left.
func (d *Door) Serve(ctx context.Context, caller *doors.Caller, in io.Reader, out io.Writer) error {
	return d.serve(ctx, caller, newLines(in, out, int(d.config.MaxMessageBytes)))
}
