package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"runtime/debug"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	pages "openintent/console"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/fault"
)

// gatewayOptions are the settings of the REST face.
type gatewayOptions struct {
	// Identity proves who calls, by the same rules as the interceptors; required.
	Identity identity
	// MaxBodyBytes bounds a request's body; 1 MiB when 0.
	MaxBodyBytes int64
	// Doors are the names of the doors that are open, for discovery.
	Doors []string
	// Console says whether the web console's pages are served.
	Console bool
	// Version is the program's version, for discovery.
	Version string
	// Logger receives panics and the refusals that no interceptor sees; nil means no log.
	Logger *slog.Logger
	// Metrics count those refusals; nil means no counting.
	Metrics *metrics
	// Memory bounds the memory of bodies and answers; nil means no bound.
	Memory *memory
	// Streams are the times that govern event streams; the zero value means the usual ones.
	Streams streamTimes
	// FoundMesh makes the mesh of the door for RepoMesh's protocol, unless it is there.
	FoundMesh func(ctx context.Context) error
	// Spans makes the spans of the doors; nil if nothing is traced.
	Spans *spans
}

// identity proves who calls from a call's metadata.
type identity interface {
	Identify(ctx context.Context, md metadata.MD) (caller.Caller, error)
}

// callHeaders are the headers that a call can carry. They become metadata under the same names in lower case.
var callHeaders = []string{
	"X-Api-Key", "Authorization", "X-Agent-Id", "Idempotency-Key", "If-Match", "Traceparent", "X-Openintent-Compat",
	"X-Openintent-Wake", "X-Openintent-Door", "X-Request-Id",
}

// gateway is the REST face: it turns requests into calls on the in-process connection.
type gateway struct {
	options gatewayOptions
	routes  *routes
	mux     *runtime.ServeMux
	// open are the documents that need no key, by path.
	open    map[string]http.Handler
	streams *eventStreams
	// doors are the ways in for other protocols on this port; nil means none.
	doors *doorway
	// pages are those of the web console; nil means none.
	pages *pages.Pages
	// testTime moves the clock of a server under test; nil for every other server.
	testTime *testTime
	// console knows who is signed in at the web console; nil means nobody can be.
	console *signingIn
}

// newGateway makes the REST face, which calls the services over a connection.
func newGateway(connection *inProcess, options gatewayOptions) (*gateway, error) {
	if options.MaxBodyBytes == 0 {
		options.MaxBodyBytes = 1 << 20
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	table, err := newRoutes()
	if err != nil {
		return nil, err
	}
	documents, err := openDocuments(options.Version, options.Doors, options.Console)
	if err != nil {
		return nil, err
	}
	g := &gateway{
		options: options,
		routes:  table,
		open:    documents,
		streams: newEventStreams(connection, options.Streams),
	}
	if options.Console {
		if g.pages, err = pages.New(); err != nil {
			return nil, err
		}
	}
	installQueryParser()
	g.mux = runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, marshaler{}),
		runtime.WithIncomingHeaderMatcher(incomingHeader),
		runtime.WithOutgoingHeaderMatcher(outgoingHeader),
		runtime.WithOutgoingTrailerMatcher(func(string) (string, bool) { return "", false }),
		runtime.WithUnescapingMode(runtime.UnescapingModeAllExceptSlash),
		runtime.WithDisablePathLengthFallback(),
		runtime.WithDisableHTTPMethodOverride(),
		runtime.WithWriteContentLength(),
		runtime.WithMiddlewares(g.prepare),
		runtime.WithForwardResponseOption(completeResponse),
		runtime.WithForwardResponseRewriter(rewriteResponse),
		runtime.WithErrorHandler(g.fail),
		runtime.WithRoutingErrorHandler(g.failRouting),
	)
	return g, registerServices(g.mux, connection)
}

