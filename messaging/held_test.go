package messaging

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

// holdElsewhere locks a channel's intent in another replica until the returned function is called.
func (h *house) holdElsewhere(t *testing.T, other rooms, channelID string) (release func()) {
	return holdHead(t, other, h.key(t, channelID), func(*database.Tx, *intents.Head) error { return nil })
}

// While another replica holds an intent, messages to it wait, known or not, and those to all other intents are stored.
func TestAHeldIntentHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	one, other := newReplicas(t, restless)
	held, free := one.open(t), one.open(t)
	for name, prepare := range map[string]func(){
		"known to the writer":    func() { one.say(t, "alice", held, "before") },
		"moved by somebody else": func() { other.say(t, "alice", held, "before") },
	} {
		prepare()
		count := one.channel(t, held).GetMessageCount()
		release := one.holdElsewhere(t, other.rooms, held)
		waiting := []*submitted{one.submit(t, held, "alice", "first"), one.submit(t, held, "alice", "second")}
		for range 5 {
			one.say(t, "bob", free, "at once")
		}
		waiting = append(waiting, one.submit(t, held, "alice", "third"))
		one.say(t, "bob", free, "at once")
		require.Equal(t, count, one.channel(t, held).GetMessageCount(), name)
		release()
		for i, s := range waiting {
			out := <-s.done
			require.NoError(t, out.Err, name)
			require.Equal(t, count+int64(i)+1, out.Message.Ordinal, "%s: in the order in which they came", name)
		}
	}
	one.requireGapless(t, held)
}

// So it goes after a commit of unknown outcome: the lost transaction may hold its lock for a while.
func TestAnUncertainMessageHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	f := &faults{}
	h := newHouse(t, database.PostgreSQL, f.option())
	other := h.replica(t, func(cfg *database.Config, _ *Config) { cfg.Hooks = database.Hooks{} })
	held, free := h.open(t), h.open(t)
	letGo := func() {}
	f.afterwards(func() error {
		f.afterwards(nil)
		letGo = h.holdElsewhere(t, other, held)
		return errInjected
	})
	uncertain := h.submit(t, held, "alice", "uncertain")
	eventually(t, func() bool { _, aside := h.messaging.Waiting(); return aside == 1 }, "it is not put aside")
	for range 5 {
		h.say(t, "bob", free, "at once")
	}
	letGo()
	out := <-uncertain.done
	require.NoError(t, out.Err)
	require.Equal(t, uncertain.draft.ID, out.Message.ID)
	require.Equal(t, int64(1), h.channel(t, held).GetMessageCount())
}

// What is locked is not always a head: a record that decides may have changed, and be under change again.
func TestALockedRecordHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	one, other := newReplicas(t, restless)
	one.register(t, "carol", "tester")
	id, free := one.open(t), one.open(t)
	one.say(t, "carol", id, "known to the writer")
	other.register(t, "carol", "other role")
	held, released := make(chan struct{}), make(chan struct{})
	var holding sync.WaitGroup
	holding.Go(func() {
		_ = other.db.Write(t.Context(), func(tx *database.Tx) error {
			err := tx.Pipeline(database.Statement{SQL: "UPDATE agents SET version = version + 1 WHERE agent_id = 'carol'"})
			close(held)
			<-released
			return errors.Join(err, errInjected)
		})
	})
	<-held
	one.say(t, "bob", free, "at once")
	one.say(t, "carol", id, "by what is read")
	close(released)
	holding.Wait()
}

// An intent that is gone, as after a restored backup, is told from one that is held.
func TestSendingToAnIntentThatIsGone(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.say(t, "alice", id, "before")
		key := h.key(t, id)
		require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{SQL: "DELETE FROM intent_heads WHERE intent_no = ?", Args: []any{key.IntentNo}})
		}))
		h.forget(t)
		_, err := h.messaging.SendMessage(as("alice"), &sendRequest{ChannelId: id})
		faulttest.Require(t, err, fault.NotFound, "INTENT_NOT_FOUND")
	}, forgetful)
}

// Calls that wait for an intent's lock leave connections to others.
func TestCallsForAHeldIntentHoldUpNoOther(t *testing.T) {
	t.Parallel()
	one, other := newReplicas(t, restless)
	held, free := one.open(t), one.open(t)
	release := one.holdElsewhere(t, other.rooms, held)
	defer release()
	var calls sync.WaitGroup
	failures := make(chan error, 40)
	for range cap(failures) {
		calls.Go(func() {
			_, err := one.intents.AppendEvent(as("creator"), &openintentv1.AppendEventRequest{
				IntentId: one.channel(t, held).GetIntentId(), EventType: "waiting",
			})
			failures <- err
		})
	}
	intentID := one.channel(t, free).GetIntentId()
	for range 5 {
		_, err := one.intents.AppendEvent(as("creator"), &openintentv1.AppendEventRequest{IntentId: intentID, EventType: "free"})
		require.NoError(t, err)
		one.say(t, "bob", free, "at once")
	}
	release()
	calls.Wait()
	for range cap(failures) {
		require.NoError(t, <-failures)
	}
}
