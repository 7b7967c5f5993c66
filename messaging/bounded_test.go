package messaging

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// A page looks at a bounded number of messages. Here that are few.

func lookingAt(messages int) option {
	return func(_ *database.Config, cfg *Config) { cfg.LookedAt = messages }
}

// readOn follows the cursors of an inbox to its end, and returns all that it holds. meanwhile is called with each page.
func (h *house) readOn(t require.TestingT, agent string, req *inboxRequest, meanwhile func(page *wireInbox)) (ids []string) {
	for {
		page, err := h.tryInbox(as(agent), req)
		require.NoError(t, err)
		require.True(t, page.GetBounded() || page.NextCursor == nil || len(page.GetItems()) > 0, "an empty page says why it leads on")
		require.True(t, page.NextCursor == nil || page.GetNextCursor() != req.GetCursor(), "a cursor leads on")
		ids = append(ids, idsIn(page)...)
		if meanwhile(page); page.NextCursor == nil {
			require.False(t, page.GetBounded())
			return ids
		}
		req.Cursor = page.NextCursor
	}
}

func nothing(*wireInbox) {}

// What an agent has read, and what it may not see, does not make a page of its inbox dear: the page ends, and says so.
func TestAPageOfAnInboxLooksAtSoManyMessages(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.say(t, "b", id, "b takes part")
		var said []string
		for range 12 {
			said = append(said, h.say(t, "a", id, "").GetId())
		}
		_, err := h.markInbox(as("b"), "b", said...)
		require.NoError(t, err)
		told := h.send(t, "a", &sendRequest{ChannelId: id, To: ptr("b")})

		page := h.inbox(t, "b")
		require.Empty(t, page.GetItems())
		require.True(t, page.GetBounded())
		require.NotNil(t, page.NextCursor)
		require.True(t, page.GetCountsBounded())
		require.Zero(t, page.GetUnreadCount(), "what is not looked at is not counted")
		require.Equal(t, []string{told.GetId()}, h.readOn(t, "b", &inboxRequest{}, nothing))

		// A call that waits goes on by itself.
		waited, err := h.tryInbox(as("b"), &inboxRequest{WaitSeconds: ptr(float64(600))})
		require.NoError(t, err)
		require.Equal(t, []string{told.GetId()}, idsIn(waited))
		require.False(t, waited.GetBounded())
		_, err = h.markInbox(as("b"), "b", told.GetId())
		require.NoError(t, err)
		done := h.awaitInbox(as("b"), t, "b")
		last := h.send(t, "a", &sendRequest{ChannelId: id, To: ptr("b")})
		require.Equal(t, []string{last.GetId()}, received(t, done))

		fresh := h.send(t, "a", &sendRequest{ChannelId: h.open(t), To: ptr("c")})
		page = h.inbox(t, "c")
		require.Equal(t, []string{fresh.GetId()}, idsIn(page))
		require.False(t, page.GetBounded() || page.GetCountsBounded(), "all was looked at")

		// A list of obligations leads on behind those that the agent does not owe, because it has asked its own role.
		h.register(t, "b", "judge")
		h.clock.Advance(time.Millisecond)
		obliges := func(sender, to string) *openintentv1.Message {
			return h.send(t, sender, &sendRequest{
				ChannelId: id, To: &to, MessageType: ptr(request), Obligation: &openintentv1.Obligation{},
			})
		}
		for range 5 {
			obliges("b", "role:judge")
		}
		owed := obliges("a", "b")
		list, err := h.messaging.ListObligations(as("b"), &openintentv1.ListObligationsRequest{AgentId: "b"})
		require.NoError(t, err)
		require.Empty(t, list.GetMessages())
		require.NotNil(t, list.NextCursor)
		list, err = h.messaging.ListObligations(as("b"), &openintentv1.ListObligationsRequest{AgentId: "b", Cursor: list.NextCursor})
		require.NoError(t, err)
		require.Equal(t, owed.GetId(), list.GetMessages()[0].GetId())
		require.Nil(t, list.NextCursor)
	}, lookingAt(5))
}

