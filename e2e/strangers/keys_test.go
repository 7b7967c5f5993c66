package strangers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// issued is a key of the database with a secret.
type issued struct {
	Key    struct{ ID string }
	Secret string
}

// issue makes a key as the operator.
func (w *world) issue(t *testing.T, body string) (made issued) {
	t.Helper()
	answer := w.Operator().REST(t, "POST", "/v1/keys", body)
	require.Equal(t, 201, answer.Status, "%s", answer.Body)
	answer.Decode(t, &made)
	return made
}

func (w *world) rotate(t *testing.T, key issued, graceSeconds int) (made issued) {
	t.Helper()
	answer := w.Operator().REST(t, "POST", "/v1/keys/"+key.Key.ID+"/rotate", fmt.Sprintf(`{"grace_seconds":%d}`, graceSeconds))
	require.Equal(t, 200, answer.Status, "%s", answer.Body)
	require.Equal(t, "no-store", answer.Header.Get("Cache-Control"))
	answer.Decode(t, &made)
	return made
}

func (w *world) revoke(t *testing.T, key issued) {
	t.Helper()
	answer := w.Operator().REST(t, "POST", "/v1/keys/"+key.Key.ID+"/revoke", `{}`)
	require.Equal(t, 200, answer.Status, "%s", answer.Body)
}

// opens checks that a secret opens the server over both faces.
func (w *world) opens(t *testing.T, secret string) {
	t.Helper()
	require.NoError(t, w.knock(t, secret))
	require.Equal(t, 200, w.With(secret, "").REST(t, "GET", w.fill("/v1/channels/{room}"), "").Status)
}

// opensNoMore checks that a secret no longer opens the server over both faces.
func (w *world) opensNoMore(t *testing.T, secret string) {
	t.Helper()
	require.Equal(t, "API_KEY_UNKNOWN", harness.Reason(w.knock(t, secret)))
	unauthenticated("API_KEY_UNKNOWN").check(t, w.With(secret, "").REST(t, "GET", w.fill("/v1/channels/{room}"), ""))
}

func (w *world) knock(t *testing.T, secret string) error {
	t.Helper()
	_, err := w.With(secret, "").Channels.GetChannel(t.Context(), &openintentv1.GetChannelRequest{ChannelId: w.places["room"]})
	return err
}

func TestARevokedKeyEndsWhatItBegan(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		w.readInbox(t)
		key, other := w.issue(t, `{"label":"alice","agents":["alice"]}`), w.issue(t, `{"label":"alice","agents":["alice"]}`)
		w.opens(t, key.Secret)
		begun := w.begin(t, key.Secret)
		w.revoke(t, key)
		begun.end(t)
		w.opensNoMore(t, key.Secret)
		w.opens(t, other.Secret)
		w.goesOn(t)
	})
}

// ahead is a clock that goes ahead of the real one by as much as a test says.
type ahead struct{ by atomic.Int64 }

func (a *ahead) now() time.Time { return time.Now().Add(time.Duration(a.by.Load())) }

func (a *ahead) pass(d time.Duration) { a.by.Add(int64(d)) }

// onClock runs a test on both engines, on a server whose clock the test sets forward.
func onClock(t *testing.T, test func(t *testing.T, w *world, clock *ahead)) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		clock := &ahead{}
		h := harness.Start(t, harness.Options{URL: url, Configure: func(cfg *server.Config) { cfg.Clock = clock.now }})
		w := newWorld(t, h)
		w.readInbox(t)
		test(t, w, clock)
	})
}

func TestAnExpiredKeyEndsWhatItBegan(t *testing.T) {
	onClock(t, func(t *testing.T, w *world, clock *ahead) {
		end := clock.now().Add(5 * time.Minute).Format(time.RFC3339Nano)
		key := w.issue(t, `{"label":"for five minutes","agents":["alice"],"expires_at":"`+end+`"}`)
		begun := w.begin(t, key.Secret)
		clock.pass(3 * time.Minute)
		w.opens(t, key.Secret)
		begun.goOn(t)
		clock.pass(3 * time.Minute)
		w.opensNoMore(t, key.Secret)
		begun.end(t)
		conflict("KEY_ENDED").check(t, w.Operator().REST(t, "POST", "/v1/keys/"+key.Key.ID+"/rotate", `{}`))
	})
}

