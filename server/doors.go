package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/peer"

	"openintent/doors"
	"openintent/doors/agentchannel"
	"openintent/doors/c2a"
	"openintent/doors/mcp"
	"openintent/doors/repomesh"
	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/reach"
)

// door is a way in for agents that speak another protocol, as the server sees it: it answers requests, and it puts refusals of
// requests that must not reach it into its protocol's form.
type door interface {
	http.Handler
	Refuse(w http.ResponseWriter, status int, refusal doors.Refusal)
}

// doorMakers make the doors by name, which is the word for it in OPENINTENT_DOORS.
var doorMakers = map[string]func(connection grpc.ClientConnInterface, options gatewayOptions, cfg Config) door{
	"mcp": func(connection grpc.ClientConnInterface, options gatewayOptions, cfg Config) door {
		through := mcp.Config{
			Connection: connection, Version: options.Version, MaxBodyBytes: options.MaxBodyBytes,
			AgentChannels: agentChannels(options, cfg), Logger: options.Logger,
		}
		if slices.Contains(cfg.doors(), "repomesh") {
			through.Repomesh = newRepomesh(connection, options, cfg)
		}
		return mcp.New(through)
	},
	"c2a": func(connection grpc.ClientConnInterface, options gatewayOptions, _ Config) door {
		return c2a.New(c2a.Config{
			Connection: connection, Version: options.Version, MaxMessageBytes: options.MaxBodyBytes, Logger: options.Logger,
		})
	},
	"agent-channel": func(connection grpc.ClientConnInterface, options gatewayOptions, cfg Config) door {
		return agentchannel.New(agentchannel.Config{Connection: connection, Logger: options.Logger, Options: agentChannels(options, cfg)})
	},
	"repomesh": func(connection grpc.ClientConnInterface, options gatewayOptions, cfg Config) door {
		return newRepomesh(connection, options, cfg)
	},
}

// widePaths are the paths of doors that have all paths below them as well. Another door has the one path of its name.
var widePaths = map[string]string{"agent-channel": "/agent-channel", "repomesh": repomesh.Path}

// noDoors is the word of OPENINTENT_DOORS for none.
const noDoors = "none"

// doors returns the names of the doors that the settings open.
func (c Config) doors() []string {
	if c.Doors == noDoors {
		return nil
	}
	return commaSeparated(c.Doors)
}

// validateDoors refuses names of doors that there are not.
func (c Config) validateDoors() error {
	for _, name := range c.doors() {
		if doorMakers[name] == nil {
			return fmt.Errorf("OPENINTENT_DOORS must list doors among %s, separated by commas, or be %s; %q is no door",
				strings.Join(slices.Sorted(maps.Keys(doorMakers)), ", "), noDoors, name)
		}
	}
	return nil
}

// doorway is the frame of the doors on the REST port. It does for all of them, once, what the interceptors cannot do: they see the
// calls that a door makes, and not the requests that reach it.
type doorway struct {
	gateway *gateway
	// doors are those with one path, by it, and wide those that have all paths below theirs as well.
	doors  map[string]openDoor
	wide   []openDoor
	limits limits
	here   *reach.Here
	// resource tells clients of the door for MCP where to get a token; nil if nothing gives any.
	resource *protectedResource
	// origins are those whose pages may come in, beside the host's own.
	origins []string
	// inside counts the requests that doors are serving. The HTTP server does not wait for those that became WebSockets.
	inside sync.WaitGroup
}

// openDoor is a door with its name and its path.
type openDoor struct {
	door
	name, path string
}

func newDoorway(g *gateway, connection grpc.ClientConnInterface, limits limits, here *reach.Here, cfg Config) *doorway {
	d := &doorway{gateway: g, doors: make(map[string]openDoor), limits: limits, here: here, origins: cfg.corsOrigins()}
	for _, name := range cfg.doors() {
		made := openDoor{doorMakers[name](throughDoor{connection}, g.options, cfg), name, pathOfDoor(name)}
		d.doors[made.path] = made
		if widePaths[name] != "" {
			d.wide = append(d.wide, made)
		}
	}
	d.resource = newProtectedResource(cfg, d.doors)
	return d
}