// The candidates of an inbox are merged from many intents in one order, however they are read.
func TestInboxOfManyIntents(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		const count = fewIntents + 5
		var ids [count]string
		for i := range ids {
			ids[i] = h.open(t)
			h.say(t, "b", ids[i], "b takes part")
		}
		h.register(t, "b", "judge")
		h.clock.Advance(time.Millisecond)
		var sent []string
		for n := range 150 {
			h.clock.Advance(time.Duration(n%3) * time.Millisecond)
			in := ids[n*n%count]
			switch n % 7 {
			case 0:
				sent = append(sent, h.asks(t, "a", in, "b").GetId())
			case 1:
				sent = append(sent, h.send(t, "a", &sendRequest{ChannelId: in, To: ptr("role:judge")}).GetId())
			case 2:
				sent = append(sent, h.send(t, "a", &sendRequest{ChannelId: in, To: ptr("b")}).GetId())
			default:
				sent = append(sent, h.say(t, "a", in, "").GetId())
			}
		}
		for _, looked := range []int{1, 7, maxLookedAt} {
			h.messaging.lookedAt = looked
			var read []string
			var places []inboxPlace
			h.readOn(t, "b", &inboxRequest{Limit: ptr(int32(20))}, func(page *wireInbox) {
				for _, item := range page.GetItems() {
					read = append(read, item.GetMessage().GetId())
					places = append(places, inboxPlace{
						database.Micros(item.GetMessage().GetCreatedAt().AsTime()), h.intentNo(t, item.GetIntentId()), int64(len(places)),
					})
				}
			})
			require.ElementsMatch(t, sent, read, "each once")
			require.True(t, slices.IsSortedFunc(places, inboxPlace.compare))
		}
	})
}

// Pages that look at few messages lead through the whole inbox once, whatever is read, answered or sent meanwhile.
func TestBoundedPagesOfAnInbox(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		one, other := h.open(t), h.open(t)
		h.say(t, "b", one, "b takes part")
		var wanted, read []string
		send := func(n int) {
			h.clock.Advance(time.Millisecond)
			switch n % 4 {
			case 0:
				wanted = append(wanted, h.asks(t, "a", other, "b").GetId())
			case 1:
				read = append(read, h.say(t, "a", one, "").GetId())
			case 2:
				h.send(t, "a", &sendRequest{ChannelId: one, To: ptr("c")})
			default:
				wanted = append(wanted, h.send(t, "a", &sendRequest{ChannelId: one, To: ptr("b")}).GetId())
			}
		}
		for n := range 24 {
			send(n)
		}
		_, err := h.markInbox(as("b"), "b", read...)
		require.NoError(t, err)
		further := 0
		got := h.readOn(t, "b", &inboxRequest{Limit: ptr(int32(5))}, func(page *wireInbox) {
			if ids := idsIn(page); len(ids) > 0 {
				_, err := h.markInbox(as("b"), "b", ids...) // what lies behind the cursor does not move it
				require.NoError(t, err)
			}
			if further++; further <= 8 {
				send(4 * further) // a request
			}
		})
		require.Equal(t, wanted, got)
	}, lookingAt(3))
}

// listOn follows next_since from the oldest message to the end.
func (h *house) listOn(t require.TestingT, agent string, req *listRequest) (texts []string, pages int) {
	req.Since = ptr("1970-01-01T00:00:00Z")
	for pages = 1; ; pages++ {
		page, err := h.messaging.ListMessages(as(agent), req)
		require.NoError(t, err)
		texts = append(texts, textsOf(page.GetMessages())...)
		if !page.GetBounded() && len(page.GetMessages()) == 0 {
			return texts, pages
		}
		require.NotEqual(t, req.GetSince(), page.GetNextSince())
		req.Since = page.NextSince
	}
}

