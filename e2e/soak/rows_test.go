package soak

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

const (
	// little and much are how many messages are in the small and in the large database; intents are a hundredth of them.
	little, much = 2_000, 20_000
	// unread is how many messages wait for the agent with an inbox, below is how many a thread has below its first message.
	unread, below = 200, 20
	page          = 20
	// lookedAt bounds what a list with a filter that no index serves looks at.
	lookedAt = 500
	// spread is how many rows more a call may read in the large database than in the small one: intents are counted, indexes are read one
	// level deeper, and on PostgreSQL the server's own work reads some rows meanwhile. On SQLite a row that is read takes some ten steps.
	spread, steps = 1_000, 10
	// tries is how often SQLite's steps are counted. The least count is the call's own: what the server writes later, and its sweeps, take
	// steps too, but not at every moment.
	tries = 25
	// told is which part of the messages is for an agent with a stream.
	told = 4
)

// world is a database with what is read in it.
type world struct {
	server *harness.Server
	url    string
	given  atomic.Int64 // rows that statements of callers gave
	steps  atomic.Int64 // those that SQLite has taken

	intents, messages                       int
	counted                                 bool // PostgreSQL has counted the tables since the last fill
	ordinary, longest, inbox                string
	ordinaryThread, longestThread, lastPage string
}

func TestCallsReadNoMoreWhenThereIsMore(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		w := &world{url: url}
		w.server = harness.Start(t, harness.Options{URL: url, Configure: w.configure})
		w.prepare(t)
		w.fill(t, little)
		small := w.measure(t)
		w.fill(t, much)
		large := w.measure(t)
		more := w.more()
		for name, before := range small {
			after := large[name]
			t.Logf("%s: %d rows given and %d read, then %d and %d", name, before.given, before.read, after.given, after.read)
			require.LessOrEqual(t, after.given, before.given+before.given/2, "%s gives more rows when there is more", name)
			require.LessOrEqual(t, after.read, before.read+before.read/2+more, "%s reads more rows when there is more", name)
		}
	})
}

func (w *world) configure(cfg *server.Config) {
	cfg.LookedAt, cfg.Search, cfg.LogLevel = lookedAt, false, "error"
	cfg.Hooks.Steps = func(_ string, steps int64) { w.steps.Add(steps) }
	cfg.Hooks.Statement = func(ctx context.Context, _ string) func() {
		if _, called := caller.From(ctx); !called {
			return nil
		}
		return func() { w.given.Add(1) }
	}
}

// call is a call that is measured.
type call struct {
	name string
	make func(context.Context) error
}

func (w *world) calls() []call {
	reader, operator := w.server.As("reader"), w.server.Operator()
	list := func(set func(*openintentv1.ListMessagesRequest)) func(context.Context) error {
		return func(ctx context.Context) error {
			request := &openintentv1.ListMessagesRequest{ChannelId: w.longest}
			set(request)
			_, err := reader.Messages.ListMessages(ctx, request)
			return err
		}
	}
	thread := func(channel, first *string) func(context.Context) error {
		return func(ctx context.Context) error {
			found, err := reader.Messages.GetThread(ctx, &openintentv1.GetThreadRequest{ChannelId: *channel, MessageId: *first})
			if err == nil && len(found.GetMessages()) != below {
				err = errors.New("the thread has another length")
			}
			return err
		}
	}
	intents := func(cursor *string) func(context.Context) error {
		return func(ctx context.Context) error {
			request := &openintentv1.ListIntentsRequest{Limit: proto.Int32(page)}
			if *cursor != "" {
				request.Cursor = cursor
			}
			_, err := operator.Intents.ListIntents(ctx, request)
			return err
		}
	}
	return []call{
		{"a page of an inbox", func(ctx context.Context) error {
			found, err := reader.Messages.GetInbox(ctx, &openintentv1.GetInboxRequest{AgentId: "reader", Limit: proto.Int32(page)})
			if err == nil && len(found.GetItems()) != page {
				err = errors.New("the page has another length")
			}
			return err
		}},
		{"a thread", thread(&w.ordinary, &w.ordinaryThread)},
		{"a thread of the longest channel", thread(&w.longest, &w.longestThread)},
		{"no thread", list(func(r *openintentv1.ListMessagesRequest) { r.ThreadId = proto.String("msg_none") })},
		{"no kind", list(func(r *openintentv1.ListMessagesRequest) { r.Kind = proto.String("none") })},
		{"no message type", list(func(r *openintentv1.ListMessagesRequest) {
			r.MessageType = openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum()
		})},
		{"no response", list(func(r *openintentv1.ListMessagesRequest) { r.CorrelationId = &w.longestThread })},
		{"the first intents", intents(new(string))},
		{"the last intents", intents(&w.lastPage)},
		{"a delivery to a stream", w.deliver},
		{"a send", func(ctx context.Context) error {
			_, err := w.server.As("sender").Messages.SendMessage(ctx, message(w.longest, "somebody", 0))
			return err
		}},
	}
}

