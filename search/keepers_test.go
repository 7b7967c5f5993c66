package search

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
)

// indexBusily runs the index once on a server that has just stored something, so that it does only what searches want.
func (r rooms) indexBusily(t *testing.T) {
	t.Helper()
	r.indexer.concluded = -1
	require.NoError(t, r.Index(context.Background()))
}

// search searches in an intent, or everywhere if it is "".
func (r rooms) search(t *testing.T, agent, intentID string) *openintentv1.SearchMessagesResponse {
	t.Helper()
	page, err := r.SearchMessages(as(agent), &openintentv1.SearchMessagesRequest{Q: "word", IntentId: pointer(intentID)})
	require.NoError(t, err)
	return page
}

// elsewhere makes another intent with a channel and lets an agent say something there.
func (h *house) elsewhere(t *testing.T, agent string) (intentID string, m *openintentv1.Message) {
	t.Helper()
	intentID = h.newIntent(t).GetId()
	channel := h.newChannel(t, &openintentv1.CreateChannelRequest{Name: "talk", IntentId: intentID})
	return intentID, h.send(t, agent, &openintentv1.SendMessageRequest{
		ChannelId: channel.GetId(), Payload: payload(t, map[string]any{"text": "word"}),
	})
}

// keeps returns the ids of the intents that a key keeps in the index.
func (h *house) keeps(t *testing.T, keyID string) (ids []string) {
	t.Helper()
	require.NoError(t, h.db.ReadStatement(t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValues(&ids,
			"SELECT i.id FROM search_keepers k JOIN intents i ON i.intent_no = k.intent_no WHERE k.key_id = ?"+
				" AND k.searched_at >= ? ORDER BY i.intent_no", keyID, keptSince(h.now())))
	}))
	return ids
}

func TestABusyServerIndexesWhatIsSearchedAlone(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		m := h.say(t, "ada", "bob", "word")
		h.elsewhere(t, "ada")
		commits := h.faults.Commits()
		h.indexBusily(t)
		require.Equal(t, commits, h.faults.Commits(), "nobody has searched, so there is nothing to do")

		page := h.search(t, "bob", h.intent.GetId())
		require.Empty(t, page.GetMessages())
		require.Nil(t, page.GetCompleteThrough(), "nothing is indexed")
		require.Positive(t, page.GetMessagesLeft())
		h.indexBusily(t)
		page = h.search(t, "bob", h.intent.GetId())
		require.Len(t, page.GetMessages(), 1)
		require.Equal(t, m.GetId(), page.GetMessages()[0].GetMessage().GetId())
		require.Equal(t, h.clock.Now(), page.GetCompleteThrough().AsTime())
		require.Nil(t, page.GetCompleteFrom(), "it is indexed from its beginning")
		require.Zero(t, page.GetMessagesLeft())

		h.say(t, "ada", "bob", "word")
		h.indexBusily(t)
		require.Equal(t, 2, h.documents(t), "and what is said there later comes into the index, too")
	})
}

func TestAChannelAndAThreadNameTheirIntent(t *testing.T) {
	for name, filter := range map[string]func(m *openintentv1.Message) *openintentv1.SearchMessagesRequest{
		"channel": func(m *openintentv1.Message) *openintentv1.SearchMessagesRequest {
			return &openintentv1.SearchMessagesRequest{ChannelId: pointer(m.GetChannelId())}
		},
		"thread": func(m *openintentv1.Message) *openintentv1.SearchMessagesRequest {
			return &openintentv1.SearchMessagesRequest{ThreadId: pointer(m.GetId())}
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachHouse(t, func(t *testing.T, h *house) {
				req := filter(h.say(t, "ada", "bob", "word"))
				req.Q = "word"
				page, err := h.SearchMessages(as("bob"), req)
				require.NoError(t, err)
				require.Positive(t, page.GetMessagesLeft())
				require.Equal(t, []string{h.intent.GetId()}, h.keeps(t, "key-bob"))
			})
		})
	}
}

