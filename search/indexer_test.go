package search

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/database"
)

// A reading that ends with a change leaves the messages after it to the next one, which reads them once.
func TestMoreEditsThanOneReadingTakes(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		edited := h.say(t, "ada", "bob", "word")
		h.index(t)
		for _, text := range []string{"one", "two", "three", "word again"} {
			_, err := h.talk.UpdateMessage(as("ada"), &openintentv1.UpdateMessageRequest{
				ChannelId: edited.GetChannelId(), MessageId: edited.GetId(), Payload: payload(t, map[string]any{"text": text}),
			})
			require.NoError(t, err)
		}
		found := []*openintentv1.Message{edited}
		for range 5 {
			found = append([]*openintentv1.Message{h.say(t, "ada", "bob", "word")}, found...)
		}
		h.indexer.together = 2
		h.index(t)
		h.finds(t, "bob", "word", found...)
		h.finds(t, "bob", "again", edited)
		h.finds(t, "bob", "three")
		require.Equal(t, 6, h.documents(t))
	})
}

// The same of a log that is read from above, where the reading ends with a change of a message that the index has.
func TestMoreEditsThanOneReadingTakesFromAbove(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		edited := h.say(t, "ada", "bob", "word")
		h.index(t)
		found := []*openintentv1.Message{edited}
		for _, text := range []string{"one", "two", "three", "word again"} {
			found = append([]*openintentv1.Message{h.say(t, "ada", "bob", "word")}, found...)
			_, err := h.talk.UpdateMessage(as("ada"), &openintentv1.UpdateMessageRequest{
				ChannelId: edited.GetChannelId(), MessageId: edited.GetId(), Payload: payload(t, map[string]any{"text": text}),
			})
			require.NoError(t, err)
		}
		h.search(t, "bob", h.intent.GetId())
		h.indexer.together, h.indexer.most = 2, 1
		h.indexBusily(t)
		h.finds(t, "bob", "word", found...)
		h.finds(t, "bob", "again", edited)
		require.Equal(t, 5, h.documents(t))
	})
}

// A message that the index has is edited, and then so much is said that the edit lies in a hole.
func TestAnEditInAHoleReachesWhatLiesBeforeIt(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		edited := h.say(t, "ada", "bob", "before")
		h.index(t)
		_, err := h.talk.UpdateMessage(as("ada"), &openintentv1.UpdateMessageRequest{
			ChannelId: edited.GetChannelId(), MessageId: edited.GetId(), Payload: payload(t, map[string]any{"text": "after"}),
		})
		require.NoError(t, err)
		for range 4 {
			h.say(t, "ada", "bob", "word")
		}
		h.search(t, "bob", h.intent.GetId())
		h.indexer.together, h.indexer.most = 2, 1
		h.indexBusily(t)
		h.finds(t, "bob", "after", edited)
	})
}

// An edit that the index lacks is the end of what it calls complete, whatever is said later.
func TestAnEditThatIsMissingBoundsWhatIsComplete(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		edited := h.say(t, "ada", "bob", "word")
		h.search(t, "bob", h.intent.GetId())
		h.indexBusily(t)
		edit := h.clock.Advance(time.Second)
		_, err := h.talk.UpdateMessage(as("ada"), &openintentv1.UpdateMessageRequest{
			ChannelId: edited.GetChannelId(), MessageId: edited.GetId(), Payload: payload(t, map[string]any{"text": "word again"}),
		})
		require.NoError(t, err)
		h.clock.Advance(time.Second)
		page := h.search(t, "bob", h.intent.GetId())
		require.Equal(t, edit, page.GetCompleteThrough().AsTime().Truncate(time.Millisecond))
		require.EqualValues(t, 1, page.GetMessagesLeft())
		h.clock.Advance(time.Second)
		h.say(t, "ada", "bob", "word")
		require.Equal(t, edit, h.search(t, "bob", h.intent.GetId()).GetCompleteThrough().AsTime().Truncate(time.Millisecond))
	})
}

// Where a reading ends amid the edits of one intent, it passes over none of them, and over nothing of the other intents that it reads.
func TestAReadingThatEndsAmidEditsPassesOverNothing(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		var edited []*openintentv1.Message
		for range 3 {
			edited = append(edited, h.say(t, "ada", "bob", "before"))
		}
		elsewhere := h.newChannel(t, &openintentv1.CreateChannelRequest{Name: "elsewhere", IntentId: h.newIntent(t).GetId()})
		say := func() *openintentv1.Message {
			return h.send(t, "ada", &openintentv1.SendMessageRequest{ChannelId: elsewhere.GetId(), Payload: payload(t, map[string]any{"text": "new"})})
		}
		for range 10 { // so that what comes next has later positions than the edits
			say()
		}
		h.index(t)
		for _, m := range edited {
			_, err := h.talk.UpdateMessage(as("ada"), &openintentv1.UpdateMessageRequest{
				ChannelId: m.GetChannelId(), MessageId: m.GetId(), Payload: payload(t, map[string]any{"text": "after"}),
			})
			require.NoError(t, err)
		}
		say()
		h.indexer.together = 2
		h.index(t)
		h.finds(t, "bob", "after", edited[2], edited[1], edited[0])
		h.finds(t, "bob", "before")
		require.Len(t, h.ids(t, as("bob"), &openintentv1.SearchMessagesRequest{Q: "new"}), 11)
	})
}

