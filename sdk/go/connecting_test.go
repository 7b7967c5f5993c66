package openintent

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	openintentv1 "openintent/gen/openintent/v1"
)

// overheard makes a buffer the program's log until the test ends.
func overheard(t *testing.T) *bytes.Buffer {
	t.Helper()
	heard := &bytes.Buffer{}
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(heard, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	return heard
}

func TestAClientSaysAtOnceThatNobodyListensAndHowToStartAServer(t *testing.T) {
	address, heard := refusing(t), overheard(t)
	synctest.Test(t, func(t *testing.T) {
		client, err := Dial(Options{Server: address, RetryPatience: 2 * time.Second})
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Close()) }()
		says := "Nobody listens at " + address + " (connection refused). Start a server with: openintent serve --grpc-addr " + address
		for range 2 {
			_, err = client.GetIntent(t.Context(), "i")
			require.ErrorIs(t, err, ErrUnavailable)
			require.ErrorContains(t, err, "The server at "+address+" could not be reached within 2s: "+says)
		}
	})
	require.Equal(t, 1, bytes.Count(heard.Bytes(), []byte("level=WARN")), "once, until a call succeeds: %s", heard)
	require.Contains(t, heard.String(), `msg="a client cannot reach the server at `+address+" and keeps trying: UNAVAILABLE: Nobody listens at "+address)
	require.Equal(t, "openintent serve", Options{Server: defaultServer}.startingCommand())
	require.Equal(t, "openintent serve", Options{Server: "localhost:50051"}.startingCommand())
}

func TestAServerElsewhereIsNotForTheCallerToStart(t *testing.T) {
	failed := &Error{Code: "UNAVAILABLE", Message: `Error while dialing: dial tcp 10.0.0.1:1: connect: connection refused`}
	said := Options{Server: "10.0.0.1:1"}.notConnected(failed)
	require.Equal(t, failed.Message, said.Message)
	require.True(t, unconnected(said))
	unknown := &Error{Code: "UNAVAILABLE", Message: "name resolver error: produced zero addresses"}
	require.True(t, unconnected(Options{Server: "nowhere.example:1"}.notConnected(unknown)))
	require.Nil(t, Options{Server: "10.0.0.1:1"}.notConnected(&Error{Code: "UNAVAILABLE", Reason: "SERVER_STOPPING"}))
}

func TestATimeToConnectBoundsCallsThatGetNoConnection(t *testing.T) {
	address, _ := refusing(t), overheard(t)
	synctest.Test(t, func(t *testing.T) {
		client, err := Dial(Options{Server: address, ConnectTimeout: 3 * time.Second})
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Close()) }()
		for name, call := range map[string]func(context.Context) error{
			"a call":     func(ctx context.Context) error { _, err := client.GetIntent(ctx, "i"); return err },
			"a question": func(ctx context.Context) error { _, err := client.Ask(ctx, "c", Question{To: "bob"}); return err },
			"a following": func(ctx context.Context) error {
				_, err := (&Channel{ID: "c", client: client}).Follow(ctx, FollowOptions{})
				return err
			},
			"a raw call": func(ctx context.Context) error {
				_, err := client.Raw().Intents.GetIntent(ctx, &openintentv1.GetIntentRequest{IntentId: "i"})
				return err
			},
		} {
			begun := time.Now()
			err := call(t.Context())
			require.ErrorIs(t, err, ErrUnavailable, name)
			require.ErrorContains(t, err, "The server at "+address+" could not be reached within 3s: Nobody listens at", name)
			require.LessOrEqual(t, time.Since(begun), 3*time.Second, name)
		}
	})
	require.Equal(t, 5*time.Second, Address{Host: "localhost"}.LocalConnectTimeout())
	require.Zero(t, Address{Host: "example.org"}.LocalConnectTimeout())
}