// errDoorOrigin refuses a page of another origin. Doors refuse those on every port, as their protocols demand, and not only on
// ports that this machine alone can reach.
var errDoorOrigin = fault.New(fault.Denied, "ORIGIN_NOT_ALLOWED",
	"This door answers no pages of other origins; add the origin to OPENINTENT_CORS_ORIGINS of the server.")

// serve answers a request if its path is that of a door, or of what a door says about itself, and reports whether it is.
func (d *doorway) serve(w *trackedWriter, r *http.Request) bool {
	if d == nil {
		return false
	}
	if d.resource.serve(w, r) {
		return true
	}
	through, ok := d.at(r.URL.Path)
	if !ok {
		return false
	}
	if through.name == mcpDoor {
		w.challenge = d.resource.challenge(r)
	}
	r = r.WithContext(peer.NewContext(r.Context(), clientOf(r)))
	who, leave, err := d.admit(w, r)
	if err != nil {
		made := toStatus(err)
		d.gateway.note(r, made)
		d.count(through.name, httpStatus(made))
		through.Refuse(w, httpStatus(made), doors.RefusalOf(made.Err()))
		return true
	}
	defer leave()
	d.inside.Add(1)
	defer d.inside.Done()
	if spans := d.gateway.options.Spans; spans != nil {
		var end func()
		r, end = spans.beginDoor(through.name, w, r)
		defer end()
	}
	paths := doorPaths{d.here, who.Agent}
	ctx := doors.WithPaths(doors.WithMemory(reach.Unheard(r.Context()), w), paths)
	ctx = doors.WithWaits(ctx, doorWaits{d.limits.waits, who, paths})
	through.ServeHTTP(w, r.WithContext(ctx))
	d.count(through.name, w.status)
	return true
}

// at returns the door at a path.
func (d *doorway) at(path string) (openDoor, bool) {
	if through, ok := d.doors[path]; ok {
		return through, true
	}
	for _, through := range d.wide {
		if strings.HasPrefix(path, through.path+"/") {
			return through, true
		}
	}
	return openDoor{}, false
}

// admit lets a request through to its door. It checks the page that the request comes from and the caller's credentials, counts the
// request among the caller's streams, because it may wait, and reads the body as far as the caller's account has memory for it.
func (d *doorway) admit(w *trackedWriter, r *http.Request) (who caller.Caller, leave func(), _ error) {
	for _, origin := range r.Header.Values("Origin") {
		if !sameOrigin(origin, r.Host, r.TLS != nil) && !slices.Contains(d.origins, origin) {
			return who, nil, errDoorOrigin
		}
	}
	call := &restCall{}
	who, _, err := d.gateway.identify(r, call)
	if err != nil {
		return who, nil, err
	}
	w.account = call.account
	if leave, err = d.limits.streams.enter(caller.NewContext(r.Context(), who)); err != nil {
		return who, nil, err
	}
	if r.Method == http.MethodGet {
		return who, leave, nil
	}
	body, err := d.gateway.readAll(w, r, call.account)
	if err != nil {
		leave()
		return who, nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return who, leave, nil
}

// Hold counts what a caller has sent through a door on its account.
func (w *trackedWriter) Hold(bytes int64) (within bool) {
	return w.account == nil || w.account.holdRequest(bytes)
}

// HoldAnswer counts what a door has for a caller, and the caller has not read, on the caller's account.
func (w *trackedWriter) HoldAnswer(bytes int64) {
	if w.account != nil {
		w.account.holdAnswer(bytes)
	}
}

// Account returns the caller's account.
func (w *trackedWriter) Account() any {
	if w.account == nil {
		return nil
	}
	return w.account
}

// stop tells the doors whose connections last to end them.
func (d *doorway) stop() {
	for _, through := range d.doors {
		if lasting, ok := through.door.(interface{ Stop() }); ok {
			lasting.Stop()
		}
	}
}

// await waits until no door serves a request any more, or the context ends.
func (d *doorway) await(ctx context.Context) {
	left := make(chan struct{})
	go func() {
		d.inside.Wait()
		close(left)
	}()
	select {
	case <-left:
	case <-ctx.Done():
	}
}

// count counts an answer of a door by its HTTP status.
func (d *doorway) count(name string, status int) {
	if metrics := d.gateway.options.Metrics; metrics != nil {
		metrics.doors.WithLabelValues(name, strconv.Itoa(status)).Inc()
	}
}