// registerServices registers the routes of all services. The mux tries the routes that were registered last first, and every try
// costs allocations. So the messages, which are most of the calls, come last.
func registerServices(mux *runtime.ServeMux, connection grpc.ClientConnInterface) error {
	ctx := context.Background()
	return errors.Join(
		openintentv1.RegisterIntentServiceHandlerClient(ctx, mux, openintentv1.NewIntentServiceClient(connection)),
		openintentv1.RegisterEventServiceHandlerClient(ctx, mux, openintentv1.NewEventServiceClient(connection)),
		openintentv1.RegisterAccessServiceHandlerClient(ctx, mux, openintentv1.NewAccessServiceClient(connection)),
		openintentv1.RegisterCoordinatorServiceHandlerClient(ctx, mux, openintentv1.NewCoordinatorServiceClient(connection)),
		openintentv1.RegisterAgentServiceHandlerClient(ctx, mux, openintentv1.NewAgentServiceClient(connection)),
		openintentv1.RegisterTaskServiceHandlerClient(ctx, mux, openintentv1.NewTaskServiceClient(connection)),
		openintentv1.RegisterChannelServiceHandlerClient(ctx, mux, openintentv1.NewChannelServiceClient(connection)),
		openintentv1.RegisterSubscriptionServiceHandlerClient(ctx, mux, openintentv1.NewSubscriptionServiceClient(connection)),
		openintentv1.RegisterKeyServiceHandlerClient(ctx, mux, openintentv1.NewKeyServiceClient(connection)),
		openintentv1.RegisterAttentionServiceHandlerClient(ctx, mux, openintentv1.NewAttentionServiceClient(connection)),
		openintentv1.RegisterClaimServiceHandlerClient(ctx, mux, openintentv1.NewClaimServiceClient(connection)),
		openintentv1.RegisterObligationServiceHandlerClient(ctx, mux, openintentv1.NewObligationServiceClient(connection)),
		openintentv1.RegisterReactionServiceHandlerClient(ctx, mux, openintentv1.NewReactionServiceClient(connection)),
		openintentv1.RegisterLeaseServiceHandlerClient(ctx, mux, openintentv1.NewLeaseServiceClient(connection)),
		openintentv1.RegisterSearchServiceHandlerClient(ctx, mux, openintentv1.NewSearchServiceClient(connection)),
		openintentv1.RegisterConcernServiceHandlerClient(ctx, mux, openintentv1.NewConcernServiceClient(connection)),
		openintentv1.RegisterContactServiceHandlerClient(ctx, mux, openintentv1.NewContactServiceClient(connection)),
		openintentv1.RegisterReachServiceHandlerClient(ctx, mux, openintentv1.NewReachServiceClient(connection)),
		openintentv1.RegisterServerServiceHandlerClient(ctx, mux, openintentv1.NewServerServiceClient(connection)),
		openintentv1.RegisterInviteServiceHandlerClient(ctx, mux, openintentv1.NewInviteServiceClient(connection)),
		openintentv1.RegisterMessageServiceHandlerClient(ctx, mux, openintentv1.NewMessageServiceClient(connection)),
	)
}

// restCall is what the gateway knows about the current request.
type restCall struct {
	// compatibility is true under the compatibility profile.
	compatibility bool
	// path is the path as the client wrote it, and query is the query; links to further pages use both.
	path  string
	query url.Values
	// bodyField is the request field that the body fills; empty when the body is the whole request.
	bodyField string
	// account pays for the memory of the request and its answer; nil when nothing is bounded.
	account *account
	// refusal is what was wrong with the body. It is kept here because the generated code passes only its text on.
	refusal error
}

type restCallKey struct{}

func restCallFrom(ctx context.Context) *restCall {
	call, _ := ctx.Value(restCallKey{}).(*restCall)
	if call == nil {
		return &restCall{}
	}
	return call
}

