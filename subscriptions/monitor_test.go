package subscriptions

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/database"
	"openintent/database/databasetest"
	openintentv1 "openintent/gen/openintent/v1"
)

// deaf is a stream of an agent's own log that only the monitor's wake-ups reach.
type deaf struct {
	*receiver
	observer *observer
}

func (r rooms) deaf(t *testing.T, agent string) deaf {
	own, err := r.subscriptions.ownLog(as(agent), agent)
	require.NoError(t, err)
	d := deaf{receiver: r.subscriptions.newReceiver(own)}
	d.watch.Close()
	d.observer = r.subscriptions.monitor.add(ownLogObserver(d.receiver))
	d.looks(t)
	return d
}

func (d deaf) looks(t *testing.T) {
	seen, err := d.refresh(as(d.sub.subscriber))
	require.NoError(t, err)
	d.watch.Close()
	d.service.monitor.update(d.observer, seen)
	select {
	case <-d.watch.C():
	default:
	}
}

// isWoken reports whether a poll wakes the stream. If so, the stream looks.
func (d deaf) isWoken(t *testing.T) bool {
	require.NoError(t, d.service.monitor.poll(t.Context()))
	woken := len(d.watch.C()) > 0
	d.looks(t)
	return woken
}

func TestTheMonitorFindsWhatNoWakeUpToldOf(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		known, further, listing := h.intent(t), h.intent(t), h.intent(t)
		talk, away := h.open(t, known, "talk"), h.open(t, further, "away")
		h.register(t, "bob", "smith")
		h.send(t, "ann", talk, "bob", "before")
		bob, eve := h.deaf(t, "bob"), h.deaf(t, "eve")
		require.False(t, bob.isWoken(t), "nothing has happened since it looked")

		h.send(t, "ann", talk, "ann2", "where bob is reached")
		require.True(t, bob.isWoken(t), "a head moved")
		require.False(t, bob.isWoken(t))
		h.send(t, "ann", away, "zoe", "where bob is not reached")
		require.False(t, bob.isWoken(t))
		h.send(t, "ann", away, "bob", "where bob begins to be reached")
		require.True(t, bob.isWoken(t))
		_, err := h.intents.AssignAgent(as("creator"), &openintentv1.AssignAgentRequest{IntentId: listing, AgentId: "bob"})
		require.NoError(t, err)
		require.True(t, bob.isWoken(t), "an intent now names the agent")
		require.False(t, bob.isWoken(t))

		third := h.intent(t)
		h.send(t, "ann", h.open(t, third, "work"), "role:smith", "to the role")
		require.True(t, bob.isWoken(t))
		_, err = h.channels.CreateChannel(as("creator"), &openintentv1.CreateChannelRequest{
			IntentId: h.intent(t), Name: "few", MemberPolicy: openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT.Enum(),
			Members: []string{"creator", "bob"},
		})
		require.NoError(t, err)
		require.True(t, bob.isWoken(t), "a channel now lists the agent")
		require.False(t, bob.isWoken(t))

		require.False(t, eve.isWoken(t))
		h.register(t, "eve", "smith")
		require.True(t, eve.isWoken(t), "the agent now holds a role")
		require.False(t, eve.isWoken(t))
		require.NoError(t, h.db.Write(context.Background(), func(tx *database.Tx) error { // as if another replica assigned a number
			return tx.Pipeline(database.Statement{
				SQL: "UPDATE subscriptions SET last_number = last_number + 1 WHERE subscription_no = ?", Args: []any{eve.sub.no},
			})
		}))
		require.True(t, eve.isWoken(t), "its log has a new number")
		require.False(t, eve.isWoken(t))
	})
}

