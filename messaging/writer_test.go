package messaging

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/fault"
)

// draftFor makes a draft of a notify to everyone, as a call would.
func (h *house) draftFor(t require.TestingT, channelID, sender, text string) *draft {
	d := draftBy(sender)
	d.id, d.channel, d.channelID = newMessageID(), h.key(t, channelID), channelID
	d.intentNo = d.channel.IntentNo
	require.NoError(t, d.setContent(content(text), nil))
	return d
}

// enqueue queues a draft without waiting for it.
func (h *house) enqueue(t require.TestingT, d *draft) *submission {
	s := &submission{draft: d, done: make(chan outcome, 1)}
	require.NoError(t, h.messaging.writer.queue.add(s))
	return s
}

func (h *house) submit(t require.TestingT, channelID, sender, text string) *submission {
	return h.enqueue(t, h.draftFor(t, channelID, sender, text))
}

// fill sends messages whose texts are their numbers, many at once.
func (h *house) fill(t require.TestingT, channelID, sender string, count int) {
	submissions := make([]*submission, count)
	for i := range submissions {
		submissions[i] = h.submit(t, channelID, sender, fmt.Sprint(i+1))
	}
	for _, s := range submissions {
		require.NoError(t, (<-s.done).err)
	}
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
		eventually(t, func() bool { return h.messaging.writer.queue.size() == senders-1 }, "the messages do not wait")
		release()
		wait.Wait()
		mutex.Lock()
		defer mutex.Unlock()
		require.Equal(t, []int{1, senders - 1}, sizes[h.url])
		require.Equal(t, int64(senders), h.channel(t, id).GetMessageCount())
	}, observed)
}

func (q *queue) size() int {
	drafts, _ := q.waits()
	return drafts
}

func TestStoppingCommitsWhatWaits(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		id := h.open(t)
		waiting, release := f.hold()
		defer release()
		submissions := []*submission{h.submit(t, id, "alice", "held")}
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
			h.messaging.writer.queue.mutex.Lock()
			defer h.messaging.writer.queue.mutex.Unlock()
			return h.messaging.writer.queue.stopping
		}, "it does not begin to stop")
		_, err := h.messaging.SendMessage(as("alice"), &sendRequest{ChannelId: id})
		refusal := requireFault(t, err, fault.Unavailable, "SERVER_STOPPING")
		require.NotZero(t, refusal.RetryAfter)
		select {
		case <-stopped:
			require.Fail(t, "it stopped before the messages were stored")
		default:
		}
		release()
		<-stopped
		for _, s := range submissions {
			require.NoError(t, (<-s.done).err)
		}
		require.Equal(t, int64(21), h.channel(t, id).GetMessageCount())
		h.messaging.Stop()
	})
}

func TestStoppingBeforeStarting(t *testing.T) {
	s := &Service{writer: newWriter(Config{}, newHub()), offers: newOffers(nil, slog.New(slog.DiscardHandler), time.Hour)}
	s.tails = newTails(s)
	s.Stop()
	s.Start()
	s.Stop()
	require.ErrorIs(t, s.writer.queue.add(&submission{draft: draftBy("alice")}), errStopping)
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