func TestAPageOfAListLooksAtSoManyMessages(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		var rare, hers []string
		var asked *wireMessage
		for n := range 40 {
			m := &sendRequest{ChannelId: id, Payload: content(fmt.Sprint(n)), To: ptr("bob")}
			if n%13 == 0 {
				m.Kind = ptr("rare")
				rare = append(rare, fmt.Sprint(n))
			}
			if n%17 == 0 {
				m.To = ptr("carol")
				hers = append(hers, fmt.Sprint(n))
			}
			if n == 3 {
				m.MessageType = ptr(request)
			}
			sent := h.send(t, "alice", m)
			if n == 3 {
				asked = sent
			}
		}
		answer := h.reply(t, "bob", id, asked.GetId(), "yes")
		for _, limit := range []int32{1, 2, 1000} {
			texts, _ := h.listOn(t, "alice", &listRequest{ChannelId: id, Kind: ptr("rare"), Limit: &limit})
			require.Equal(t, rare, texts)
			texts, pages := h.listOn(t, "carol", &listRequest{ChannelId: id, Limit: &limit})
			require.Equal(t, hers, texts)
			require.GreaterOrEqual(t, pages, 41/6, "each page looks at six messages")
			texts, _ = h.listOn(t, "alice", &listRequest{ChannelId: id, Kind: ptr("nope"), Limit: &limit})
			require.Empty(t, texts)
		}

		// Without a cursor, the newest are looked at.
		page, err := h.messaging.ListMessages(as("alice"), &listRequest{ChannelId: id, Kind: ptr("rare")})
		require.NoError(t, err)
		require.Equal(t, []string{"39"}, textsOf(page.GetMessages()))
		require.True(t, page.GetBounded())
		page, err = h.messaging.ListMessages(as("alice"), &listRequest{ChannelId: id, Limit: ptr(int32(3))})
		require.NoError(t, err)
		require.False(t, page.GetBounded(), "the page is full")

		// What has an index is found at once.
		page, err = h.messaging.ListMessages(as("alice"), &listRequest{ChannelId: id, CorrelationId: &asked.Id})
		require.NoError(t, err)
		require.Equal(t, []string{answer.GetId()}, idsOf(page.GetMessages()))
		require.False(t, page.GetBounded())
	}, lookingAt(6))
}

func TestAPageOfAThreadLooksAtSoManyMessages(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		root := h.say(t, "alice", id, "root")
		var hers []string
		for n := range 30 {
			m := under(id, root.GetId(), fmt.Sprint(n))
			if m.To = ptr("bob"); n%9 == 8 {
				m.To = ptr("carol")
				hers = append(hers, fmt.Sprint(n))
			}
			h.send(t, "alice", m)
		}
		for _, limit := range []int32{1, 2, 1000} {
			var read []string
			req := &threadRequest{ChannelId: id, MessageId: root.GetId(), Limit: &limit}
			pages := 1
			for ; ; pages++ {
				page, err := h.messaging.GetThread(as("carol"), req)
				require.NoError(t, err)
				require.Equal(t, root.GetId(), page.GetRoot().GetId())
				require.True(t, page.GetBounded() || page.NextCursor == nil || len(page.GetMessages()) > 0)
				read = append(read, textsOf(page.GetMessages())...)
				if page.NextCursor == nil {
					break
				}
				require.NotEqual(t, req.GetCursor(), page.GetNextCursor())
				req.Cursor = page.NextCursor
			}
			require.Equal(t, hers, read)
			require.GreaterOrEqual(t, pages, 30/4)
			texts, _ := h.listOn(t, "carol", &listRequest{ChannelId: id, ThreadId: &root.Id, Limit: &limit})
			require.Equal(t, slices.Insert(slices.Clone(hers), 0, "root"), texts)
		}
		newest, err := h.messaging.ListMessages(as("carol"), &listRequest{ChannelId: id, ThreadId: &root.Id})
		require.NoError(t, err)
		require.Equal(t, []string{"26"}, textsOf(newest.GetMessages()))
		require.True(t, newest.GetBounded())
	}, lookingAt(4))
}

// observed marks the context of calls whose statements are observed.
type observed struct{}

