package messaging

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/agents"
	"openintent/channels"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/message"
	"openintent/messaging/writing"
)

// draftFor makes a draft of a notify to everyone, as a call would.
func (h *house) draftFor(t require.TestingT, channelID, sender, text string) *writing.Draft {
	key := h.key(t, channelID)
	d := &writing.Draft{
		ID: message.NewID(), Sender: sender, By: caller.Caller{Agent: sender}, MessageType: message.TypeNotify,
		Channel: key, ChannelID: channelID, IntentNo: key.IntentNo,
	}
	require.NoError(t, d.SetContent(content(text), nil))
	return d
}

// submitted is a draft that waits to be stored, or has been.
type submitted struct {
	draft *writing.Draft
	done  chan writing.Outcome
}

// enqueue queues a draft without waiting for it.
func (h *house) enqueue(t require.TestingT, d *writing.Draft) *submitted {
	s, err := h.tryEnqueue(d)
	require.NoError(t, err)
	return s
}

func (h *house) tryEnqueue(d *writing.Draft) (*submitted, error) {
	s := &submitted{d, make(chan writing.Outcome, 1)}
	return s, h.messaging.writer.SubmitInTurn(context.Background(), d, s.done)
}

func (h *house) submit(t require.TestingT, channelID, sender, text string) *submitted {
	return h.enqueue(t, h.draftFor(t, channelID, sender, text))
}

// fill sends messages whose texts are their numbers, many at once.
func (h *house) fill(t require.TestingT, channelID, sender string, count int) {
	submissions := make([]*submitted, count)
	for i := range submissions {
		submissions[i] = h.submit(t, channelID, sender, fmt.Sprint(i+1))
	}
	for _, s := range submissions {
		require.NoError(t, (<-s.done).Err)
	}
}

// waiting counts the drafts that wait to be stored.
func (h *house) waiting() int {
	drafts, _ := h.messaging.Waiting()
	return drafts
}

// While one batch commits, the next gathers.
func TestWaitingMessagesAreCommittedTogether(t *testing.T) {
	var mutex sync.Mutex
	sizes := make(map[string][]int)
	observed := func(cfg *configOfDatabase, own *Config) {
		own.ObserveBatch = func(size int, _ bool) {
			mutex.Lock()
			defer mutex.Unlock()
			sizes[cfg.URL] = append(sizes[cfg.URL], size)
		}
	}
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		id := h.open(t)
		waiting, release := f.hold()
		defer release()
		var wait sync.WaitGroup
		const senders = 50
		send := func(i int) {
			_, err := h.messaging.SendMessage(as(fmt.Sprint("agent", i)), &sendRequest{ChannelId: id})
			if err != nil {
				t.Error(err)
			}
		}
		wait.Go(func() { send(0) })
		<-waiting
		for i := 1; i < senders; i++ {
			wait.Go(func() { send(i) })
		}
		eventually(t, func() bool { return h.waiting() == senders-1 }, "the messages do not wait")
		release()
		wait.Wait()
		mutex.Lock()
		defer mutex.Unlock()
		require.Equal(t, []int{1, senders - 1}, sizes[h.url])
		require.Equal(t, int64(senders), h.channel(t, id).GetMessageCount())
	}, observed)
}

func TestStoppingCommitsWhatWaits(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		id := h.open(t)
		waiting, release := f.hold()
		defer release()
		submissions := []*submitted{h.submit(t, id, "alice", "held")}
		<-waiting
		for i := range 20 {
			submissions = append(submissions, h.submit(t, id, "alice", fmt.Sprint(i)))
		}
		stopped := make(chan struct{})
		go func() {
			h.messaging.Stop()
			close(stopped)
		}()
		eventually(t, func() bool {
			s, err := h.tryEnqueue(h.draftFor(t, id, "alice", "until it stops"))
			if err == nil {
				submissions = append(submissions, s)
			}
			return err != nil
		}, "it does not begin to stop")
		_, err := h.messaging.SendMessage(as("alice"), &sendRequest{ChannelId: id})
		refusal := faulttest.Require(t, err, fault.Unavailable, "SERVER_STOPPING")
		require.NotZero(t, refusal.RetryAfter)
		select {
		case <-stopped:
			require.Fail(t, "it stopped before the messages were stored")
		default:
		}
		release()
		<-stopped
		for _, s := range submissions {
			require.NoError(t, (<-s.done).Err)
		}
		require.EqualValues(t, len(submissions), h.channel(t, id).GetMessageCount())
		h.messaging.Stop()
	})
}

func TestStoppingBeforeStarting(t *testing.T) {
	db := databasetest.Open(t, database.Config{URL: databasetest.URL(t, database.SQLite)})
	s := New(Config{DB: db, Intents: intents.New(intents.Config{DB: db}), Agents: &agents.Service{}, Channels: &channels.Service{}})
	s.Stop()
	s.Start()
	s.Stop()
	d := &writing.Draft{Sender: "alice"}
	require.ErrorIs(t, s.writer.SubmitInTurn(t.Context(), d, make(chan writing.Outcome, 1)), message.ErrStopping)
}

// A sender that goes away changes nothing about its message.
func TestContextOfTheSenderDoesNotReachTheStore(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		id := h.open(t)
		waiting, release := f.hold()
		defer release()
		ctx, cancel := context.WithCancel(as("alice"))
		ended := make(chan error, 1)
		go func() {
			_, err := h.messaging.SendMessage(ctx, &sendRequest{ChannelId: id})
			ended <- err
		}()
		<-waiting
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		release()
		eventually(t, func() bool { return h.channel(t, id).GetMessageCount() == 1 }, "the message is not stored")
	})
}