func message(channel, to string, n int) *openintentv1.SendMessageRequest {
	kind := openintentv1.MessageType_MESSAGE_TYPE_NOTIFY
	return &openintentv1.SendMessageRequest{
		ChannelId: channel, To: &to, MessageType: &kind,
		Payload: &structpb.Struct{Fields: map[string]*structpb.Value{"row": structpb.NewNumberValue(float64(n))}},
	}
}

// prepare stores what is read, on both sizes alike.
func (w *world) prepare(t *testing.T) {
	t.Helper()
	for _, into := range []*string{&w.ordinary, &w.longest, &w.inbox} {
		*into = w.open(t)
	}
	for channel, first := range map[string]*string{w.ordinary: &w.ordinaryThread, w.longest: &w.longestThread} {
		root, err := w.server.As("sender").Messages.SendMessage(t.Context(), message(channel, "reader", 0))
		require.NoError(t, err)
		*first = root.GetId()
		w.send(t, below, func(n int) *openintentv1.SendMessageRequest {
			reply := message(channel, "reader", n)
			reply.ParentId = first
			return reply
		})
	}
	w.send(t, unread, func(n int) *openintentv1.SendMessageRequest { return message(w.inbox, "reader", n) })
}

// open makes an intent with a channel and returns the channel.
func (w *world) open(t *testing.T) string {
	t.Helper()
	sender := w.server.As("sender")
	intent, err := sender.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "rows"})
	require.NoError(t, err)
	channel, err := sender.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{
		IntentId: intent.GetId(), Name: "rows", Options: &openintentv1.ChannelOptions{MaxMessages: proto.Int64(10 * much)},
	})
	require.NoError(t, err)
	return channel.GetId()
}

// fill fills the database up to a number of messages: half of them in the longest channel.
func (w *world) fill(t *testing.T, messages int) {
	t.Helper()
	var channels []string
	for ; w.intents < messages/100; w.intents++ {
		channels = append(channels, w.open(t))
	}
	w.send(t, messages-w.messages, func(n int) *openintentv1.SendMessageRequest {
		to := "somebody-" + strconv.Itoa(n%100)
		if n%told == 0 {
			return message(w.longest, "listener", n)
		}
		if n%2 == 0 {
			return message(w.longest, to, n)
		}
		return message(channels[n%len(channels)], to, n)
	})
	w.messages, w.counted = messages, false
	for found := (&openintentv1.ListIntentsResponse{NextCursor: proto.String("")}); found.NextCursor != nil; {
		request := &openintentv1.ListIntentsRequest{Limit: proto.Int32(page)}
		if w.lastPage = found.GetNextCursor(); w.lastPage != "" {
			request.Cursor = &w.lastPage
		}
		var err error
		found, err = w.server.Operator().Intents.ListIntents(t.Context(), request)
		require.NoError(t, err)
	}
}

