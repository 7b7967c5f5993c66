package server

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
)

// answer is what a test makes a method do.
type answer func(ctx context.Context, request proto.Message) (proto.Message, error)

// rest is the REST face with our interceptors in front of methods that tests script.
type rest struct {
	url     string
	log     *lockedBuffer
	metrics *metrics
	stop    context.CancelFunc
	service *scriptedMessages
	durable *scriptedSubscriptions

	mutex   sync.Mutex
	answers map[string]answer
	// last is the last request that reached a scripted method.
	last proto.Message
}

func newREST(t *testing.T) *rest { return newRESTThatPings(t, patience) }

// newRESTThatPings is newREST with this interval between the comments of quiet streams.
func newRESTThatPings(t *testing.T, keepAlive time.Duration) *rest {
	r := &rest{metrics: newMetrics(), log: &lockedBuffer{}, service: &scriptedMessages{}, answers: make(map[string]answer)}
	r.durable = &scriptedSubscriptions{}
	keys, err := LoadKeys("open,bound=agent-a,old;sdk", "")
	require.NoError(t, err)
	stopping, stop := context.WithCancel(context.Background())
	r.stop = stop
	logger := slog.New(slog.NewJSONHandler(r.log, nil))
	through, err := newInterceptors(stopping, keys, testLimits(), r.metrics, logger)
	require.NoError(t, err)
	scripted := func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		return through.unary(ctx, request, info, func(ctx context.Context, request any) (any, error) {
			r.mutex.Lock()
			r.last = request.(proto.Message)
			script := r.answers[info.FullMethod]
			r.mutex.Unlock()
			if script == nil {
				return next(ctx, request)
			}
			return script(ctx, request.(proto.Message))
		})
	}
	inside := newInProcess(scripted, through.stream)
	registerUnimplemented(inside)
	openintentv1.RegisterMessageServiceServer(inside, r.service)
	openintentv1.RegisterSubscriptionServiceServer(inside, r.durable)
	gateway, err := newGateway(inside, gatewayOptions{
		Identity: keys, MaxBodyBytes: 4096, Version: "1.2.3", Doors: []string{"mcp", "repomesh"}, Logger: logger, Metrics: r.metrics,
		Streams: streamTimes{keepAlive: keepAlive, refuse: time.Nanosecond, end: time.Nanosecond},
	})
	require.NoError(t, err)
	server := httptest.NewServer(gateway)
	r.url = server.URL
	t.Cleanup(func() {
		stop()
		server.Close()
	})
	return r
}

func registerUnimplemented(registrar grpc.ServiceRegistrar) {
	openintentv1.RegisterIntentServiceServer(registrar, openintentv1.UnimplementedIntentServiceServer{})
	openintentv1.RegisterEventServiceServer(registrar, openintentv1.UnimplementedEventServiceServer{})
	openintentv1.RegisterAccessServiceServer(registrar, openintentv1.UnimplementedAccessServiceServer{})
	openintentv1.RegisterCoordinatorServiceServer(registrar, openintentv1.UnimplementedCoordinatorServiceServer{})
	openintentv1.RegisterAgentServiceServer(registrar, openintentv1.UnimplementedAgentServiceServer{})
	openintentv1.RegisterTaskServiceServer(registrar, openintentv1.UnimplementedTaskServiceServer{})
	openintentv1.RegisterChannelServiceServer(registrar, openintentv1.UnimplementedChannelServiceServer{})
}

// gives makes a method answer with a response.
func (r *rest) gives(method string, response proto.Message) {
	r.does(method, func(context.Context, proto.Message) (proto.Message, error) { return response, nil })
}

// fails makes a method end with an error.
func (r *rest) fails(method string, err error) {
	r.does(method, func(context.Context, proto.Message) (proto.Message, error) { return nil, err })
}

func (r *rest) does(method string, script answer) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.answers[method] = script
}

// received returns the last request that reached a method.
func (r *rest) received() proto.Message {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.last
}

// reply is an HTTP response that was read to its end.
type reply struct {
	status int
	header http.Header
	body   string
}

// call makes a request with the operator's key. Headers are given as pairs and may replace the key.
func (r *rest) call(t *testing.T, verb, path, body string, headers ...string) reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, verb, r.url+path, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("X-API-Key", "open")
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
		if headers[i+1] == "" {
			request.Header.Del(headers[i])
		}
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return reply{response.StatusCode, response.Header, string(text)}
}

// problemOf reads a reply that must be a problem with this status, and checks what every problem has.
func problemOf(t *testing.T, got reply, status int) map[string]any {
	t.Helper()
	require.Equal(t, status, got.status, got.body)
	require.Equal(t, "application/problem+json", got.header.Get("Content-Type"))
	var problem map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.body), &problem), got.body)
	require.EqualValues(t, status, problem["status"])
	require.Equal(t, problem["detail"], problem["message"])
	require.NotEmpty(t, problem["detail"])
	require.NotEmpty(t, problem["title"])
	require.NotEmpty(t, problem["code"])
	require.Equal(t, strings.ToLower(problem["reason"].(string)), problem["error"])
	require.Equal(t, "urn:openintent:error:"+problem["error"].(string), problem["type"])
	require.IsType(t, []any{}, problem["errors"])
	return problem
}

// badFields returns the fields that a problem names, with their descriptions.
func badFields(problem map[string]any) map[string]string {
	fields := make(map[string]string)
	for _, each := range problem["errors"].([]any) {
		violation := each.(map[string]any)
		fields[violation["field"].(string)] = violation["description"].(string)
	}
	return fields
}
