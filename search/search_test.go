package search

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
)

func TestASearchFindsWordsAndPhrases(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		first := h.say(t, "ada", "*", "The parser broke in src/parser.go, again.")
		second := h.send(t, "ada", &openintentv1.SendMessageRequest{
			To: pointer("bob"), Subject: pointer("Parser: a plan"), Kind: pointer("agent.chat"),
			Payload: payload(t, map[string]any{"parser": "x", "steps": []any{"Broke it", map[string]any{"note": "ÉTÉ 42"}}}),
		})
		h.index(t)
		h.finds(t, "bob", "parser", second, first)
		h.finds(t, "bob", "PARSER broke", second, first)
		h.finds(t, "bob", `"parser broke"`, first)
		h.finds(t, "bob", "parser.go", first)
		h.finds(t, "bob", "été 42", second)
		h.finds(t, "bob", "note")
		h.finds(t, "bob", "absent parser")
		h.finds(t, "eve", "parser", first)
		h.finds(t, "ada", "plan", second)
		page, err := h.SearchMessages(as("bob"), &openintentv1.SearchMessagesRequest{Q: "broke"})
		require.NoError(t, err)
		require.Equal(t, "Broke it", page.GetMessages()[0].GetSnippet())
		require.Equal(t, "talk", page.GetMessages()[0].GetChannelName())
		require.Equal(t, h.intent.GetId(), page.GetMessages()[0].GetIntentId())
		require.Equal(t, "Parser: a plan", page.GetMessages()[0].GetMessage().GetSubject())
		require.NotNil(t, page.GetCompleteThrough())
		require.False(t, page.GetBounded())
	})
}

func TestFiltersNarrowASearch(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		other := h.newChannel(t, &openintentv1.CreateChannelRequest{Name: "other"})
		intent := h.intent
		h.intent = h.newIntent(t)
		elsewhere := h.newChannel(t, &openintentv1.CreateChannelRequest{Name: "talk"})
		one := h.say(t, "ada", "*", "word")
		h.clock.Advance(time.Minute)
		two := h.send(t, "bob", &openintentv1.SendMessageRequest{
			To: pointer("ada"), Kind: pointer("k"), ParentId: pointer(one.GetId()), Payload: payload(t, map[string]any{"text": "word"}),
		})
		h.clock.Advance(time.Minute)
		three := h.send(t, "ada", &openintentv1.SendMessageRequest{
			ChannelId: other.GetId(), To: pointer("role:r"), Payload: payload(t, map[string]any{"text": "word"}),
		})
		h.clock.Advance(time.Minute)
		four := h.send(t, "ada", &openintentv1.SendMessageRequest{
			ChannelId: elsewhere.GetId(), MessageType: openintentv1.MessageType_MESSAGE_TYPE_NOTIFY.Enum(), Payload: payload(t, map[string]any{"text": "word"}),
		})
		h.index(t)
		for name, wanted := range map[string]struct {
			filter *openintentv1.SearchMessagesRequest
			found  []*openintentv1.Message
		}{
			"none":    {&openintentv1.SearchMessagesRequest{}, []*openintentv1.Message{four, three, two, one}},
			"intent":  {&openintentv1.SearchMessagesRequest{IntentId: pointer(intent.GetId())}, []*openintentv1.Message{three, two, one}},
			"channel": {&openintentv1.SearchMessagesRequest{ChannelId: pointer(h.channel.GetId())}, []*openintentv1.Message{two, one}},
			"thread":  {&openintentv1.SearchMessagesRequest{ThreadId: pointer(one.GetId())}, []*openintentv1.Message{two, one}},
			"sender":  {&openintentv1.SearchMessagesRequest{Sender: pointer("bob")}, []*openintentv1.Message{two}},
			"to":      {&openintentv1.SearchMessagesRequest{To: pointer("role:r")}, []*openintentv1.Message{three}},
			"all":     {&openintentv1.SearchMessagesRequest{To: pointer("*")}, []*openintentv1.Message{four, one}},
			"kind":    {&openintentv1.SearchMessagesRequest{Kind: pointer("k")}, []*openintentv1.Message{two}},
			"after":   {&openintentv1.SearchMessagesRequest{After: two.GetCreatedAt()}, []*openintentv1.Message{four, three}},
			"before":  {&openintentv1.SearchMessagesRequest{Before: two.GetCreatedAt()}, []*openintentv1.Message{one}},
			"between": {&openintentv1.SearchMessagesRequest{
				After: one.GetCreatedAt(), Before: three.GetCreatedAt(), Sender: pointer("bob"),
			}, []*openintentv1.Message{two}},
			"ages":       {&openintentv1.SearchMessagesRequest{After: &timestamppb.Timestamp{Seconds: 253402300799}}, nil},
			"absent":     {&openintentv1.SearchMessagesRequest{IntentId: pointer("absent")}, nil},
			"no channel": {&openintentv1.SearchMessagesRequest{ChannelId: pointer("absent")}, nil},
			"both":       {&openintentv1.SearchMessagesRequest{IntentId: pointer(intent.GetId()), ChannelId: pointer(elsewhere.GetId())}, nil},
		} {
			var ids []string
			for _, m := range wanted.found {
				ids = append(ids, m.GetId())
			}
			wanted.filter.Q = "word"
			require.Equal(t, ids, h.ids(t, asOperator(), wanted.filter), name)
		}
	})
}

