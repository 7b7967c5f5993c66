package agentchannel

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"openintent/doors"
	"openintent/internal/fault"
)

// route is what one path and method do.
type route struct {
	method string
	// queries are the keys that the query may have.
	queries []string
	status  int
	do      func(d *Desk, r *http.Request, channel string) (any, error)
	// channel is the address in the path.
	channel string
}

// eventList is a list of events as the protocol answers it.
type eventList struct {
	Events []Event `json:"events"`
}

// routes are the door's routes by what follows the address: "" is the channel itself, and "/" the list of channels.
var routes = map[string][]route{
	"/": {
		{method: "GET", queries: []string{"include_closed", "cursor"}, status: 200, do: serveList},
		{method: "POST", status: 201, do: serveCreate},
	},
	"": {{method: "GET", status: 200, do: func(d *Desk, r *http.Request, channel string) (any, error) {
		return d.Read(r.Context(), channel)
	}}},
	"state": {{method: "GET", status: 200, do: func(d *Desk, r *http.Request, channel string) (any, error) {
		return d.State(r.Context(), channel)
	}}},
	"spec": {{method: "GET", status: 200, do: func(d *Desk, r *http.Request, channel string) (any, error) {
		return d.Spec(r.Context(), channel)
	}}},
	"events": {{method: "GET", queries: []string{"kind", "limit", "after"}, status: 200, do: serveEvents}},
	"event":  {{method: "POST", status: 201, do: servePost}},
	"close": {{method: "POST", status: 200, do: func(d *Desk, r *http.Request, channel string) (any, error) {
		return d.Close(r.Context(), channel)
	}}},
	"invite": {{method: "POST", status: 201, do: serveInvite}},
}

// errNoRoute refuses a path that the door does not have.
var errNoRoute = fault.New(fault.NotFound, "ROUTE_NOT_FOUND",
	"There is no such path; GET /agent-channel/ID says what there is below a channel.")

// routeOf returns the route of a request. It refuses wrong paths, methods and queries.
func routeOf(r *http.Request) (*route, error) {
	below := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, root), "/")
	address, name, deeper := strings.Cut(below, "/")
	if below == "" {
		name = "/"
	}
	found, known := routes[name]
	if !known || deeper && name == "" || strings.Contains(address, "/") {
		return nil, errNoRoute
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	var allowed []string
	for _, candidate := range found {
		allowed = append(allowed, candidate.method)
		if candidate.method == method {
			candidate.channel = address
			return &candidate, checkQuery(r.URL.RawQuery, candidate.queries)
		}
	}
	return nil, fault.New(fault.MethodNotAllowed, "METHOD_NOT_ALLOWED", "This path takes %s only.", strings.Join(allowed, " and ")).
		With("allow", strings.Join(allowed, ", "))
}

// checkQuery refuses a query that has other keys than those, or one of them twice.
func checkQuery(raw string, keys []string) error {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return fault.BadField("query", "cannot be read; escape what a URL cannot hold.")
	}
	for name, values := range query {
		switch {
		case name != "format" && !slices.Contains(keys, name):
			return fault.BadField(name, "is no parameter of this path; leave it out.")
		case len(values) > 1:
			return fault.BadField(name, "is there %d times; give it once.", len(values))
		}
	}
	return nil
}

func serveList(d *Desk, r *http.Request, _ string) (any, error) {
	closedToo, err := flag(r.URL.Query(), "include_closed")
	if err != nil {
		return nil, err
	}
	return d.List(r.Context(), closedToo, r.URL.Query().Get("cursor"))
}

// flag reads a parameter that is true or false, and false if it is absent.
func flag(query url.Values, name string) (bool, error) {
	if !query.Has(name) {
		return false, nil
	}
	value, err := strconv.ParseBool(query.Get(name))
	if err != nil {
		return false, fault.BadField(name, "must be true or false.")
	}
	return value, nil
}

func serveCreate(d *Desk, r *http.Request, _ string) (any, error) {
	var wanted Creation
	if err := decodeBody(r, &wanted); err != nil {
		return nil, err
	}
	return d.Create(r.Context(), wanted)
}

func serveInvite(d *Desk, r *http.Request, channel string) (any, error) {
	var wanted Inviting
	if err := decodeBody(r, &wanted); err != nil {
		return nil, err
	}
	return d.Invite(r.Context(), channel, wanted)
}

func serveEvents(d *Desk, r *http.Request, channel string) (any, error) {
	query := r.URL.Query()
	wanted := Selection{Limit: eventsListed}
	if query.Has("limit") {
		limit, err := strconv.Atoi(query.Get("limit"))
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return nil, fault.BadField("limit", "must be a number from 1 to %d.", mostEvents)
		}
		wanted.Limit = limit
	}
	for name, into := range map[string]**string{"kind": &wanted.Kind, "after": &wanted.After} {
		if value := query.Get(name); value != "" {
			*into = &value
		}
	}
	events, err := d.Events(r.Context(), channel, wanted)
	return eventList{events}, err
}

func servePost(d *Desk, r *http.Request, channel string) (any, error) {
	var posting Posting
	if err := decodeBody(r, &posting); err != nil {
		return nil, err
	}
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		posting.Key = &key
	}
	if err := posting.require(r.Header); err != nil {
		return nil, err
	}
	return d.Post(r.Context(), channel, posting)
}

// require reads the conditions of a request: If-Match with an event's id or *, and If-None-Match with *.
func (p *Posting) require(headers http.Header) error {
	match, noneMatch := headers.Values("If-Match"), headers.Values("If-None-Match")
	switch {
	case len(match)+len(noneMatch) > 1:
		return fault.BadField("If-Match", "and If-None-Match together may be given once.")
	case len(match) == 1 && match[0] == "*":
		p.Any = true
	case len(match) == 1:
		id := strings.Trim(strings.TrimPrefix(strings.TrimSpace(match[0]), "W/"), `"`)
		if id == "" || strings.ContainsAny(id, `",`) {
			return fault.BadField("If-Match", "must be the id of one event, or *.")
		}
		p.Replaces = &id
	case len(noneMatch) == 1 && noneMatch[0] != "*":
		return fault.BadField("If-None-Match", "can only be *, which says that there is no such document yet.")
	case len(noneMatch) == 1:
		p.Replaces = new(string)
	}
	return nil
}

// decodeBody reads a request's body, which is one JSON object. An empty body is an empty object.
func decodeBody(r *http.Request, into any) error {
	body, err := readBody(r)
	if err != nil {
		return err
	}
	return doors.ReadBody(body, into)
}