// send sends messages on one stream.
func (w *world) send(t *testing.T, count int, of func(n int) *openintentv1.SendMessageRequest) {
	t.Helper()
	stream, err := w.server.As("sender").Messages.SendMessages(t.Context())
	require.NoError(t, err)
	go func() {
		for n := range count {
			if stream.Send(of(n)) != nil {
				return // the receiving side reports why
			}
		}
		_ = stream.CloseSend()
	}()
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		require.Nil(t, answer.GetRefusal())
	}
}

// deliver opens a stream, reads on it what is new, and receives a message that is sent then.
func (w *world) deliver(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := w.server.As("listener").Messages.Subscribe(ctx, &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: "listener"},
	})
	if err != nil {
		return err
	}
	for {
		response, err := stream.Recv()
		if err != nil {
			return err
		}
		if response.GetCaughtUp() {
			break
		}
	}
	sent, err := w.server.As("sender").Messages.SendMessage(ctx, message(w.longest, "listener", 0))
	for err == nil {
		var response *openintentv1.SubscribeResponse
		if response, err = stream.Recv(); response.GetMessage().GetId() == sent.GetId() {
			break
		}
	}
	return err
}

// rows is what a call costs.
type rows struct{ given, read int64 }

// measure makes each call twice. It counts what the second one gives, and what both read. On PostgreSQL it makes them with a server of their
// own, on SQLite it takes the least of several counts.
func (w *world) measure(t *testing.T) map[string]rows {
	t.Helper()
	found := make(map[string]rows)
	require.NoError(t, w.deliver(t.Context())) // what was sent since the last time is numbered
	for _, c := range w.calls() {
		cost := w.cost(t, c)
		for try := 1; try < tries && !w.onPostgres(); try++ {
			again := w.cost(t, c)
			cost = rows{given: min(cost.given, again.given), read: min(cost.read, again.read)}
		}
		found[c.name] = cost
	}
	return found
}

func (w *world) cost(t *testing.T, c call) rows {
	t.Helper()
	before := w.read(t)
	require.NoError(t, c.make(t.Context()), c.name)
	w.given.Store(0)
	require.NoError(t, c.make(t.Context()), c.name)
	given := w.given.Load()
	return rows{given: given, read: w.read(t) - before}
}

// more is how much more a call may read in the large database.
func (w *world) more() int64 {
	if w.onPostgres() {
		return spread
	}
	return spread * steps
}

func (w *world) onPostgres() bool { return strings.HasPrefix(w.url, "postgres") }

// read returns how many steps SQLite has taken so far. On PostgreSQL it restarts the server, and returns how many rows and index entries its
// statements have read.
func (w *world) read(t *testing.T) (read int64) {
	t.Helper()
	if !w.onPostgres() {
		return w.steps.Load()
	}
	require.NoError(t, w.server.Stop())
	pool, err := sql.Open("pgx", w.url)
	require.NoError(t, err)
	defer func() { require.NoError(t, pool.Close()) }()
	if !w.counted { // the server does that too, a second later
		_, err := pool.ExecContext(t.Context(), "ANALYZE")
		require.NoError(t, err)
		w.counted = true
	}
	require.Eventually(t, func() bool {
		var others int
		err := pool.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity"+
			" WHERE datname = current_database() AND pid <> pg_backend_pid()").Scan(&others)
		require.NoError(t, err)
		return others == 0
	}, harness.Patience, time.Millisecond)
	require.NoError(t, pool.QueryRowContext(t.Context(), "SELECT (SELECT COALESCE(sum(seq_tup_read + idx_tup_fetch), 0) FROM pg_stat_user_tables)"+
		" + (SELECT COALESCE(sum(idx_tup_read), 0) FROM pg_stat_user_indexes)").Scan(&read))
	w.server.Start(t)
	return read
}
