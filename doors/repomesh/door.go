package repomesh

import (
	"context"
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
}

// Door serves RepoMesh's protocol.
type Door struct {
	config Config
	lists  turns
}

// New makes the door.
func New(config Config) *Door { return &Door{config: config} }

// ServeHTTP answers a request of the REST face.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	found, err := routeOf(r)
	if err != nil {
		d.answer(w, nil, found, nil, err)
		return
	}
	given, unread := found.arguments(r)
	caller, err := d.identify(r.Context(), r.Header, found.action, given)
	if err != nil {
		d.answer(w, nil, found, given, err)
		return
	}
	s := &session{door: d, caller: caller, room: wholePayloads, page: restPage}
	if unread != nil {
		d.answer(w, s, found, given, unread)
		return
	}
	answer, err := s.run(r.Context(), found.action, given)
	if err != nil {
		d.answer(w, s, found, given, err)
		return
	}
	status := http.StatusOK
	if found.creates {
		status = http.StatusCreated
	}
	write(w, status, answer)
}

// answer refuses a request. The session is nil if nobody knows who calls.
func (d *Door) answer(w http.ResponseWriter, s *session, found route, given []byte, err error) {
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
