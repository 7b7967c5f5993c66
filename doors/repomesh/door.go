package repomesh

import (
	"context"
	"log/slog"
	"net/http"

	"google.golang.org/grpc"

	"openintent/doors"
)

// Path is where the door answers over REST; its routes are below it.
const Path = "/v1/repomesh"

// Config is what the door needs.
type Config struct {
	// Connection leads to the contract; required.
	Connection grpc.ClientConnInterface
	// Intent is the mesh; DefaultIntent when empty.
	Intent string
	// Found makes DefaultIntent, unless it is there already. Nil: somebody else has to.
	Found func(ctx context.Context) error
	// Logger receives the failures of the door itself; nil discards them.
	Logger *slog.Logger
}

// Door serves RepoMesh's protocol.
type Door struct {
	config Config
	lists  turns
}

// New makes the door.
func New(config Config) *Door {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	return &Door{config: config}
}

// failed logs a failure of the door itself, of which its caller learns no more than that it was logged. The server logs those of calls.
func (d *Door) failed(ctx context.Context, action string, err error) {
	if doors.OwnFailure(err) {
		d.config.Logger.ErrorContext(ctx, "the door for RepoMesh's protocol failed", "action", action, "error", err)
	}
}

// ServeHTTP answers a request of the REST face.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	found, err := routeOf(r)
	if err != nil {
		d.answer(w, r, nil, found, nil, err)
		return
	}
	given, unread := found.arguments(r)
	caller, err := d.identify(r.Context(), r.Header, found.action, given)
	if err != nil {
		d.answer(w, r, nil, found, given, err)
		return
	}
	s := &session{door: d, caller: caller, room: wholePayloads, page: restPage}
	if unread != nil {
		d.answer(w, r, s, found, given, unread)
		return
	}
	answer, err := s.run(r.Context(), found.action, given)
	if err != nil {
		d.answer(w, r, s, found, given, err)
		return
	}
	status := http.StatusOK
	if found.creates {
		status = http.StatusCreated
	}
	if err := write(w, status, answer); err != nil {
		d.answer(w, r, s, found, given, err)
	}
}

// answer refuses a request. The session is nil if nobody knows who calls.
func (d *Door) answer(w http.ResponseWriter, r *http.Request, s *session, found route, given []byte, err error) {
	d.failed(r.Context(), found.action.name, err)
	refusal := doors.RefusalOf(err)
	from := ""
	if s != nil {
		from = s.caller.Agent
	}
	refuse(w, refusal.HTTPStatus(), errorOf(from, found.action.name, retriesIn(given), refusal), refusal)
}

// Refuse answers a request that the server does not let reach the door.
func (d *Door) Refuse(w http.ResponseWriter, status int, refusal doors.Refusal) {
	refuse(w, status, errorOf("", "", 0, refusal), refusal)
}