func TestAnIntentIsKeptForSevenDays(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.search(t, "bob", h.intent.GetId())
		h.clock.Advance(keptFor)
		h.say(t, "ada", "bob", "word")
		h.indexBusily(t)
		require.Equal(t, 1, h.documents(t))
		h.clock.Advance(time.Microsecond)
		h.say(t, "ada", "bob", "word")
		h.indexBusily(t)
		require.Equal(t, 1, h.documents(t), "nobody has searched it for longer than seven days")
		var notes int
		require.NoError(t, h.db.ReadStatement(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(database.ReadValue(&notes, "SELECT COUNT(*) FROM search_keepers"))
		}))
		require.LessOrEqual(t, notes, 1)
		h.clock.Advance(notedEach)
		h.indexBusily(t)
		require.NoError(t, h.db.ReadStatement(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(database.ReadValue(&notes, "SELECT COUNT(*) FROM search_keepers"))
		}))
		require.Zero(t, notes, "what keeps nothing is removed")

		page := h.search(t, "bob", h.intent.GetId())
		require.Len(t, page.GetMessages(), 1, "what the index has stays")
		require.EqualValues(t, 1, page.GetMessagesLeft())
		h.indexBusily(t)
		require.Equal(t, 2, h.documents(t))
	})
}

func TestASearchIsNotedOnceAnHour(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.search(t, "bob", h.intent.GetId())
		commits := h.faults.Commits()
		h.clock.Advance(notedEach - time.Microsecond)
		h.search(t, "bob", h.intent.GetId())
		require.Equal(t, commits, h.faults.Commits())
		h.clock.Advance(time.Microsecond)
		h.search(t, "bob", h.intent.GetId())
		require.Equal(t, commits+1, h.faults.Commits())
	})
}

func TestASearchEverywhereKeepsTheIntentsInWhichItsCallerWasLast(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		var joined []string
		for range keptEverywhere + 1 {
			h.clock.Advance(time.Second)
			id, _ := h.elsewhere(t, "bob")
			joined = append(joined, id)
		}
		h.elsewhere(t, "ada")
		page := h.search(t, "bob", "")
		require.Equal(t, joined[1:], h.keeps(t, "key-bob"))
		require.Empty(t, page.GetMessages())
		require.EqualValues(t, keptEverywhere+3, page.GetIntentsNotIndexed(), "with ada's, and with the one in which nobody has said anything")
		require.Nil(t, page.GetCompleteThrough())
		h.indexBusily(t)
		page = h.search(t, "bob", "")
		require.Len(t, page.GetMessages(), 20)
		require.EqualValues(t, 3, page.GetIntentsNotIndexed())
		h.index(t)
		page = h.search(t, "bob", "")
		require.Zero(t, page.GetIntentsNotIndexed())
		require.Equal(t, h.clock.Now(), page.GetCompleteThrough().AsTime())
	})
}

func TestAKeyKeepsSoManyIntents(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		var all []string
		for range mostKept + 1 {
			all = append(all, h.newIntent(t).GetId())
		}
		h.search(t, "ada", all[1])
		for _, id := range all[:mostKept] {
			h.clock.Advance(time.Second)
			h.search(t, "bob", id)
		}
		require.Equal(t, all[:mostKept], h.keeps(t, "key-bob"))
		h.clock.Advance(notedEach)
		h.search(t, "bob", all[0])
		h.search(t, "bob", all[mostKept])
		kept := h.keeps(t, "key-bob")
		require.Len(t, kept, mostKept)
		require.NotContains(t, kept, all[1], "the key searched it longest ago")
		require.Contains(t, h.keeps(t, "key-ada"), all[1], "another key keeps it")
	})
}

// A caller that may not read an intent learns nothing from a search in it, and nothing is indexed for it: as if the intent were not there.
func TestAStrangersSearchKeepsNothing(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		_, err := h.intents.SetAccessControl(as("creator"), &openintentv1.SetAccessControlRequest{
			IntentId: h.intent.GetId(), DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED,
			Entries: []*openintentv1.AccessEntryInput{{PrincipalId: "ada", Permission: openintentv1.Permission_PERMISSION_WRITE}},
		})
		require.NoError(t, err)
		m := h.say(t, "ada", "*", "word")
		absent := h.search(t, "eve", "absent")
		for name, req := range map[string]*openintentv1.SearchMessagesRequest{
			"intent":  {Q: "word", IntentId: pointer(h.intent.GetId())},
			"channel": {Q: "word", ChannelId: pointer(h.channel.GetId())},
			"thread":  {Q: "word", ThreadId: pointer(m.GetId())},
		} {
			page, err := h.SearchMessages(as("eve"), req)
			require.NoError(t, err)
			require.Equal(t, absent, page, name)
		}
		require.Zero(t, h.search(t, "eve", "").GetIntentsNotIndexed())
		require.Empty(t, h.keeps(t, "key-eve"))
		require.EqualValues(t, 1, h.search(t, "ada", "").GetIntentsNotIndexed())

		scoped := func(scope *caller.Scope) context.Context {
			return caller.NewContext(context.Background(), caller.Caller{
				Agent: "creator", KeyID: "scoped", KeyAgents: []string{"creator"}, Scope: scope,
			})
		}
		req := &openintentv1.SearchMessagesRequest{Q: "word", IntentId: pointer(h.intent.GetId())}
		page, err := h.SearchMessages(scoped(caller.NewScope([]string{"another"}, nil)), req)
		require.NoError(t, err)
		require.Equal(t, absent, page)
		require.Empty(t, h.keeps(t, "scoped"))
		_, err = h.SearchMessages(scoped(caller.NewScope(nil, []string{h.channel.GetId()})), req)
		require.NoError(t, err)
		require.Equal(t, []string{h.intent.GetId()}, h.keeps(t, "scoped"), "the scope reaches into it")
	})
}