func TestRemovedMessagesLeaveTheIndex(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		small := h.newChannel(t, &openintentv1.CreateChannelRequest{
			Name: "small", Options: &openintentv1.ChannelOptions{MaxMessages: pointer(int64(2))},
		})
		var kept []*openintentv1.Message
		for range 4 {
			kept = append(kept, h.send(t, "ada", &openintentv1.SendMessageRequest{
				ChannelId: small.GetId(), Payload: payload(t, map[string]any{"text": "word"}),
			}))
		}
		h.index(t)
		h.finds(t, "bob", "word", kept[3], kept[2])
		require.NoError(t, h.talk.Sweep(context.Background()))
		h.index(t)
		require.Equal(t, 2, h.documents(t))
		_, err := h.channels.DeleteChannel(as("creator"), &openintentv1.DeleteChannelRequest{ChannelId: small.GetId()})
		require.NoError(t, err)
		h.finds(t, "bob", "word")
		require.NoError(t, h.talk.Sweep(context.Background()))
		h.index(t)
		require.Zero(t, h.documents(t))
	})
}

// A message that is removed while a replica has it in its hands leaves the index again.
func TestWhatIsRemovedWhileItIsIndexedLeavesTheIndex(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.say(t, "ada", "bob", "word")
		ctx := context.Background()
		list, err := h.indexer.list(ctx)
		require.NoError(t, err)
		read, err := h.indexer.read(ctx, nextOf(list.behind))
		require.NoError(t, err)
		_, err = h.channels.DeleteChannel(as("creator"), &openintentv1.DeleteChannelRequest{ChannelId: h.channel.GetId()})
		require.NoError(t, err)
		require.NoError(t, h.talk.Sweep(ctx))
		require.NoError(t, h.indexer.store(ctx, read))
		require.Equal(t, 1, h.documents(t))
		h.index(t)
		require.Zero(t, h.documents(t))
	})
}

// A replica that has not heard of another one's run changes nothing.
func TestTwoReplicasDoNotUndoEachOther(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		m := h.say(t, "ada", "bob", "word")
		ctx := context.Background()
		late := newIndexer(h.Service)
		list, err := late.list(ctx)
		require.NoError(t, err)
		read, err := late.read(ctx, nextOf(list.behind))
		require.NoError(t, err)
		h.index(t)
		require.ErrorIs(t, late.store(ctx, read), errElsewhere)
		require.NoError(t, late.run(ctx))
		h.finds(t, "bob", "word", m)
		require.Equal(t, 1, h.documents(t))
	})
}

func TestACrashOfTheIndexerLosesNothing(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		var all []*openintentv1.Message
		for range 5 {
			all = append([]*openintentv1.Message{h.say(t, "ada", "bob", "word")}, all...)
			require.NoError(t, h.Index(context.Background())) // which finds that something was stored
			h.faults.FailBefore(20)                           // more than the index tries
			require.Error(t, h.Index(context.Background()))
			h.faults.FailBefore(0)
		}
		h.indexer = newIndexer(h.Service) // as after a restart
		h.index(t)
		h.finds(t, "bob", "word", all...)
		require.Equal(t, 5, h.documents(t))
	})
}

// The database has lost the end of a log that the index has.
func TestTheIndexForgetsWhatIsBeyondTheLog(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		kept := h.say(t, "ada", "bob", "word")
		lost := h.say(t, "ada", "bob", "word")
		h.index(t)
		h.lose(t, lost)
		h.index(t)
		require.Equal(t, 1, h.documents(t))
		h.finds(t, "bob", "word", kept)
	})
}

func TestCompleteThroughSaysWhatTheIndexHas(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		through := func() time.Time {
			page, err := h.SearchMessages(as("bob"), &openintentv1.SearchMessagesRequest{Q: "word"})
			require.NoError(t, err)
			return page.GetCompleteThrough().AsTime()
		}
		h.say(t, "ada", "bob", "word")
		h.index(t)
		h.clock.Advance(time.Hour)
		require.Equal(t, h.clock.Now(), through(), "nothing is missing")
		before := h.clock.Now()
		h.clock.Advance(time.Second)
		h.say(t, "ada", "bob", "word")
		require.False(t, through().After(before), "a message is missing")
		h.index(t)
		require.Equal(t, h.clock.Now(), through())
	})
}