func TestAFormerSecretEndsWithItsGrace(t *testing.T) {
	onClock(t, func(t *testing.T, w *world, clock *ahead) {
		first := w.issue(t, `{"label":"rotated","agents":["alice"]}`)
		begun := w.begin(t, first.Secret)
		second := w.rotate(t, first, 300)
		clock.pass(3 * time.Minute)
		w.opens(t, first.Secret)
		w.opens(t, second.Secret)
		begun.goOn(t)
		clock.pass(3 * time.Minute)
		w.opensNoMore(t, first.Secret)
		w.opens(t, second.Secret)
		begun.end(t)
		third := w.rotate(t, first, 0)
		w.opensNoMore(t, second.Secret)
		w.opens(t, third.Secret)
		for _, grace := range []string{"-1", "86401"} {
			badField("grace_seconds").check(t, w.Operator().REST(t, "POST", "/v1/keys/"+first.Key.ID+"/rotate", `{"grace_seconds":`+grace+`}`))
		}
		w.opens(t, third.Secret)
	})
}

// A read-only key may make every call that REST makes with GET, except to take deliveries, and follow; and no other.
func TestAReadOnlyKeyWritesNothing(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		key := w.issue(t, `{"label":"reads","agents":["alice"],"roles":["*"],"read_only":true}`)
		before := w.ledger(t)
		refused := 0
		for _, call := range contractCalls() {
			method := methodOf(t, call)
			verb, pattern, body := routeOf(method)
			reading := verb == "GET" && call != "SubscriptionService/FetchDeliveries" || call == "MessageService/Subscribe"
			if err := w.callEmpty(t, key.Secret, method); reading {
				require.NotEqual(t, "KEY_READ_ONLY", harness.Reason(err), call)
			} else {
				refused++
				require.Equal(t, "KEY_READ_ONLY", harness.Reason(err), call)
			}
			if reading || pattern == "" || method.IsStreamingServer() {
				continue
			}
			sent := "{}"
			switch {
			case body == "":
				sent = ""
			case body != "*": // what names nothing is refused before it is a call
				sent = `{"status":"closed"}`
			}
			path := w.fill(strings.ReplaceAll(pattern, ".id}", "_id}"))
			denied("KEY_READ_ONLY").check(t, w.With(key.Secret, "").REST(t, verb, path, sent))
		}
		require.Greater(t, refused, 30)
		for _, path := range []string{"/v1/channels/{room}/messages", "/v1/agents/alice/inbox", "/v1/intents/{intent}/events"} {
			require.Equal(t, 200, w.With(key.Secret, "").REST(t, "GET", w.fill(path), "").Status, path)
		}
		for _, path := range []string{"/v1/keys", "/v1/keys/" + key.Key.ID} {
			denied("NOT_OPERATOR").check(t, w.With(key.Secret, "").REST(t, "GET", path, ""))
		}
		require.Equal(t, before, withoutUse(w.ledger(t), before))
	})
}

// withoutUse returns a ledger without the last uses of keys, if nothing else differs from the one before.
func withoutUse(after, before string) string {
	_, keys, _ := strings.Cut(before, "\nkeys ")
	old, _, _ := strings.Cut(keys, "\n")
	head, rest, _ := strings.Cut(after, "\nkeys ")
	_, tail, _ := strings.Cut(rest, "\n")
	return head + "\nkeys " + old + "\n" + tail
}

// contractCalls returns all calls of the contract, as Service/Method.
func contractCalls() (calls []string) {
	protoregistry.GlobalFiles.RangeFilesByPackage("openintent.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				calls = append(calls, fmt.Sprint(service.Name(), "/", service.Methods().Get(j).Name()))
			}
		}
		return true
	})
	return calls
}

