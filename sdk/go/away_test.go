package openintent

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	openintentv1 "openintent/gen/openintent/v1"
)

func TestACallIsRepeatedUntilItSucceedsOrIsRefused(t *testing.T) {
	client := &Client{options: Options{RetryPatience: time.Minute}}
	failures := []error{refusal(t, codes.Unavailable, ""), refusal(t, codes.Aborted, "")}
	calls := 0
	result, err := repeated(t.Context(), client, func(context.Context) (string, error) {
		if calls++; calls <= len(failures) {
			return "", failures[calls-1]
		}
		return "done", nil
	})
	require.NoError(t, err)
	require.Equal(t, "done", result)
	require.Equal(t, 3, calls)

	calls = 0
	_, err = repeated(t.Context(), client, func(context.Context) (string, error) {
		calls++
		return "", refusal(t, codes.NotFound, "CHANNEL_NOT_FOUND")
	})
	require.ErrorIs(t, err, ErrChannelNotFound)
	require.Equal(t, 1, calls)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = repeated(canceled, client, func(context.Context) (string, error) { return "", refusal(t, codes.Unavailable, "") })
	require.ErrorIs(t, err, context.Canceled)
}

// The patience bounds a call without a deadline, and the deadline all others.
func TestACallWhoseServerIsAwayIsUnavailableAndNamesTheAddress(t *testing.T) {
	impatient := &Client{options: Options{Server: "desk:1", RetryPatience: time.Nanosecond}}
	patient := &Client{options: Options{Server: "desk:1", RetryPatience: time.Hour}}
	ended, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	silent := func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}
	for name, test := range map[string]struct {
		ctx    context.Context
		client *Client
		call   func(context.Context) (string, error)
		says   string
		late   bool
	}{
		"no connection": {t.Context(), impatient, failing(refusal(t, codes.Unavailable, "")), "could not be reached within", false},
		"a stop":        {t.Context(), impatient, failing(refusal(t, codes.Unavailable, "SERVER_STOPPING")), "was unavailable for", false},
		"silence":       {t.Context(), impatient, silent, "did not answer within", false},
		"a deadline":    {ended, patient, failing(refusal(t, codes.Unavailable, "")), "could not be reached within", true},
		"no answer":     {ended, patient, silent, "did not answer within", true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := repeated(test.ctx, test.client, test.call)
			require.ErrorIs(t, err, ErrUnavailable)
			require.NotErrorIs(t, err, ErrMessageTimeout)
			require.ErrorContains(t, err, "The server at desk:1 "+test.says)
			if test.late {
				require.ErrorIs(t, err, context.DeadlineExceeded, "the caller's own deadline")
			}
		})
	}
}

func failing(err error) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return "", err }
}

// away is a server that fails each call with the next of its errors, or asks nobody.
type away struct {
	openintentv1.MessageServiceClient
	openintentv1.IntentServiceClient
	fail    func(attempt int) error
	reached bool
	asked   []*openintentv1.AskRequest
	made    int
}

func (a *away) meet(options []grpc.CallOption) {
	for _, option := range options {
		if met, ok := option.(grpc.PeerCallOption); ok && a.reached {
			met.PeerAddr.Addr = &net.TCPAddr{}
		}
	}
}

func (a *away) Ask(_ context.Context, r *openintentv1.AskRequest, options ...grpc.CallOption) (*openintentv1.Message, error) {
	a.meet(options)
	seconds, key := r.GetTimeoutSeconds(), r.GetIdempotencyKey()
	a.asked = append(a.asked, &openintentv1.AskRequest{TimeoutSeconds: &seconds, IdempotencyKey: &key})
	return nil, a.fail(len(a.asked))
}

func (a *away) CreateIntent(_ context.Context, _ *openintentv1.CreateIntentRequest, options ...grpc.CallOption) (*openintentv1.Intent, error) {
	a.meet(options)
	a.made++
	if err := a.fail(a.made); err != nil {
		return nil, err
	}
	return &openintentv1.Intent{Id: "made"}, nil
}

