package conformance

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// NewServer makes a protocol's server that has the fixtures beside what the door gives it. It serves one request or one client, which
// ends with the context. form puts a fixture's task into the door's form; resultType is task or complete.
func NewServer(
	ctx context.Context, implementation *sdk.Implementation, options *sdk.ServerOptions, form func(resultType string, t Task) sdk.Result,
) *sdk.Server {
	prepare(options)
	server := sdk.NewServer(implementation, options)
	server.AddReceivingMiddleware(withTasks(form))
	for _, t := range tools() {
		server.AddTool(&sdk.Tool{Name: t.name, Description: t.description, InputSchema: json.RawMessage(t.schema)}, t.call)
	}
	addPrompts(server)
	addResources(server)
	running.add(ctx, server)
	return server
}

// prepare adds to a server's options what the fixtures need.
func prepare(options *sdk.ServerOptions) {
	options.Capabilities.Tools = &sdk.ToolCapabilities{ListChanged: true}
	options.Capabilities.Prompts = &sdk.PromptCapabilities{ListChanged: true}
	options.Capabilities.Logging = &sdk.LoggingCapabilities{}
	options.CompletionHandler = func(context.Context, *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
		return &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}, nil
	}
	subscribe, unsubscribe := options.SubscribeHandler, options.UnsubscribeHandler
	if subscribe == nil {
		return // the library would declare subscriptions, which the door does not take from this client
	}
	options.SubscribeHandler = func(ctx context.Context, request *sdk.SubscribeRequest) error {
		if isFixture(request.Params.URI) {
			return nil
		}
		return subscribe(ctx, request)
	}
	options.UnsubscribeHandler = func(ctx context.Context, request *sdk.UnsubscribeRequest) error {
		if isFixture(request.Params.URI) {
			return nil
		}
		return unsubscribe(ctx, request)
	}
}

// isFixture reports whether a resource is one of the fixtures.
func isFixture(uri string) bool { return strings.HasPrefix(uri, scheme) }

// servers are those that answer requests at the moment. The door makes one for each request, so a call that changes what there is
// reaches the streams of other requests through them.
type servers struct {
	mutex sync.Mutex
	all   map[*sdk.Server]struct{}
}

var running = servers{all: make(map[*sdk.Server]struct{})}

func (s *servers) add(ctx context.Context, server *sdk.Server) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.all[server] = struct{}{}
	context.AfterFunc(ctx, func() {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		delete(s.all, server)
	})
}

// each does something with every server that answers a request.
func (s *servers) each(do func(*sdk.Server)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for server := range s.all {
		do(server)
	}
}