// ServeHTTP answers one request. Every failure is answered in the problem form.
func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tracked := &trackedWriter{ResponseWriter: w}
	defer g.recoverPanic(tracked)
	w.Header().Set("X-Content-Type-Options", "nosniff")

	written := r.URL.EscapedPath()
	path := written
	if rest, ok := strings.CutPrefix(written, "/api/v1/"); ok {
		path = "/v1/" + rest
	}
	if document, ok := g.open[path]; ok {
		document.ServeHTTP(tracked, r)
		return
	}
	if g.doors.serve(tracked, r) || g.console.serve(tracked, r) || g.servePage(tracked, r) {
		return
	}
	if !strings.HasPrefix(path, "/v1/") {
		g.refuse(tracked, r, errRouteUnknown)
		return
	}
	route, escapedID, isStream := findEventRoute(path)
	r = r.WithContext(peer.NewContext(r.Context(), clientOf(r)))
	call := &restCall{path: written}
	var md metadata.MD
	r, err := g.console.enter(r)
	if err == nil {
		_, md, err = g.identify(r, call)
	}
	tracked.account = call.account
	switch {
	case err != nil && isStream:
		g.note(r, toStatus(err))
		g.streams.refuse(tracked, r, err)
	case err != nil:
		g.refuse(tracked, r, err)
	case isStream && r.Method != http.MethodGet:
		refuseMethod(tracked, http.MethodGet)
	case isStream:
		g.streams.serve(tracked, withCall(r, call, path), route, escapedID, md)
	case path == "/v1/server/config":
		serverConfig.ServeHTTP(tracked, r)
	case path == testClockPath && g.testTime != nil:
		if err := g.testTime.serve(tracked, r); err != nil {
			g.refuse(tracked, r, err)
		}
	default:
		g.mux.ServeHTTP(tracked, withCall(r, call, path))
	}
}

// identify proves who calls, before it looks at anything else.
func (g *gateway) identify(r *http.Request, call *restCall) (caller.Caller, metadata.MD, error) {
	md := make(metadata.MD, len(callHeaders))
	for _, name := range callHeaders {
		for _, value := range r.Header[name] {
			// Metadata cannot carry other characters. Dropping such a header could change who calls.
			if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c > '~' }) {
				return caller.Caller{}, nil, fault.BadField(name, "may hold printable ASCII characters only.")
			}
			md.Append(name, value)
		}
	}
	who, err := g.options.Identity.Identify(r.Context(), md)
	call.compatibility = who.Compatibility
	if err == nil {
		knowConnection(r.Context())
	}
	if err != nil || g.options.Memory == nil {
		return who, md, err
	}
	call.account = g.options.Memory.account(who.KeyID)
	return who, md, call.account.admit()
}

// withCall returns the request as the mux sees it: under /v1, with the escapes of the path kept, and with GET for
// HEAD (the HTTP server itself leaves the body out). Its context holds the call.
func withCall(r *http.Request, call *restCall, path string) *http.Request {
	r = r.WithContext(context.WithValue(r.Context(), restCallKey{}, call))
	location := *r.URL
	location.RawPath = path
	if unescaped, err := url.PathUnescape(path); err == nil {
		location.Path = unescaped
	}
	r.URL = &location
	if r.Method == http.MethodHead {
		r.Method = http.MethodGet
	}
	return r
}

// clientOf returns a REST client in the form of a peer, with the certificate that it has shown. A web page gets nothing from the
// certificate in its reader's browser, because the reader has not asked for what the page sends.
func clientOf(r *http.Request) *peer.Peer {
	client := &peer.Peer{Addr: clientAddress(r.RemoteAddr)}
	if r.TLS != nil && r.Header.Get("Origin") == "" && r.Header.Get("Sec-Fetch-Site") == "" {
		client.AuthInfo = credentials.TLSInfo{State: *r.TLS}
	}
	return client
}

// clientAddress is the address of a REST client, in the form of a peer's address.
type clientAddress string

var _ net.Addr = clientAddress("")

// Network returns "tcp".
func (clientAddress) Network() string { return "tcp" }

func (a clientAddress) String() string { return string(a) }

// incomingHeader returns the metadata name of a header. The mux itself passes Authorization on.
func incomingHeader(name string) (string, bool) {
	for _, known := range callHeaders {
		if name == known && name != "Authorization" {
			return strings.ToLower(name), true
		}
	}
	return "", false
}

