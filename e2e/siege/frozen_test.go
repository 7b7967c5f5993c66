package siege

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// TestFrozenReplica freezes a replica while it holds the lock of one intent. Agents that send to other intents
// through another replica must not notice, however many calls there are for the locked intent.
func TestFrozenReplica(t *testing.T) {
	url := databasetest.URL(t, database.PostgreSQL)
	frozen := harness.StartProcess(t, harness.Options{URL: url})
	other := harness.StartProcess(t, harness.Options{URL: url})
	db := databasetest.Open(t, database.Config{URL: url, Connections: database.Connections{Write: 1, Read: 1}})
	held := newPlace(t, other, "held")
	freezeHolding(t, frozen, db, held)
	defer frozen.Thaw(t)
	began := time.Now()

	ctx, end := context.WithTimeout(t.Context(), size(4*time.Second, time.Minute))
	defer end()
	var attack, senders sync.WaitGroup
	for number := range 20 {
		attack.Go(func() { insistOn(ctx, other.As(fmt.Sprint("attacker", number)), held, number%2 == 0) })
	}
	sent := make([][]time.Duration, 3)
	for number := range sent {
		free := newPlace(t, other, "free")
		sender := other.As(fmt.Sprint("sender", number))
		senders.Go(func() { sent[number] = sendUntil(ctx, t, sender, free) })
	}
	senders.Wait()
	attack.Wait()
	all := slices.Concat(sent...)
	require.NotEmpty(t, all)
	figure(t, "a replica was frozen for %.0f s holding an intent's lock: %d sends to three other intents took p50 %v, p99 %v, at most %v",
		time.Since(began).Seconds(), len(all), quantile(all, .5), quantile(all, .99), slices.Max(all))
	require.Less(t, slices.Max(all), size(3*time.Second, time.Second))
}

// place is a channel on its own intent.
type place struct{ intent, channel string }

func newPlace(t *testing.T, h *harness.Server, title string) place {
	creator := h.As("creator")
	intent, err := creator.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: title})
	require.NoError(t, err)
	channel, err := creator.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{
		IntentId: intent.GetId(), Name: title,
	})
	require.NoError(t, err)
	return place{intent.GetId(), channel.GetId()}
}

// freezeHolding freezes a replica while it holds an intent's lock.
func freezeHolding(t *testing.T, h *harness.Server, db *database.DB, held place) {
	ctx, end := context.WithCancel(t.Context())
	var load sync.WaitGroup
	defer load.Wait()
	defer end()
	var sent atomic.Int64
	for number := range 16 {
		load.Go(func() {
			agent := h.As(fmt.Sprint("loading", number))
			for ctx.Err() == nil {
				// A message by name is decided from data that is read under the lock.
				_, err := agent.Messages.SendMessageByName(ctx, &openintentv1.SendMessageByNameRequest{
					IntentId: held.intent, Name: "load", Payload: text("load"),
				})
				if ctx.Err() == nil && err != nil {
					t.Errorf("a send failed: %v", err)
					return
				}
				sent.Add(1)
			}
		})
	}
	tries := 0
	require.Eventually(t, func() bool {
		if sent.Load() < 100 {
			return false
		}
		h.Freeze(t)
		tries++
		if staysHeld(t, db, held) {
			return true
		}
		h.Thaw(t)
		return false
	}, harness.Patience, 13*time.Millisecond, "the replica is never frozen with the lock")
	figure(t, "the replica was frozen with the lock at try %d", tries)
}

// staysHeld reports whether nobody releases an intent's lock for a while.
func staysHeld(t *testing.T, db *database.DB, held place) bool {
	for until := time.Now().Add(300 * time.Millisecond); time.Now().Before(until); {
		free := false
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{
				SQL: "SELECT h.intent_no FROM intent_heads AS h JOIN intents AS i ON i.intent_no = h.intent_no" +
					" WHERE i.id = ? FOR UPDATE OF h SKIP LOCKED",
				Args: []any{held.intent},
				Scan: func(row database.Row) error {
					var no int64
					free = true
					return row.Scan(&no)
				},
			})
		}))
		if free {
			return false
		}
	}
	return true
}

// insistOn calls for an intent until the context ends. It either sends, or appends events, which waits for the lock.
func insistOn(ctx context.Context, attacker *harness.Caller, at place, sends bool) {
	for ctx.Err() == nil {
		if sends {
			_, _ = attacker.Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{ChannelId: at.channel, Payload: text("attack")})
		} else {
			_, _ = attacker.Events.AppendEvent(ctx, &openintentv1.AppendEventRequest{IntentId: at.intent, EventType: "attack"})
		}
	}
}

// sendUntil sends until the context ends, one message after the other, and returns how long each took.
func sendUntil(ctx context.Context, t *testing.T, sender *harness.Caller, to place) (took []time.Duration) {
	for ctx.Err() == nil {
		began := time.Now()
		_, err := sender.Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{ChannelId: to.channel, Payload: text("on time")})
		if err != nil {
			t.Errorf("a send to another intent failed: %v", err)
		}
		took = append(took, time.Since(began))
	}
	return took
}

// text returns a payload with one text.
func text(text string) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{"text": structpb.NewStringValue(text)}}
}

// quantile returns the time within which this part of the sends completed.
func quantile(took []time.Duration, part float64) time.Duration {
	sorted := slices.Sorted(slices.Values(took))
	return sorted[int(part*float64(len(sorted)-1))].Round(10 * time.Microsecond)
}