func TestAnEditedMessageIsFoundByItsPresentContent(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		m := h.say(t, "ada", "bob", "apples")
		h.index(t)
		edit := func(text string) {
			_, err := h.talk.UpdateMessage(as("ada"), &openintentv1.UpdateMessageRequest{
				ChannelId: m.GetChannelId(), MessageId: m.GetId(), Payload: payload(t, map[string]any{"text": text}),
			})
			require.NoError(t, err)
		}
		edit("pears")
		h.finds(t, "bob", "apples") // before the index has heard of it
		h.index(t)
		h.finds(t, "bob", "apples")
		h.finds(t, "bob", "pears", m)
		require.Equal(t, 1, h.documents(t))
		_, err := h.talk.DeleteMessage(as("ada"), &openintentv1.DeleteMessageRequest{ChannelId: m.GetChannelId(), MessageId: m.GetId()})
		require.NoError(t, err)
		h.finds(t, "bob", "pears")
		h.index(t)
		require.Zero(t, h.documents(t))
	})
}

// A recipient that had not read a message when it expired neither sees it in a list nor finds it.
func TestAnExpiredMessageIsNotFound(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		m := h.send(t, "ada", &openintentv1.SendMessageRequest{
			To: pointer("bob"), Payload: payload(t, map[string]any{"text": "word"}), ExpiresAt: timestamppb.New(h.now().Add(time.Minute)),
		})
		h.index(t)
		h.finds(t, "bob", "word", m)
		h.clock.Advance(time.Minute)
		h.finds(t, "bob", "word")
	})
}

func TestSearchThatIsOffIsRefusedAndKeepsNothing(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		m := h.say(t, "ada", "bob", "word")
		h.index(t)
		on := h.Service
		h.Service = New(Config{DB: h.db, Intents: h.intents, Channels: h.channels, Messaging: h.talk, Off: true})
		_, err := h.SearchMessages(as("bob"), &openintentv1.SearchMessagesRequest{Q: "word"})
		requireReason(t, err, fault.Conflict, "SEARCH_OFF")
		h.index(t)
		require.Zero(t, h.documents(t))
		h.Service = on
		page, err := h.SearchMessages(as("bob"), &openintentv1.SearchMessagesRequest{Q: "word"})
		require.NoError(t, err)
		require.Nil(t, page.GetCompleteThrough())
		h.indexer = newIndexer(h.Service)
		h.index(t)
		h.finds(t, "bob", "word", m)
	})
}

// What a search shows an agent has been offered to it, as by any list.
func TestWhatIsFoundIsOffered(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.say(t, "ada", "bob", "word")
		h.say(t, "ada", "bob", "other")
		h.index(t)
		h.finds(t, "bob", "absent")
		require.Len(t, h.ids(t, as("bob"), &openintentv1.SearchMessagesRequest{Q: "word"}), 1)
		h.talk.Stop() // which stores what was noted
		var offered int
		require.NoError(t, h.db.ReadStatement(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(database.ReadValue(&offered, "SELECT COUNT(*) FROM offers WHERE agent_id = 'bob'"))
		}))
		require.Equal(t, 1, offered)
	})
}