func TestAQuestionIsUnavailableWhenNobodyKnowsWhetherItWasAsked(t *testing.T) {
	for _, reached := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			server := &away{reached: reached, fail: func(int) error { return refusal(t, codes.Unavailable, "SERVER_STOPPING") }}
			client := &Client{options: Options{Server: "desk:1", RetryPatience: time.Hour}, raw: Raw{Messages: server}}
			_, err := client.Ask(t.Context(), "c", Question{To: "bob", Timeout: 300 * time.Millisecond})
			require.ErrorIs(t, err, ErrUnavailable)
			require.NotErrorIs(t, err, ErrMessageTimeout)
			require.ErrorContains(t, err, "desk:1")
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, "m1", e.MessageID(), "as far as it is known")
			require.Greater(t, len(server.asked), 1)
			first, last := server.asked[0], server.asked[len(server.asked)-1]
			require.Equal(t, first.GetIdempotencyKey(), last.GetIdempotencyKey())
			if reached {
				require.InDelta(t, first.GetTimeoutSeconds(), last.GetTimeoutSeconds(), 0, "one key, one question")
			} else {
				require.Greater(t, first.GetTimeoutSeconds(), last.GetTimeoutSeconds(), "the server waits no longer than the asker")
			}
		})
	}
	server := &away{fail: func(int) error { return refusal(t, codes.DeadlineExceeded, "MESSAGE_TIMEOUT") }}
	client := &Client{options: Options{RetryPatience: time.Hour}, raw: Raw{Messages: server}}
	_, err := client.Ask(t.Context(), "c", Question{To: "bob"})
	require.ErrorIs(t, err, ErrMessageTimeout)
}

func TestAnIntentIsMadeOnce(t *testing.T) {
	for _, test := range []struct {
		name    string
		reached bool
		first   error
		made    int
		says    string
	}{
		{"never sent", false, refusal(t, codes.Unavailable, ""), 2, ""},
		{"refused", true, refusal(t, codes.Unavailable, "SERVER_STOPPING"), 2, ""},
		{"lost", true, refusal(t, codes.Unavailable, ""), 1, "the call may or may not have taken effect"},
		{"not known", true, refusal(t, codes.Unavailable, "OUTCOME_UNKNOWN"), 1, "the call may or may not have taken effect"},
	} {
		t.Run(test.name, func(t *testing.T) {
			server := &away{reached: test.reached, fail: func(attempt int) error {
				if attempt == 1 {
					return test.first
				}
				return nil
			}}
			client := &Client{options: Options{Server: "desk:1", RetryPatience: time.Hour}, raw: Raw{Intents: server}}
			intent, err := client.CreateIntent(t.Context(), IntentOptions{Title: "Report"})
			require.Equal(t, test.made, server.made)
			if test.says == "" {
				require.NoError(t, err)
				require.Equal(t, "made", intent.ID)
				return
			}
			require.ErrorIs(t, err, ErrUnavailable)
			require.ErrorContains(t, err, test.says)
			require.ErrorContains(t, err, "desk:1")
		})
	}
}

// refusing is the address of a port that refuses connections. Until the test ends, a connection of the test begins at it, so that nobody
// else can listen there. The port is bound before it connects: the system lends a port that is only connected to other connections, and
// a client that got it could meet itself.
func refusing(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	bound := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}
	connection, err := bound.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, errors.Join(connection.Close(), listener.Close())) })
	return connection.LocalAddr().String()
}

// In a bubble no time passes while a connection is attempted, so the attempts fail long before the patience is over.
func TestRawCallsKeepTheSameRule(t *testing.T) {
	address := refusing(t)
	synctest.Test(t, func(t *testing.T) {
		retries := 0
		client, err := Dial(Options{Server: address, RetryPatience: 300 * time.Millisecond, OnRetry: func(error) { retries++ }})
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Close()) }()
		_, err = client.Raw().Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "Report"})
		require.ErrorIs(t, err, ErrUnavailable)
		require.ErrorContains(t, err, "The server at "+address+" could not be reached within 300ms: ")
		require.ErrorContains(t, err, "connection refused")
		require.NotContains(t, err.Error(), "desc =")
		require.Equal(t, codes.Unavailable, status.Code(err), "also for those who ask gRPC")
		require.Positive(t, retries)
	})
}

func TestTheRESTAddressIsToldApartAtOnce(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	address := listener.Addr().String()
	client, err := Dial(Options{Server: address, RetryPatience: time.Hour})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, err = client.GetIntent(ctx, "i")
	require.ErrorIs(t, err, ErrUnavailable)
	require.EqualError(t, err, "NOT_GRPC: "+address+
		" does not speak gRPC; it looks like the REST address. Give the gRPC address (127.0.0.1:50051 by default).")
	require.NoError(t, ctx.Err(), "not only at the deadline")
}

func TestAFailureOfTheKeySaysWhatToDo(t *testing.T) {
	err := FromError(refusal(t, codes.Unauthenticated, "API_KEY_MISSING"))
	require.ErrorContains(t, err, "Set OPENINTENT_API_KEY")
	unknown := refusal(t, codes.Unauthenticated, "API_KEY_UNKNOWN")
	err = Options{Server: "localhost:1", APIKey: DevelopmentKey}.advised(unknown)
	require.ErrorIs(t, err, ErrUnauthenticated)
	require.ErrorContains(t, err, "does not know dev-key-001")
	require.Equal(t, unknown, Options{APIKey: "mine"}.advised(unknown))
}
