package repomesh

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"openintent/doors"
	"openintent/internal/fault"
)

// route is how an action is reached over REST.
type route struct {
	method, path string
	action       action
	// creates is true if the action makes something.
	creates bool
	// named is what the variable part of the path is called among the arguments, and name what it says.
	named, name string
}

// routes are those of the protocol's reference, below Path, and four for actions that the reference does not have there.
var routes = []route{
	{method: "POST", path: "/events", action: eventLog, creates: true},
	{method: "GET", path: "/events", action: eventList},
	{method: "GET", path: "/events/inbox", action: eventInbox},
	{method: "POST", path: "/events/inbox", action: eventInbox},
	{method: "GET", path: "/events/search", action: eventSearch},
	{method: "GET", path: "/events/thread/*", action: eventThread, named: "message_id"},
	{method: "POST", path: "/locks/acquire", action: lockAcquire, creates: true},
	{method: "POST", path: "/locks/*/renew", action: lockRenew, named: "lock_id"},
	{method: "POST", path: "/locks/*/release", action: lockRelease, named: "lock_id"},
	{method: "POST", path: "/tasks", action: taskCreate, creates: true},
	{method: "GET", path: "/tasks", action: taskList},
	{method: "POST", path: "/tasks/claim", action: taskClaim},
	{method: "POST", path: "/tasks/*/claim", action: taskClaim, named: "task_id"},
	{method: "PATCH", path: "/tasks/*", action: taskUpdate, named: "task_id"},
	{method: "POST", path: "/agents/register", action: agentRegister},
	{method: "POST", path: "/agents/*/heartbeat", action: agentHeartbeat, named: "agent_id"},
	{method: "GET", path: "/agents", action: agentList},
}

var (
	errNoRoute  = fault.New(fault.NotFound, "ROUTE_NOT_FOUND", "There is no such route below "+Path+"; the page doors/repomesh.md lists them.")
	errNoMethod = fault.New(fault.MethodNotAllowed, "METHOD_NOT_ALLOWED", "The route has no such method; the header Allow lists those that it has.")
)

// routeOf finds the route of a request.
func routeOf(r *http.Request) (route, error) {
	below, isBelow := strings.CutPrefix(r.URL.Path, Path)
	if !isBelow {
		return route{}, errNoRoute
	}
	var allowed []string
	for _, candidate := range routes {
		name, matches := candidate.matches(below)
		switch {
		case !matches:
		case candidate.method == r.Method:
			candidate.name = name
			return candidate, nil
		case !slices.Contains(allowed, candidate.method):
			allowed = append(allowed, candidate.method)
		}
	}
	if len(allowed) > 0 {
		return route{}, errNoMethod.With("allow", strings.Join(allowed, ", "))
	}
	return route{}, errNoRoute
}

// matches reports whether a path is the route's, and what its variable part says.
func (r route) matches(path string) (name string, ok bool) {
	before, after, variable := strings.Cut(r.path, "*")
	if !variable {
		return "", path == r.path
	}
	rest, begins := strings.CutPrefix(path, before)
	name, ends := strings.CutSuffix(rest, after)
	return name, begins && ends && name != "" && !strings.Contains(name, "/")
}

// arguments returns an action's arguments: those of the query, or those of the body and, where the route has one, the variable part of
// the path. An Idempotency-Key is the argument of that name.
func (r route) arguments(request *http.Request) (json.RawMessage, error) {
	body := []byte(nil)
	if request.Method != http.MethodGet {
		var err error
		if body, err = io.ReadAll(request.Body); err != nil {
			return nil, err
		}
	}
	extra := make(map[string]string)
	if r.named != "" {
		extra[r.named] = r.name
	}
	if key := request.Header.Get("Idempotency-Key"); key != "" {
		extra["idempotency_key"] = key
	}
	if len(extra) == 0 && request.Method != http.MethodGet {
		return body, nil
	}
	members := make(map[string]json.RawMessage)
	if err := doors.ReadArguments(r.action.name, body, nil, &members); err != nil {
		return nil, err
	}
	if request.Method == http.MethodGet {
		if err := r.action.query(request, members); err != nil {
			return nil, err
		}
	}
	for name, value := range extra {
		quoted, _ := json.Marshal(value)
		if said, has := members[name]; has && string(said) != string(quoted) && string(said) != "null" {
			return nil, fault.BadField(name, "differs from the path or the header; give it once.")
		}
		members[name] = quoted
	}
	return json.Marshal(members)
}

// query reads the arguments of a query.
func (a action) query(request *http.Request, into map[string]json.RawMessage) error {
	for name, values := range request.URL.Query() {
		properties := append([]property{retryCount}, a.properties...)
		at := slices.IndexFunc(properties, func(p property) bool { return p.name == name })
		switch {
		case at < 0:
			return fault.BadField(name, "is no argument of %s; leave it out.", a.name)
		case len(values) != 1:
			return fault.BadField(name, "stands in the query twice; give it once.")
		}
		value, ok := argument(properties[at].kind, values[0])
		if !ok {
			return fault.BadField(name, "must be of the type %s.", properties[at].kind)
		}
		into[name] = value
	}
	return nil
}

// argument turns a text of a query into a value of a type.
func argument(kind, said string) (value json.RawMessage, ok bool) {
	var made any = said
	var err error
	switch kind {
	case "integer":
		made, err = strconv.ParseInt(said, 10, 64)
	case "boolean":
		made, err = strconv.ParseBool(said)
	case "string":
	default:
		return nil, false
	}
	if err != nil {
		return nil, false
	}
	value, err = json.Marshal(made)
	return value, err == nil
}
