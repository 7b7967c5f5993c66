package messaging

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/channels"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/message"
)

// faults decides what becomes of the commits of a database. Without instructions they succeed.
type faults struct {
	mutex         sync.Mutex
	before, after func() error
}

func (f *faults) option() option {
	return withHooks(database.Hooks{
		BeforeCommit: func(context.Context) error { return f.run(&f.before) },
		AfterCommit:  func(context.Context) error { return f.run(&f.after) },
	})
}

func (f *faults) run(instruction *func() error) error {
	f.mutex.Lock()
	do := *instruction
	f.mutex.Unlock()
	if do == nil {
		return nil
	}
	return do()
}

func (f *faults) set(before, after func() error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.before, f.after = before, after
}

// times is an instruction that fails so many times, and then no more.
func times(count int) func() error {
	var mutex sync.Mutex
	return func() error {
		mutex.Lock()
		defer mutex.Unlock()
		if count == 0 {
			return nil
		}
		count--
		return errInjected
	}
}

func failing() error { return errInjected }

// hold makes commits wait, beginning with the next. It gives a channel that tells when one waits, and a function that lets
// them go.
func (f *faults) hold() (waiting <-chan struct{}, release func()) {
	reached, released := make(chan struct{}, 1), make(chan struct{})
	f.set(func() error {
		select {
		case reached <- struct{}{}:
		default:
		}
		<-released
		return nil
	}, nil)
	return reached, sync.OnceFunc(func() {
		f.mutex.Lock()
		f.before = nil
		f.mutex.Unlock()
		close(released)
	})
}

// afterwards sets what becomes of commits that succeed.
func (f *faults) afterwards(instruction func() error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.after = instruction
}

// eachFaultyEngine is eachEngine with a database whose commits can fail.
func eachFaultyEngine(t *testing.T, run func(t *testing.T, h *house, f *faults), options ...option) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			f := &faults{}
			run(t, newHouse(t, engine, append(options, f.option())...), f)
		})
	}
}

func TestFailedCommitStoresNothing(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		id := h.create(t, &createRequest{Options: &optionsInput{Audit: ptr(true)}})
		asked := h.asks(t, "alice", id, "bob")
		position := h.positionOf(t, id)
		f.set(failing, nil)
		_, err := h.messaging.SendMessage(as("alice"), keyed(id, "k", "x"))
		require.ErrorIs(t, err, errInjected)
		_, err = h.tryReply(as("bob"), id, asked.GetId(), "")
		require.ErrorIs(t, err, errInjected)
		_, err = h.tryRead(as("bob"), id, asked.GetId())
		require.ErrorIs(t, err, errInjected)
		_, err = h.messaging.SendMessageByName(as("alice"), &byNameRequest{IntentId: h.channel(t, id).GetIntentId(), Name: "new"})
		require.ErrorIs(t, err, errInjected)
		f.set(nil, nil)
		require.Equal(t, position, h.positionOf(t, id))
		require.Equal(t, int64(1), h.channel(t, id).GetMessageCount())
		require.Len(t, h.channelsOf(t, h.channel(t, id).GetIntentId()), 1)
		require.Equal(t, 1, h.rows(t, "open_requests", "1 = 1"))
		require.Zero(t, h.rows(t, "idempotency_keys", "1 = 1")+h.rows(t, "receipts", "1 = 1"))
		require.Equal(t, "y", textOf(h.send(t, "alice", keyed(id, "k", "y"))), "the key was not used")
		require.Equal(t, position+1, h.positionOf(t, id))
		h.requireChain(t, id)
	})
}