// Messages that were sent at the same time get different numbers, also where one came into the index before the others. Intents whose
// numbers are so far apart want the same ones.
func TestMessagesOfTheSameTimeHaveNumbersOfTheirOwn(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		_, err := h.indexer.list(t.Context())
		require.NoError(t, err)
		const intentNo, at = 1_000_000, 1_000_000
		for turn := range int64(3) {
			of := span{intentNo: intentNo + turn*slots, last: 2}
			require.NoError(t, h.indexer.store(t.Context(), &batch{
				stretches: []stretch{of.next(much)}, reached: []int64{of.last},
				documents: []document{{intentNo: of.intentNo, position: 1, micros: at, words: []string{"word"}}},
			}))
			require.EqualValues(t, 1+turn, h.documents(t))
		}
	})
}

// An edit leaves a message where it was among the others: the number that it had itself is not taken.
func TestAnEditedMessageKeepsItsPlace(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		first := h.say(t, "ada", "bob", "word")
		second := h.say(t, "ada", "bob", "word")
		h.index(t)
		number := func() (number int64) {
			require.NoError(t, h.db.ReadStatement(t.Context(), func(tx *database.Tx) error {
				return tx.Pipeline(database.ReadValue(&number, "SELECT MIN(document) FROM search_documents"))
			}))
			return number
		}
		before := number()
		for range 3 {
			_, err := h.talk.UpdateMessage(as("ada"), &openintentv1.UpdateMessageRequest{
				ChannelId: first.GetChannelId(), MessageId: first.GetId(), Payload: payload(t, map[string]any{"text": "word again"}),
			})
			require.NoError(t, err)
			h.index(t)
		}
		require.Equal(t, before, number())
		h.finds(t, "bob", "word", second, first)
	})
}

func TestOneKeyHasABoundedNumberOfSearchesUnderWay(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for range mostEach {
			_, err := h.enter("key-bob")
			require.NoError(t, err)
		}
		_, err := h.SearchMessages(as("bob"), &openintentv1.SearchMessagesRequest{Q: "word"})
		requireReason(t, err, fault.Quota, "TOO_MANY_SEARCHES")
		h.finds(t, "ada", "word")
		h.leave("key-bob")
		h.finds(t, "bob", "word")
	})
}

// While a search of one key runs, the key's next one waits, and others' do not.
func TestTheSearchesOfOneKeyRunInTurn(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		searches, err := h.enter("key-bob")
		require.NoError(t, err)
		require.NoError(t, searches.inTurn(context.Background(), func() error {
			ctx, cancel := context.WithCancel(as("bob"))
			waits := make(chan error, 1)
			go func() {
				_, err := h.SearchMessages(ctx, &openintentv1.SearchMessagesRequest{Q: "word"})
				waits <- err
			}()
			h.finds(t, "ada", "word")
			cancel()
			require.ErrorIs(t, <-waits, context.Canceled)
			return nil
		}))
		h.leave("key-bob")
		h.finds(t, "bob", "word")
		require.Empty(t, h.underWay)
	})
}

// What does not fit makes a page neither longer nor slower than its bound: the page says that there may be more.
func TestAPageSaysThatItLookedAtEnough(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.channel = h.newChannel(t, &openintentv1.CreateChannelRequest{
			Name: "large", Options: &openintentv1.ChannelOptions{MaxMessages: pointer(int64(10_000))},
		})
		oldest := h.say(t, "ada", "bob", "a green parrot")
		h.sayMany(t, 64*32, "ada", "bob", "a parrot that is green")
		h.index(t)
		page, err := h.SearchMessages(as("bob"), &openintentv1.SearchMessagesRequest{Q: `"green parrot"`})
		require.NoError(t, err)
		require.Empty(t, page.GetMessages())
		require.True(t, page.GetBounded())
		require.NotNil(t, page.NextCursor)
		h.finds(t, "bob", `"green parrot"`, oldest)
	})
}