func TestAGuestKeepsTheIntentOfItsChannel(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		guest := caller.GuestPrefix + "gus"
		h.say(t, "ada", "*", "word")
		search := func() {
			_, err := h.SearchMessages(caller.NewContext(t.Context(), caller.Caller{
				Agent: guest, KeyID: "invite", KeyAgents: []string{guest}, Scope: caller.NewScope(nil, []string{h.channel.GetId()}),
			}), &openintentv1.SearchMessagesRequest{Q: "word", ChannelId: pointer(h.channel.GetId())})
			require.NoError(t, err)
		}
		search()
		require.Empty(t, h.keeps(t, "invite"), "it was not let in yet")
		require.NoError(t, h.channels.Manage(as("creator"), h.channel.GetId(), func(tx *database.Tx, m channels.Managed) error {
			m.Head.RaiseEpoch()
			return h.channels.AddGuest(tx, m.Head, m.ID, guest)
		}))
		search()
		require.Equal(t, []string{h.intent.GetId()}, h.keeps(t, "invite"))
	})
}

// Each intent that is kept has its turn, however many there are.
func TestKeptIntentsHaveTheirTurns(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for range readIntents + 1 {
			id, _ := h.elsewhere(t, "ada")
			h.search(t, "bob", id)
		}
		h.indexer.together = 2
		behind, err := h.indexer.kept(t.Context(), h.now())
		require.NoError(t, err)
		first := behind[0].intentNo
		h.indexer.served = behind[readIntents-1].intentNo
		behind, err = h.indexer.kept(t.Context(), h.now())
		require.NoError(t, err)
		require.Equal(t, first, behind[1].intentNo, "after the one that was left out")
		h.indexBusily(t)
		require.Equal(t, readIntents+1, h.documents(t))
		behind, err = h.indexer.kept(t.Context(), h.now())
		require.NoError(t, err)
		require.Empty(t, behind)
	})
}

func TestTheNewestComeFirst(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		var said []*openintentv1.Message
		for i := range 10 {
			h.clock.Advance(time.Second)
			said = append(said, h.say(t, "ada", "bob", fmt.Sprint("word number ", i)))
		}
		h.clock.Advance(time.Second)
		h.search(t, "bob", h.intent.GetId())
		h.indexer.most, h.indexer.together = 2, 4
		piece := func() *openintentv1.SearchMessagesResponse {
			behind, err := h.indexer.kept(t.Context(), h.now())
			require.NoError(t, err)
			_, err = h.indexer.index(t.Context(), behind, h.indexer.most)
			require.NoError(t, err)
			return h.search(t, "bob", h.intent.GetId())
		}
		page := piece()
		require.Len(t, page.GetMessages(), 4)
		require.Equal(t, said[6].GetCreatedAt().AsTime(), page.GetCompleteFrom().AsTime())
		require.Equal(t, h.clock.Now(), page.GetCompleteThrough().AsTime())
		left := page.GetMessagesLeft()
		require.GreaterOrEqual(t, left, int64(6))
		require.EqualValues(t, 1, h.search(t, "bob", "").GetIntentsNotIndexed(), "it is not wholly indexed")

		late := h.say(t, "ada", "bob", "word")
		page = piece()
		require.Equal(t, late.GetId(), page.GetMessages()[0].GetMessage().GetId(), "what comes meanwhile comes before the rest")
		require.Equal(t, left, page.GetMessagesLeft())
		require.Equal(t, said[6].GetCreatedAt().AsTime(), page.GetCompleteFrom().AsTime())
		require.Equal(t, said[2].GetCreatedAt().AsTime(), piece().GetCompleteFrom().AsTime())
		page = piece()
		require.Nil(t, page.GetCompleteFrom())
		require.Zero(t, page.GetMessagesLeft())
		slices.Reverse(said)
		h.finds(t, "bob", "word", append([]*openintentv1.Message{late}, said...)...)
	})
}