// The commit succeeds, but its acknowledgement is lost. The sender hears of its message all the same, and there is one.
func TestLostAcknowledgementIsFoundOut(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		id := h.open(t)
		intentID := h.channel(t, id).GetIntentId()
		f.set(nil, times(1))
		sent := h.say(t, "alice", id, "once")
		require.Empty(t, cmpMessages(sent, h.get(t, id, sent.GetId())))
		require.Equal(t, []string{"once"}, textsOf(h.list(t, "bob", &listRequest{ChannelId: id})))

		f.set(nil, times(1))
		first := h.send(t, "alice", keyed(id, "k", "x"))
		f.set(nil, nil)
		require.Equal(t, first.GetId(), h.send(t, "alice", keyed(id, "k", "x")).GetId())

		f.set(nil, times(1))
		named, err := h.messaging.SendMessageByName(as("alice"), &byNameRequest{IntentId: intentID, Name: "new"})
		require.NoError(t, err)
		f.set(nil, nil)
		require.Len(t, h.channelsOf(t, intentID), 2)
		require.Empty(t, cmpMessages(named, h.get(t, named.GetChannelId(), named.GetId())))

		f.set(nil, times(1))
		asking := h.askMeanwhile(as("alice"), t, id, 30)
		answer := h.reply(t, "bob", id, asking.request.GetId(), "yes")
		out := asking.result(t)
		require.NoError(t, out.err)
		require.Equal(t, answer.GetId(), out.message.GetId())
		require.Equal(t, int64(4), h.channel(t, id).GetMessageCount())
	}, restless)
}

func TestLostAcknowledgementOfABatch(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		one, two := h.open(t), h.explicit(t, "alice")
		waiting, release := f.hold()
		defer release()
		first := h.submit(t, one, "alice", "first")
		<-waiting
		var batch []*submitted
		for i := range 6 {
			batch = append(batch, h.submit(t, []string{one, two}[i%2], "alice", fmt.Sprint(i)))
		}
		refused := h.submit(t, two, "bob", "not a member")
		f.afterwards(times(2))
		release()
		require.NoError(t, (<-first.done).Err)
		ids := make(map[string]bool)
		for _, s := range batch {
			out := <-s.done
			require.NoError(t, out.Err)
			require.Equal(t, s.draft.ID, out.Message.ID)
			ids[out.Message.ID] = true
		}
		require.ErrorIs(t, (<-refused.done).Err, message.ErrNotMember)
		require.Len(t, ids, 6)
		require.Equal(t, []string{"first", "0", "2", "4"}, textsOf(h.list(t, "bob", &listRequest{ChannelId: one})))
		require.Equal(t, []string{"1", "3", "5"}, textsOf(h.list(t, "alice", &listRequest{ChannelId: two})))
	})
}

// When the database stays away after a lost acknowledgement, the sender learns that nobody knows, and the retry under its
// key finds the message.
func TestOutcomeThatStaysUnknown(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		id := h.open(t)
		f.set(nil, func() error {
			f.set(failing, nil)
			return errInjected
		})
		_, err := h.messaging.SendMessage(as("alice"), keyed(id, "k", "x"))
		refusal := faulttest.Require(t, err, fault.Unavailable, "OUTCOME_UNKNOWN")
		require.NotZero(t, refusal.RetryAfter)
		f.set(nil, nil)
		h.send(t, "alice", keyed(id, "k", "x"))
		require.Equal(t, int64(1), h.channel(t, id).GetMessageCount())
	})
}

// One draft that the store refuses does not hurt those that were to be committed with it.
func TestPoisonedDraftHurtsNoNeighbour(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		id, other := h.open(t), h.open(t)
		taken := h.say(t, "alice", id, "first")
		waiting, release := f.hold()
		defer release()
		held := h.submit(t, id, "alice", "held")
		<-waiting
		before := h.submit(t, id, "alice", "before")
		d := h.draftFor(t, id, "alice", "poisoned")
		d.ID = taken.GetId()
		poisoned := h.enqueue(t, d)
		after, elsewhere := h.submit(t, id, "alice", "after"), h.submit(t, other, "alice", "elsewhere")
		release()
		require.Error(t, (<-poisoned.done).Err)
		for _, s := range []*submitted{held, before, after, elsewhere} {
			require.NoError(t, (<-s.done).Err)
		}
		require.Equal(t, []string{"first", "held", "before", "after"}, textsOf(h.list(t, "bob", &listRequest{ChannelId: id})))
		require.Equal(t, []string{"elsewhere"}, textsOf(h.list(t, "bob", &listRequest{ChannelId: other})))
		require.Equal(t, int64(4), h.channel(t, id).GetMessageCount())
	})
}