// callEmpty makes a call over gRPC with an empty request, and returns how it ended.
func (w *world) callEmpty(t *testing.T, secret string, method protoreflect.MethodDescriptor) error {
	t.Helper()
	return w.callRequest(t, secret, method, func(proto.Message) {})
}

// callRequest is callEmpty with a request that the test fills in.
func (w *world) callRequest(
	t *testing.T, secret string, method protoreflect.MethodDescriptor, fillIn func(request proto.Message),
) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(t.Context(), "x-api-key", secret), harness.Patience)
	defer cancel()
	path := fmt.Sprintf("/%s/%s", method.Parent().FullName(), method.Name())
	request, reply := messageOf(t, method.Input()), messageOf(t, method.Output())
	fillIn(request)
	if !method.IsStreamingServer() {
		return w.Connection.Invoke(ctx, path, request, reply)
	}
	description := &grpc.StreamDesc{ServerStreams: true, ClientStreams: method.IsStreamingClient()}
	stream, err := w.Connection.NewStream(ctx, description, path)
	require.NoError(t, err)
	if err := stream.SendMsg(request); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	err = stream.RecvMsg(reply)
	if answer, ok := reply.(*openintentv1.SendMessagesResponse); ok && err == nil {
		err = status.FromProto(answer.GetRefusal()).Err()
	}
	return err
}

// However often somebody guesses, guesses of the right form share a few looks at the database, and all others cost none.
func TestGuessesCostTheDatabaseLittle(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		var queries atomic.Int64
		h := harness.Start(t, harness.Options{URL: url, Configure: func(cfg *server.Config) {
			cfg.Hooks = database.Hooks{Statement: func(_ context.Context, sql string) func() {
				if strings.Contains(sql, "api_keys") {
					queries.Add(1)
				}
				return nil
			}}
		}})
		w := newWorld(t, h)
		key := w.issue(t, `{"label":"alice","agents":["alice"]}`)
		former := key.Secret
		key = w.rotate(t, key, 0)
		w.opens(t, key.Secret)
		const guessers, each = 50, 40
		guess := func(secret string) int64 {
			before := queries.Load()
			var guessing sync.WaitGroup
			for range guessers {
				guessing.Go(func() {
					for range each {
						if err := w.knock(t, secret); harness.Reason(err) != "API_KEY_UNKNOWN" {
							t.Error(err)
						}
					}
				})
			}
			guessing.Wait()
			return queries.Load() - before
		}
		wrong := former[:len(former)-1] + "-"
		began := time.Now()
		// The server itself looks a few times a second. Shared looks for guesses would be up to fifty.
		require.LessOrEqual(t, guess(wrong), int64(5+time.Since(began)/(100*time.Millisecond)))
		require.Less(t, guess(former), int64(guessers*each/4))
		w.opens(t, key.Secret)
		w.goesOn(t)
	})
}

// A change on one replica takes effect on the other within a moment, even if they do not notify each other. A new key is known
// everywhere at once.
func TestKeysAreOnesOfAllReplicas(t *testing.T) {
	url := databasetest.URL(t, database.PostgreSQL)
	options := harness.Options{URL: url, Configure: func(cfg *server.Config) { cfg.Notifications = false }}
	w := newWorld(t, harness.Start(t, options))
	w.readInbox(t)
	other := &world{Server: harness.Start(t, options), places: w.places}

	key := w.issue(t, `{"label":"alice","agents":["alice"]}`)
	other.opens(t, key.Secret)
	begun := other.begin(t, key.Secret)
	second := w.rotate(t, key, 3600)
	other.opens(t, second.Secret)
	other.opens(t, key.Secret)
	begun.goOn(t)
	w.revoke(t, key)
	begun.end(t)
	for _, replica := range []*world{w, other} {
		for _, secret := range []string{key.Secret, second.Secret} {
			replica.opensNoMore(t, secret)
		}
	}
	third := other.issue(t, `{"label":"root","operator":true}`)
	require.Equal(t, 200, w.With(third.Secret, "").REST(t, "GET", "/v1/keys", "").Status)
	denied("NOT_OPERATOR").check(t, w.With(third.Secret, "alice").REST(t, "GET", "/v1/keys", ""))
}
