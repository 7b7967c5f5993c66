package mcp

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc"

	"openintent/doors"
	"openintent/doors/agentchannel"
	"openintent/doors/repomesh"
	"openintent/internal/fault"
)

// revisions are those of the protocol that the door serves, the newest first.
var revisions = []string{"2026-07-28", "2025-11-25", "2025-06-18"}

// longestWait is how long a tool waits before it answers with a cursor. Clients give up on a tool after about 60 seconds.
const longestWait = 50 * time.Second

// errBatch refuses a body of several requests. No revision that the door serves has such bodies, and one of them could ask for
// thousands of calls.
var errBatch = fault.New(fault.Invalid, "BATCH_NOT_ALLOWED", "This door takes one request in a body; send each by itself.")

// Config is what the door needs.
type Config struct {
	// Connection leads to the contract; required.
	Connection grpc.ClientConnInterface
	// Version is the program's version.
	Version string
	// MaxBodyBytes bounds a request's body; the server that stands in front may bound it closer.
	MaxBodyBytes int64
	// AgentChannels are the options of the tools for agent channels.
	AgentChannels agentchannel.Options
	// Repomesh is the door whose actions are tools here, too; nil if it is not open.
	Repomesh *repomesh.Door
	// Logger receives the failures of the door itself; nil means no log.
	Logger *slog.Logger
}

// Door serves MCP.
type Door struct {
	config  Config
	handler http.Handler
}

// New makes the door.
func New(config Config) *Door {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	d := &Door{config: config}
	d.handler = sdk.NewStreamableHTTPHandler(serverOf, &sdk.StreamableHTTPOptions{
		Stateless:                    true,
		PropagateRequestCancellation: true,
		MaxRequestBodyBytes:          config.MaxBodyBytes,
		DisableLocalhostProtection:   true, // the server in front knows its own names
	})
	return d
}

// serverKey is the context's key of the server that answers a request.
type serverKey struct{}

func serverOf(r *http.Request) *sdk.Server {
	server, _ := r.Context().Value(serverKey{}).(*sdk.Server)
	return server
}

// ServeHTTP answers a request of the streamable HTTP transport.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	chosen, known := d.profileOf(r.URL.Query()["tools"])
	if !known {
		d.refuse(w, doors.RefusalOf(errProfileUnknown))
		return
	}
	caller, err := doors.Identify(r.Context(), d.config.Connection, r.Header)
	if err != nil {
		if doors.OwnFailure(err) {
			d.config.Logger.ErrorContext(r.Context(), "the door for MCP failed", "error", err)
		}
		d.refuse(w, doors.RefusalOf(err))
		return
	}
	body := bufio.NewReaderSize(r.Body, lookedAt)
	r.Body = io.NopCloser(body)
	if isBatch(body) {
		d.refuse(w, doors.RefusalOf(errBatch))
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	s := &session{door: d, caller: caller, profile: chosen, ended: ctx, waits: longestWait}
	server := s.server(neededBy(body), r.Header.Get("Mcp-Protocol-Version") >= revisions[0])
	defer s.updates.wait()
	defer cancel()
	d.handler.ServeHTTP(w, r.WithContext(context.WithValue(ctx, serverKey{}, server)))
}

// isBatch reports whether a body is a list. It leaves the body to be read from its beginning.
func isBatch(body *bufio.Reader) bool {
	for {
		next, err := body.ReadByte()
		if err != nil {
			return false
		}
		switch next {
		case ' ', '\t', '\r', '\n': // what may stand before JSON
		default:
			_ = body.UnreadByte()
			return next == '['
		}
	}
}

// Serve answers one client on a transport that lasts, such as standard input and output, until the client leaves or the context
// ends. The caller is whoever the connection of the caller says.
func (d *Door) Serve(ctx context.Context, caller *doors.Caller, transport sdk.Transport) error {
	ctx, cancel := context.WithCancel(ctx)
	s := &session{door: d, caller: caller, profile: profiles[""], ended: ctx, waits: longestWait}
	server := s.server("", true)
	defer s.updates.wait()
	defer cancel()
	return server.Run(ctx, transport)
}

// refuse answers a request that the door itself does not let in.
func (d *Door) refuse(w http.ResponseWriter, refusal doors.Refusal) {
	d.Refuse(w, refusal.HTTPStatus(), refusal)
}

// Refuse answers a request that does not reach the protocol.
func (d *Door) Refuse(w http.ResponseWriter, status int, refusal doors.Refusal) {
	doors.RefuseRPC(w, status, refusal)
}