func TestPanicWhileStoringIsARefusal(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		id := h.open(t)
		f.set(func() error {
			f.set(nil, nil)
			panic("injected")
		}, nil)
		_, err := h.messaging.SendMessage(as("alice"), &sendRequest{ChannelId: id})
		faulttest.Require(t, err, fault.Internal, "INTERNAL")
		h.say(t, "alice", id, "the writer goes on")
		require.Equal(t, int64(1), h.channel(t, id).GetMessageCount())
	})
}

// holdHead locks the intent of a channel from another replica, does some work there, and keeps the lock until released.
func holdHead(t *testing.T, r rooms, key channels.Key, work func(tx *database.Tx, head *intents.Head) error) (release func()) {
	held, released, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- r.db.Write(context.Background(), func(tx *database.Tx) error {
			heads, err := intents.Lock(tx, key.IntentNo)
			if err == nil {
				err = work(tx, heads.Get(key.IntentNo))
			}
			close(held)
			<-released
			return err
		})
	}()
	<-held
	return sync.OnceFunc(func() {
		close(released)
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A batch passes over an intent that another replica holds, touches nothing of it, and stores its messages when it is free.
func TestBatchPassesOverWhatAnotherReplicaHolds(t *testing.T) {
	t.Parallel()
	f := &faults{}
	h := newHouse(t, database.PostgreSQL, f.option())
	other := h.replica(t, func(cfg *database.Config, _ *Config) { cfg.Hooks = database.Hooks{} })
	free, busy, third := h.open(t), h.open(t), h.open(t)
	waiting, release := f.hold()
	defer release()
	held := h.submit(t, third, "alice", "held")
	<-waiting
	one, two := h.submit(t, free, "alice", "free"), h.submit(t, busy, "alice", "busy")
	letGo := holdHead(t, other, h.key(t, busy), func(tx *database.Tx, head *intents.Head) error {
		return other.messaging.writer.AnnounceDeparture(tx, head, "somebody", []channels.Key{h.key(t, busy)})
	})
	defer letGo()
	release()
	require.NoError(t, (<-held.done).Err)
	require.NoError(t, (<-one.done).Err)
	letGo()
	require.NoError(t, (<-two.done).Err)
	require.Equal(t, int64(2), h.channel(t, busy).GetMessageCount())
	require.Equal(t, []string{"", "busy"}, textsOf(h.list(t, "bob", &listRequest{ChannelId: busy})))
	require.Equal(t, int64(1), h.channel(t, free).GetMessageCount())
}

// A message whose commit was not acknowledged stays uncertain while another replica holds its intent.
func TestPassedOverMessageStaysUncertain(t *testing.T) {
	t.Parallel()
	f := &faults{}
	h := newHouse(t, database.PostgreSQL, f.option())
	other := h.replica(t, func(cfg *database.Config, _ *Config) { cfg.Hooks = database.Hooks{} })
	free, busy, third := h.open(t), h.open(t), h.open(t)
	waiting, release := f.hold()
	defer release()
	held := h.submit(t, third, "alice", "held")
	<-waiting
	one, two := h.submit(t, free, "alice", "free"), h.submit(t, busy, "alice", "busy")
	commits, letGo := 0, func() {}
	f.afterwards(func() error {
		if commits++; commits < 2 {
			return nil // of the message that was held
		}
		f.afterwards(nil)
		letGo = holdHead(t, other, h.key(t, busy), func(*database.Tx, *intents.Head) error { return nil })
		return errInjected
	})
	release()
	require.NoError(t, (<-held.done).Err)
	require.NoError(t, (<-one.done).Err)
	letGo()
	out := <-two.done
	require.NoError(t, out.Err)
	require.Equal(t, two.draft.ID, out.Message.ID)
	require.Equal(t, int64(1), h.channel(t, busy).GetMessageCount())
	require.Equal(t, int64(1), h.channel(t, free).GetMessageCount())
}
