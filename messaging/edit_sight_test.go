package messaging

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// A client that reads slowly gets the newest content of what it has not received, also of messages that were on their way to it
// in memory when somebody edited them.
func TestASlowStreamGetsWhatWasEditedMeanwhile(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		requireSlowStreamsCurrent(t, h, h)
	})
}

func TestASlowStreamGetsWhatWasEditedOnTheOtherReplica(t *testing.T) {
	eachWay(t, requireSlowStreamsCurrent)
}

func requireSlowStreamsCurrent(t *testing.T, one, other *house) {
	for _, live := range []bool{false, true} {
		channel := one.open(t)
		requireCurrent(t, one, other, channel, live, func(agent string, after *int64) *streaming {
			return one.follow(t, agent, channel, after)
		})
		within := one.open(t)
		requireCurrent(t, one, other, within, live, func(agent string, after *int64) *streaming {
			return one.subscribeIntent(as(agent), t, one.channel(t, within).GetIntentId(), after)
		})
	}
}

// requireCurrent lets a stream stall behind its first message, edits the fourth and deletes the fifth, and looks at what comes. A live
// stream takes what the followers share; any other reads for itself.
func requireCurrent(
	t *testing.T, one, other *house, id string, live bool, follow func(agent string, after *int64) *streaming,
) {
	var sent []*wireMessage
	say := func() {
		for i := range 5 {
			sent = append(sent, one.say(t, "alice", id, strconv.Itoa(i)))
		}
	}
	quick := follow("carol", nil)
	var slow *streaming
	if live {
		slow = follow("bob", nil)
		say()
	} else {
		say()
		slow = follow("bob", ptr(int64(0)))
	}
	texts := func(f *streaming, n int) (texts []string) {
		for len(texts) < n {
			if m := f.next(t).GetMessage(); m != nil {
				texts = append(texts, textOf(m))
			}
		}
		return texts
	}
	texts(quick, 5)
	require.Equal(t, []string{"0"}, texts(slow, 1))
	other.edit(t, "alice", sent[3], "edited")
	other.erase(t, "alice", sent[4])
	one.say(t, "alice", id, "last")
	require.Equal(t, []string{"last"}, texts(quick, 1), "the quick stream's page is newer than the edit")
	require.Equal(t, []string{"1", "2", "edited", "", "last"}, texts(slow, 5))
	slow.cancel()
	quick.cancel()
}

// While somebody edits and edits, nobody who reads sees a revision older than one that was acknowledged before the reading began,
// on whatever path and replica.
func TestNobodyIsShownWhatWasReplaced(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) { requireNothingReplaced(t, h, h) })
}

func TestNobodyIsShownWhatWasReplacedOnTheOtherReplica(t *testing.T) {
	eachWay(t, requireNothingReplaced)
}

func requireNothingReplaced(t *testing.T, one, other *house) {
	id := one.open(t)
	question := one.asks(t, "alice", id, "bob")
	answer := one.send(t, "bob", &sendRequest{
		ChannelId: id, MessageType: ptr(response), CorrelationId: &question.Id, Payload: content("1"),
	})
	var acknowledged atomic.Int64
	acknowledged.Store(1)
	readers := map[string]func() *wireMessage{
		"get":    func() *wireMessage { return other.get(t, id, answer.GetId()) },
		"list":   func() *wireMessage { return other.list(t, "alice", &listRequest{ChannelId: id})[1] },
		"inbox":  func() *wireMessage { return other.inbox(t, "alice").GetItems()[0].GetMessage() },
		"answer": func() *wireMessage { got, _ := other.awaits(t, "alice", question); return got[0] },
		"stream": func() *wireMessage {
			f, err := other.trySubscribe(as("alice"), &openintentv1.SubscribeRequest{
				Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: id}, AfterPosition: ptr(int64(0)),
			})
			if err != nil {
				return nil
			}
			defer f.cancel()
			f.next(t)
			return f.next(t).GetMessage()
		},
	}
	var reading sync.WaitGroup
	done := make(chan struct{})
	stale := make(chan string, len(readers))
	for path, read := range readers {
		reading.Go(func() {
			for {
				least := acknowledged.Load()
				got, err := strconv.ParseInt(textOf(read()), 10, 64)
				if err != nil || got < least {
					stale <- fmt.Sprintf("%s shows %d, though %d was acknowledged: %v", path, got, least, err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for revision := int64(2); revision <= 40; revision++ {
		one.edit(t, "bob", answer, strconv.FormatInt(revision, 10))
		acknowledged.Store(revision)
	}
	close(done)
	reading.Wait()
	close(stale)
	for why := range stale {
		t.Error(why)
	}
}