// However many messages are kept, a page reads about as many rows as it gives or looks at, and seeks them in an index that has them in
// its order, whether or not the database has statistics.
func TestReadingsSeekWhatTheyRead(t *testing.T) {
	const kept, looked = 1000, 100
	t.Parallel()
	forEngine := func(t *testing.T, engine database.Engine) {
		t.Parallel()
		rows, texts := 0, make(map[string]struct{})
		h := newHouse(t, engine, lookingAt(looked), withHooks(database.Hooks{Statement: func(ctx context.Context, text string) func() {
			if ctx.Value(observed{}) == nil {
				return nil
			}
			texts[text] = struct{}{}
			return func() { rows++ }
		}}))
		id := h.create(t, &createRequest{Options: &optionsInput{MaxMessages: ptr(int64(10 * kept)), TurnBudget: ptr(int64(0))}})
		h.say(t, "b", id, "b takes part")
		root, asked := h.say(t, "a", id, "root"), h.asks(t, "a", id, "b")
		h.sendMany(t, id, "a", "c", kept)
		h.send(t, "a", under(id, root.GetId(), "below"))
		h.reply(t, "b", id, asked.GetId(), "yes")
		h.send(t, "a", &sendRequest{ChannelId: id, To: ptr("b")})
		h.fill(t, id, "a", kept)
		as := func(agent string) context.Context { return context.WithValue(as(agent), observed{}, true) }
		readings := map[string]func() error{
			"a page of an inbox": func() error {
				page, err := h.messaging.GetInbox(as("b"), &inboxRequest{Limit: ptr(int32(20))})
				require.Len(t, page.GetItems(), 20)
				return err
			},
			"what must be answered": func() error {
				page, err := h.messaging.GetInbox(as("b"), &inboxRequest{
					Limit: ptr(int32(1)), Policy: []openintentv1.ResponsePolicy{mustRespond},
				})
				require.True(t, page.GetBounded())
				return err
			},
			"a thread": func() error {
				page, err := h.messaging.GetThread(as("b"), &threadRequest{ChannelId: id, MessageId: root.GetId()})
				require.Len(t, page.GetMessages(), 1)
				return err
			},
			"a thread, newest first": func() error {
				page, err := h.messaging.ListMessages(as("b"), &listRequest{ChannelId: id, ThreadId: &root.Id})
				require.Len(t, page.GetMessages(), 2)
				return err
			},
			"responses": func() error {
				page, err := h.messaging.ListMessages(as("a"), &listRequest{ChannelId: id, CorrelationId: &asked.Id})
				require.Len(t, page.GetMessages(), 1)
				return err
			},
			"a kind that no message has": func() error {
				_, err := h.messaging.ListMessages(as("b"), &listRequest{ChannelId: id, Kind: ptr("nope")})
				return err
			},
		}
		for range 2 {
			for name, read := range readings {
				rows = 0
				require.NoError(t, read())
				require.Less(t, rows, 5*looked, name)
			}
			if h.db.Engine() == database.SQLite {
				for text := range texts {
					h.requireSought(t, text)
				}
			}
			h.analyze(t)
		}
	}
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) { forEngine(t, engine) })
	}
}

// requireSought requires that SQLite finds messages through an index of which it uses more than the intent, or the intent and the time.
func (h *house) requireSought(t *testing.T, text string) {
	if !strings.HasPrefix(text, "SELECT") {
		return
	}
	err := h.db.Read(t.Context(), func(tx *database.Tx) error {
		arguments := make([]any, strings.Count(text, "?"))
		return tx.Pipeline(database.Statement{SQL: "EXPLAIN QUERY PLAN " + text, Args: arguments, Scan: func(row database.Row) error {
			var id, parent, unused int64
			var step string
			err := row.Scan(&id, &parent, &unused, &step)
			for _, wrong := range []string{
				"SCAN m", "SCAN x", "messages_ordinal (intent_no=? AND channel_no=?)",
				"USING INDEX sqlite_autoindex_messages_1 (intent_no=?)", "sqlite_autoindex_messages_1 (intent_no=? AND position>",
			} {
				require.NotContains(t, step, wrong, text)
			}
			return err
		}})
	})
	require.NoError(t, err)
}

// analyze gives the database statistics.
func (h *house) analyze(t *testing.T) {
	err := h.db.Write(t.Context(), func(tx *database.Tx) error { return tx.Pipeline(database.Statement{SQL: "ANALYZE"}) })
	require.NoError(t, err)
}