// A page, and what the index reads at a time, hold so many bytes, and the next one goes on behind them.
func TestPagesAndReadingsAreBoundedInBytes(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		const each, onPage = 250_000, 12
		var sent []string
		for range onPage + 2 {
			sent = append([]string{h.say(t, "ada", "bob", "word "+strings.Repeat("x", each)).GetId()}, sent...)
		}
		list, err := h.indexer.list(t.Context())
		require.NoError(t, err)
		require.Len(t, list.behind, 1)
		for _, down := range []bool{false, true} {
			b, err := h.indexer.read(t.Context(), []stretch{{span: list.behind[0], to: list.behind[0].last, down: down}})
			require.NoError(t, err)
			require.Len(t, b.documents, readBytes/each+1)
			last := b.documents[readBytes/each].position
			if down {
				last-- // which is what the next reading begins with
			}
			require.Equal(t, []int64{last}, b.reached)
		}

		h.index(t)
		page, err := h.SearchMessages(as("bob"), &openintentv1.SearchMessagesRequest{Q: "word"})
		require.NoError(t, err)
		require.Len(t, page.GetMessages(), onPage)
		rest, err := h.SearchMessages(as("bob"), &openintentv1.SearchMessagesRequest{Q: "word", Cursor: page.NextCursor})
		require.NoError(t, err)
		var found []string
		for _, m := range append(page.GetMessages(), rest.GetMessages()...) {
			found = append(found, m.GetMessage().GetId())
		}
		require.Equal(t, sent, found)
	})
}

func TestASearchHasWords(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for _, q := range []string{"", "   ", `""`, `"`, "*", "- ! ()", "a b c d e f g h i j k l m n o p q"} {
			_, err := h.SearchMessages(as("bob"), &openintentv1.SearchMessagesRequest{Q: q})
			requireReason(t, err, fault.Invalid, "INVALID_FIELD")
		}
		for _, q := range []string{`a" OR "b`, "a AND NOT b", "words:a", "a*", "^a", "NEAR(a b)", `'a' & !'b' | c:*`, "a\\", "'; DROP TABLE x"} {
			h.finds(t, "bob", q)
		}
		_, err := h.SearchMessages(as("bob"), &openintentv1.SearchMessagesRequest{Q: "a\x00b"})
		requireReason(t, err, fault.Invalid, "INVALID_FIELD")
		_, err = h.SearchMessages(as("bob"), &openintentv1.SearchMessagesRequest{Q: "a", Cursor: pointer("nonsense")})
		requireReason(t, err, fault.Invalid, "INVALID_FIELD")
		_, err = h.SearchMessages(context.Background(), &openintentv1.SearchMessagesRequest{Q: "a"})
		requireReason(t, err, fault.Unauthenticated, "UNAUTHENTICATED")
	})
}

// A key finds only what lies in its scope, and a stranger only what it could list.
func TestASearchWidensNobodysSight(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		private := h.newChannel(t, &openintentv1.CreateChannelRequest{
			Name: "private", MemberPolicy: pointer(openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT), Members: []string{"ada", "creator"},
		})
		open := h.say(t, "ada", "*", "secret")
		h.say(t, "ada", "bob", "secret")
		inside := h.send(t, "ada", &openintentv1.SendMessageRequest{
			ChannelId: private.GetId(), Payload: payload(t, map[string]any{"text": "secret"}),
		})
		h.index(t)
		h.finds(t, "eve", "secret", open)
		_, err := h.agents.RegisterAgent(as("eve"), &openintentv1.RegisterAgentRequest{AgentId: pointer("eve"), RoleId: pointer("keeper")})
		require.NoError(t, err)
		toRole := h.say(t, "ada", "role:keeper", "duty")
		toAll := h.send(t, "ada", &openintentv1.SendMessageRequest{
			MessageType: pointer(openintentv1.MessageType_MESSAGE_TYPE_NOTIFY), Payload: payload(t, map[string]any{"text": "duty"}),
		})
		h.index(t)
		h.finds(t, "eve", "duty", toAll, toRole)
		h.finds(t, "bob", "duty", toAll)
		scoped := func(scope *caller.Scope) context.Context {
			return caller.NewContext(context.Background(), caller.Caller{
				Agent: "creator", KeyID: "k", KeyAgents: []string{"creator"}, Scope: scope,
			})
		}
		find := func(scope *caller.Scope) []string {
			return h.ids(t, scoped(scope), &openintentv1.SearchMessagesRequest{Q: "secret"})
		}
		require.Equal(t, []string{inside.GetId()}, find(caller.NewScope(nil, []string{private.GetId()})))
		require.Empty(t, find(caller.NewScope([]string{"another"}, nil)))
		require.Equal(t, []string{inside.GetId(), open.GetId()}, find(caller.NewScope([]string{h.intent.GetId()}, nil)))
	})
}
