package following

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/channels"
	"openintent/channels/channelstest"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/messaging/wake"
	"openintent/messaging/writing"
)

// When a follower reads rules that are newer than its shared page, what the caller gains by them waits for the next shared page,
// which backfills it.
func TestGainsWaitForTheirPage(t *testing.T) {
	channelstest.Each(t, func(t *testing.T, p *channelstest.Place) {
		id, key := p.Explicit(t, "alice")
		reader := reading.Reader{Intents: p.Intents, Channels: p.Channels}
		seen := &sharedPage{}
		read := func() {
			require.NoError(t, p.DB.Read(t.Context(), func(tx *database.Tx) (err error) {
				if seen.exclusions == nil {
					var statement database.Statement
					seen.exclusions, statement = channels.PrepareExclusions(tx, key.IntentNo, []string{"bob"})
					return tx.Pipeline(statement)
				}
				seen.Snapshot, err = reader.Snapshot(tx, key, []string{"bob"})
				return err
			}))
		}
		read()
		p.AddMember(t, id, "bob")
		read()
		require.True(t, seen.Viewer("bob", false).Participates)
		f := &follower{by: caller.Caller{Agent: "bob"}, seen: seen}
		require.False(t, f.viewerIn(seen.Channel).Participates)
		operator := &follower{by: caller.Caller{Agent: caller.Operator, IsOperator: true}, seen: seen}
		require.True(t, operator.viewerIn(seen.Channel).Participates)
		seen.exclusions = nil
		read()
		f.viewing = nil
		require.True(t, f.viewerIn(seen.Channel).Participates)
	})
}

// writes are a writer in a Place, and tails that it wakes.
type writes struct {
	ctx    context.Context
	hub    *wake.Hub
	writer *writing.Writer
	tails  *Tails
}

func newWrites(t *testing.T, p *channelstest.Place) *writes {
	w := &writes{hub: wake.NewHub()}
	w.ctx = caller.NewContext(t.Context(), caller.Caller{Agent: "ann", KeyID: "key"})
	logger := slog.New(slog.DiscardHandler)
	w.writer = writing.New(writing.Config{
		DB: p.DB, Intents: p.Intents, Channels: p.Channels, Hub: w.hub, Logger: logger,
		ObserveBatch: func(int, bool) {}, ObserveRefused: func(string) {}, Lost: func(string, int64, int64) {},
	})
	w.writer.Start()
	t.Cleanup(w.writer.Stop)
	w.tails = New(Config{DB: p.DB, Reader: reading.Reader{Intents: p.Intents, Channels: p.Channels}, Hub: w.hub, Logger: logger, Lost: func(string, int64, int64) {}})
	return w
}

// overhear stores a message to everyone, and gives what its commit hands to who follows the channel.
func (w *writes) overhear(t *testing.T, channelID string, key channels.Key, text string) *wake.Handover {
	listening := w.hub.Listen(key)
	defer listening.Close()
	d := &writing.Draft{
		ID: message.NewID(), Sender: "ann", By: caller.Caller{Agent: "ann", KeyID: "key"}, MessageType: message.TypeNotify,
		IntentNo: key.IntentNo, Channel: key, ChannelID: channelID,
	}
	payload := &structpb.Struct{Fields: map[string]*structpb.Value{"text": structpb.NewStringValue(text)}}
	require.NoError(t, d.SetContent(payload, nil))
	_, _, err := w.writer.Submit(w.ctx, d)
	require.NoError(t, err)
	given, look := listening.Take()
	require.False(t, look)
	require.Len(t, given, 1)
	return given[0]
}

// A tail takes only what follows on what it has seen, under the same rules and while it is fresh.
func TestTailTakesOnlyWhatFollowsOn(t *testing.T) {
	channelstest.Each(t, func(t *testing.T, p *channelstest.Place) {
		w := newWrites(t, p)
		ttl := int64(1)
		id, key := p.Channel(t, &openintentv1.CreateChannelRequest{Options: &openintentv1.ChannelOptions{TtlSeconds: &ttl}})
		scope := ChannelScope(key)
		look := func(before *sharedPage) (seen *sharedPage) {
			err := p.DB.Read(context.Background(), func(tx *database.Tx) (err error) {
				seen, err = scope.look(w.tails, tx, before, []string{"bob"})
				return err
			})
			require.NoError(t, err)
			return seen
		}
		seen := look(&sharedPage{})
		first := w.overhear(t, id, key, "first")
		second := w.overhear(t, id, key, "second")
		require.Nil(t, scope.take(w.tails, seen, second), "there is one in between")
		next := scope.take(w.tails, seen, first)
		require.EqualValues(t, 1, next.Through)
		require.Same(t, next, scope.take(w.tails, next, first), "it was seen already")
		last := scope.take(w.tails, next, second)
		require.EqualValues(t, 2, last.Through)
		require.Len(t, last.Items, 2)
		looked := look(seen)
		require.Equal(t, looked.Through, last.Through)
		require.Equal(t, looked.Count, last.Count)
		for i := range looked.Items {
			require.Equal(t, looked.Items[i].Message, last.Items[i].Message)
		}
		require.Same(t, looked, scope.take(w.tails, looked, second), "the look has seen it")

		policy := openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT
		channel, err := p.Channels.GetChannel(w.ctx, &openintentv1.GetChannelRequest{ChannelId: id})
		require.NoError(t, err)
		another, _ := p.Channel(t, &openintentv1.CreateChannelRequest{
			IntentId: channel.GetIntentId(), Name: "another", MemberPolicy: &policy,
		})
		p.AddMember(t, another, "eve")
		third := w.overhear(t, id, key, "third")
		require.Nil(t, scope.take(w.tails, last, third), "rules have changed")

		last = look(last)
		p.Clock.Advance(time.Millisecond)
		fourth := w.overhear(t, id, key, "fourth")
		require.NotNil(t, scope.take(w.tails, last, fourth))
		p.Clock.Advance(wake.SharedFor)
		require.Nil(t, scope.take(w.tails, last, fourth), "the channel's time has run out")
		p.Clock.Advance(time.Microsecond)
		require.False(t, fourth.Fresh(p.Clock.Now()))
	})
}