func TestAnAgentWaitsForItsServerUnlessItHasATimeToConnect(t *testing.T) {
	address, log := refusing(t), newLogged()
	synctest.Test(t, func(t *testing.T) {
		client, err := Dial(Options{Server: address, ConnectTimeout: time.Second})
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Close()) }()
		err = client.Agent(AgentOptions{ID: "data", ConnectTimeout: 8 * time.Second, Log: log.logger()}).Run(t.Context())
		require.ErrorIs(t, err, ErrUnavailable)
		says := "Nobody listens at " + address + " (connection refused). Start a server with: openintent serve"
		log.next(t, slog.LevelWarn, "agent data cannot reach the server at "+address+" and keeps trying: UNAVAILABLE: "+says)
		log.next(t, slog.LevelError, "agent data gives up: The server at "+address+" could not be reached within 8s")

		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		require.NoError(t, client.Agent(AgentOptions{ID: "data", Log: newLogged().logger()}).Run(ctx), "it waited until it was told to leave")
		require.Error(t, ctx.Err())
	})
}

func TestNobodyStartsToListenOnThisMachineUnlessSomebodyWasThere(t *testing.T) {
	address, _ := refusing(t), overheard(t)
	calls := map[string]func(context.Context, *Client) error{
		"a call": func(ctx context.Context, c *Client) error { _, err := c.GetIntent(ctx, "i"); return err },
		"a question": func(ctx context.Context, c *Client) error {
			_, err := c.Ask(ctx, "c", Question{To: "bob"})
			return err
		},
		"a following": func(ctx context.Context, c *Client) error {
			ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
			defer cancel()
			_, err := (&Channel{ID: "c", client: c}).Follow(ctx, FollowOptions{})
			return err
		},
	}
	refused := &Error{Code: "NOT_FOUND", Reason: "INTENT_NOT_FOUND"}
	for name, call := range calls {
		synctest.Test(t, func(t *testing.T) {
			patient := func(options Options, met func(*outage)) time.Duration {
				options.Server = address
				client, err := Dial(options)
				require.NoError(t, err)
				defer func() { require.NoError(t, client.Close()) }()
				met(client.outage)
				begun := time.Now()
				require.Error(t, call(t.Context(), client), name)
				return time.Since(begun).Round(time.Second)
			}
			require.LessOrEqual(t, patient(Options{}, func(*outage) {}), 5*time.Second, name)
			require.Greater(t, patient(Options{ConnectTimeout: -1}, func(*outage) {}), 25*time.Second, name)
			require.Greater(t, patient(Options{}, (*outage).over), 25*time.Second, "%s: it was there", name)
			require.Greater(t, patient(Options{}, func(o *outage) { o.failed(refused) }), 25*time.Second, "%s: it has refused a call", name)
		})
	}
}

func TestARefusalToFailFastNamesTheOptionAsItIsWrittenHere(t *testing.T) {
	refused, err := status.New(codes.FailedPrecondition, "Nothing was sent; leave fail_fast out to send it anyway.").
		WithDetails(&errdetails.ErrorInfo{Reason: "NOBODY_THERE", Metadata: map[string]string{"cause": "AWAY"}})
	require.NoError(t, err)
	var e *Error
	require.ErrorAs(t, FromError(refused.Err()), &e)
	require.Equal(t, "Nothing was sent; leave FailFast out to send it anyway.", e.Message)
	require.Equal(t, "AWAY", e.Metadata["cause"])
}

// The longest pause before an attempt, with gRPC's own, is below a second.
func TestAClientOnThisMachineTriesAgainWithinASecond(t *testing.T) {
	refused := &Error{Code: "UNAVAILABLE"}
	here := Options{Server: defaultServer}
	waits := (&Client{options: here}).newWaits()
	for range 100 {
		require.Less(t, waits.next(refused)+here.longestBackoff()*12/10, time.Second)
	}
	require.LessOrEqual(t, waits.next(&Error{Code: "UNAVAILABLE", Reason: "OVERLOADED"}), time.Second, "it begins with short pauses")
	for range 10 {
		waits.next(&Error{Code: "UNAVAILABLE", Reason: "OVERLOADED"})
	}
	require.Greater(t, waits.next(&Error{Code: "UNAVAILABLE", Reason: "OVERLOADED"}), time.Second, "a server that speaks is given time")
}