// A change that is committed after a poll may have been decided before it.
func TestTheMonitorFindsWhatWasCommittedLate(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		talk := h.open(t, h.intent(t), "talk")
		h.send(t, "ann", talk, "bob", "before")
		bob := h.deaf(t, "bob")
		bob.isWoken(t)
		decided := h.clock.Now()
		h.clock.Advance(commitLag / 2)
		bob.isWoken(t)
		h.send(t, "ann", talk, "bob", "decided earlier")
		require.NoError(t, h.db.Write(context.Background(), func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{
				SQL: "UPDATE intent_heads SET moved_in = ?", Args: []any{database.Micros(decided) / (10 * time.Second).Microseconds()},
			})
		}))
		require.True(t, bob.isWoken(t))

		h.clock.Advance(-time.Hour) // the clock is set back
		h.send(t, "ann", talk, "bob", "by the earlier clock")
		require.True(t, bob.isWoken(t))
		h.clock.Advance(2 * time.Hour)
		h.send(t, "ann", talk, "bob", "by the later clock")
		require.True(t, bob.isWoken(t))
	})
}

// If a head goes back because commits were lost, that is also a change, although the latest change of the head is old.
func TestTheMonitorFindsThatAHeadWentBack(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		talk := h.open(t, h.intent(t), "talk")
		h.send(t, "ann", talk, "bob", "kept")
		bob := h.deaf(t, "bob")
		past := databasetest.Remember(t, h.db, "before")
		h.clock.Advance(10 * commitLag)
		h.send(t, "ann", talk, "bob", "lost")
		require.True(t, bob.isWoken(t))
		require.False(t, bob.isWoken(t))
		past.PutBack(t)
		require.True(t, bob.isWoken(t))
		require.False(t, bob.isWoken(t))
	})
}

// A poll may run after an observer's look and before it records what it saw.
func TestThePollDuringAFirstLookIsNotMissed(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		talk := h.open(t, intentID, "talk")
		sub, err := h.subscriptions.find(as("bob"), h.subscribe(t, "bob", &createInput{IntentId: &intentID}).GetId())
		require.NoError(t, err)
		r := h.subscriptions.newReceiver(sub)
		defer r.close()
		o := h.subscriptions.monitor.add(&observer{watch: r.watch, no: sub.no, agentID: "bob"})
		defer h.subscriptions.monitor.remove(o)
		seen, err := r.refresh(t.Context())
		require.NoError(t, err)
		r.watch.Close() // now no wake-up reaches the receiver
		h.send(t, "ann", talk, "bob", "after it looked")
		require.NoError(t, h.subscriptions.monitor.poll(t.Context()))
		require.Empty(t, r.watch.C())
		h.subscriptions.monitor.update(o, seen)
		require.Len(t, r.watch.C(), 1)

		<-r.watch.C()
		seen, err = r.refresh(t.Context())
		require.NoError(t, err)
		h.subscriptions.monitor.update(o, seen)
		require.NoError(t, h.subscriptions.monitor.poll(t.Context()))
		require.Empty(t, r.watch.C(), "the receiver has seen everything")
	})
}

// A running stream gets the messages that no wake-up announced, in order and once, and leaves nothing behind.
func TestStreamsGetWhatTheMonitorFinds(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		talk, away := h.open(t, h.intent(t), "talk"), h.open(t, h.intent(t), "away")
		h.send(t, "ann", talk, "bob", "before")
		s := h.follow(t, "bob", nil)
		requireNext(t, s, "0 caught up")
		m := h.subscriptions.monitor
		m.mutex.Lock()
		for o := range m.observers {
			o.watch.Close()
		}
		m.mutex.Unlock()
		h.send(t, "ann", talk, "bob", "one")
		h.send(t, "ann", away, "bob", "two")
		require.NoError(t, m.poll(t.Context()))
		first, second := s.next(t), s.next(t)
		require.ElementsMatch(t, []string{"one", "two"}, []string{textOf(first.GetMessage()), textOf(second.GetMessage())})
		require.Equal(t, []int64{1, 2}, []int64{first.GetPosition(), second.GetPosition()})
		s.cancel()
		require.ErrorIs(t, s.end(t), context.Canceled)
		require.Empty(t, m.observers)
		require.Empty(t, m.byName)
		require.Empty(t, m.byIntent)
	})
}