// A transaction may decide before the index looks and commit afterwards. The clock that goes back stands for that: what is sent then has
// the time of a transaction that has been under way for nearly as long as one can be. The index takes the message in all the same, and
// until then nobody is told that nothing is missing.
func TestACommitThatComesLateIsNotPassedOver(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		through := func() time.Time {
			page, err := h.SearchMessages(as("bob"), &openintentv1.SearchMessagesRequest{Q: "word"})
			require.NoError(t, err)
			return page.GetCompleteThrough().AsTime()
		}
		h.say(t, "ada", "bob", "on time")
		decided := h.clock.Now()
		looked := h.clock.Advance(commitLag - time.Second)
		h.index(t)
		require.Equal(t, looked, through())

		h.clock.Set(decided)
		late := h.say(t, "ada", "bob", "late")
		require.False(t, through().After(decided), "the time of this server's clock has not come yet")
		h.clock.Set(looked.Add(time.Second))
		require.False(t, through().After(looked), "a message is missing")
		h.index(t)
		h.finds(t, "bob", "late", late)
		require.Equal(t, h.clock.Now(), through())
	})
}

// What is sent after the index has looked is not what it says that it has.
func TestTheIndexIsCompleteUpToWhenItLooked(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		list, err := h.indexer.list(t.Context())
		require.NoError(t, err)
		looked := h.clock.Now()
		h.clock.Advance(time.Second)
		h.say(t, "ada", "bob", "word")
		require.NoError(t, h.indexer.settle(t.Context(), list))
		page, err := h.SearchMessages(as("bob"), &openintentv1.SearchMessagesRequest{Q: "word"})
		require.NoError(t, err)
		require.Equal(t, looked, page.GetCompleteThrough().AsTime())
	})
}

// nextOf returns what the index takes in next of some logs.
func nextOf(behind []span) (stretches []stretch) {
	for _, s := range behind {
		stretches = append(stretches, s.next(much))
	}
	return stretches
}

// However many removals wait, one run takes them all out, and when many wait, a busy server does so, too.
func TestOneTurnTakesOutAllThatWasRemoved(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for range removalsTogether + 1 {
			h.say(t, "ada", "bob", "word")
		}
		h.removeAll(t)
		h.index(t)
		require.Zero(t, h.documents(t))

		h.sayMany(t, manyRemovals, "ada", "bob", "word")
		h.removeAll(t)
		h.indexBusily(t)
		require.Zero(t, h.documents(t))
	})
}

// removeAll indexes all messages, and notes each as removed by itself.
func (h *house) removeAll(t *testing.T) {
	t.Helper()
	h.index(t)
	require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error {
		var statements []database.Statement
		var intentNo int64
		var positions []int64
		if err := tx.Pipeline(database.ReadValue(&intentNo, "SELECT MIN(intent_no) FROM messages"),
			database.ReadValues(&positions, "SELECT position FROM messages")); err != nil {
			return err
		}
		for _, position := range positions {
			statements = append(statements, removed(intentNo, []int64{position}))
		}
		return tx.Pipeline(statements...)
	}))
}

func TestTheIndexDoesNotLookAtIntentsThatDoNotMove(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for range 20 {
			h.newIntent(t)
		}
		h.index(t)
		lookedAt := func() (heads int) {
			require.NoError(t, h.db.ReadStatement(t.Context(), func(tx *database.Tx) error {
				var through int64
				if err := tx.Pipeline(database.ReadValue(&through, "SELECT complete_through FROM search_state")); err != nil {
					return err
				}
				moved, argument := intents.MovedSince(database.Time(through).Add(-commitLag))
				return tx.Pipeline(database.ReadValue(&heads, "SELECT count(*) FROM intent_heads h WHERE "+moved, argument))
			}))
			return heads
		}
		require.Equal(t, 21, lookedAt())
		for range 10 {
			h.clock.Advance(noteIdle)
			h.index(t)
		}
		require.Zero(t, lookedAt(), "nothing moves, so there is nothing to look at")
		commits := h.faults.Commits()
		for range 10 {
			h.clock.Advance(noteIdle)
			h.index(t)
		}
		require.Equal(t, commits, h.faults.Commits(), "nothing happens, so there is nothing to note")

		m := h.say(t, "ada", "*", "late word")
		require.Equal(t, 1, lookedAt())
		h.index(t)
		h.finds(t, "ada", "late", m)
	})
}