// outgoingHeader lets only one header of the services through: the id under which a failure was logged.
func outgoingHeader(name string) (string, bool) {
	return textproto.CanonicalMIMEHeaderKey(name), name == "x-request-id"
}

// fail answers with an error of a call.
func (g *gateway) fail(
	ctx context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, err error,
) {
	if refusal := restCallFrom(ctx).refusal; refusal != nil {
		g.refuse(w, r, refusal)
		return
	}
	if md, ok := runtime.ServerMetadataFromContext(ctx); ok {
		for _, id := range md.HeaderMD.Get("x-request-id") {
			w.Header().Set("X-Request-Id", id)
		}
	}
	newProblemWithin(restCallFrom(ctx).bodyField, toStatus(err)).write(w)
}

var (
	errRouteUnknown = fault.New(fault.NotFound, "ROUTE_NOT_FOUND",
		"There is nothing at this path; /openapi.json lists what there is.")
	errMethodNotAllowed = fault.New(fault.MethodNotAllowed, "METHOD_NOT_ALLOWED",
		"This path does not answer to this method; the Allow header lists those that it answers to.")
)

// failRouting answers a request whose path or method is not served.
func (g *gateway) failRouting(
	_ context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, code int,
) {
	if code != http.StatusMethodNotAllowed {
		g.refuse(w, r, errRouteUnknown)
		return
	}
	refuseMethod(w, g.routes.allowed(r.URL.EscapedPath())...)
}

// refuse answers with an error that occurred before any method was called.
func (g *gateway) refuse(w http.ResponseWriter, r *http.Request, err error) {
	made := toStatus(err)
	g.note(r, made)
	writeProblem(w, made)
}

// note counts and logs a refusal by the gateway itself, as the interceptors do for calls.
func (g *gateway) note(r *http.Request, refusal *status.Status) {
	if g.options.Metrics != nil {
		g.options.Metrics.requests.WithLabelValues("REST", codeName(refusal.Code())).Inc()
	}
	g.options.Logger.LogAttrs(r.Context(), levelOf(refusal), "request refused",
		slog.String("verb", r.Method), slog.String("path", r.URL.EscapedPath()),
		slog.String("code", codeName(refusal.Code())), slog.String("reason", newProblem(refusal).reason),
		slog.String("peer", r.RemoteAddr))
}

func refuseMethod(w http.ResponseWriter, allowed ...string) {
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	writeProblem(w, toStatus(errMethodNotAllowed))
}

// recoverPanic answers 500 to a request whose handler panicked, or cuts the connection if the answer has begun.
func (g *gateway) recoverPanic(w *trackedWriter) {
	cause := recover()
	if cause == nil {
		return
	}
	if cause == http.ErrAbortHandler { //nolint:errorlint // The sentinel is compared as net/http does.
		panic(cause)
	}
	g.options.Logger.Error("a REST request panicked", "error", fmt.Sprint(cause), "stack", string(debug.Stack()))
	if w.begun {
		panic(http.ErrAbortHandler)
	}
	writeProblem(w, toStatus(errInternal))
}

// trackedWriter knows whether the answer has begun. It counts a large answer on its account until the client has read
// it.
type trackedWriter struct {
	http.ResponseWriter
	account *account
	begun   bool
	// status is the answer's HTTP status once it has begun.
	status int
	// challenge says, in place of the usual words, how to prove who one is; empty for these.
	challenge string
}

// WriteHeader begins the answer.
func (w *trackedWriter) WriteHeader(status int) {
	w.begun, w.status = true, status
	if status == http.StatusUnauthorized && w.challenge != "" {
		w.Header().Set("WWW-Authenticate", w.challenge)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write begins the answer if that has not happened yet.
func (w *trackedWriter) Write(data []byte) (int, error) {
	if !w.begun {
		w.begun, w.status = true, http.StatusOK
	}
	if size := int64(len(data)); w.account != nil && size >= countedAnswer {
		w.account.holdAnswer(size)
		defer w.account.holdAnswer(-size)
	}
	return w.ResponseWriter.Write(data)
}

// Unwrap lets http.ResponseController flush and set deadlines.
func (w *trackedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
