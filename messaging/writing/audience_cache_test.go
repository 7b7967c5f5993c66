package writing

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/channels"
	"openintent/channels/channelstest"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/wake"
)

var errRolledBack = errors.New("rolled back")

// Parties that have spoken before cost no statement.
func TestKnownAudiencesAreNotWrittenAgain(t *testing.T) {
	channelstest.Each(t, func(t *testing.T, p *channelstest.Place) {
		id, key := p.Channel(t, &openintentv1.CreateChannelRequest{})
		w := New(Config{
			DB: p.DB, Intents: p.Intents, Channels: p.Channels, Hub: wake.NewHub(), Logger: slog.New(slog.DiscardHandler),
			ObserveBatch: func(int, bool) {}, ObserveRefused: func(string) {},
		})
		w.Start()
		defer w.Stop()
		send := func(sender, target string) {
			d := draftBy(sender)
			d.ID, d.IntentNo, d.Channel, d.ChannelID, d.Target = message.NewID(), key.IntentNo, key, id, target
			_, _, err := w.Submit(t.Context(), d)
			require.NoError(t, err)
		}
		writes := func(sender, target string) (count int) {
			require.ErrorIs(t, p.DB.Write(context.Background(), func(tx *database.Tx) error {
				heads, err := intents.Lock(tx, key.IntentNo)
				require.NoError(t, err)
				head := heads.Get(key.IntentNo)
				rules, err := p.Channels.Rules(tx, key, head.Epoch)
				require.NoError(t, err)
				counts, err := channels.LoadCounts(tx, []channels.Key{key})
				require.NoError(t, err)
				appended := newAppender(tx, counts, w.audiences)
				_, err = appended.add(head, rules, nil, &Draft{
					ID: message.NewID(), Sender: sender, Target: target, MessageType: message.TypeNotify,
				})
				require.NoError(t, err)
				for _, statement := range appended.statements() {
					if strings.Contains(statement.SQL, "audiences") {
						count++
					}
				}
				return errRolledBack
			}), errRolledBack)
			return count
		}
		require.NotZero(t, writes("a", "b"))
		require.NotZero(t, writes("a", "b"), "what was rolled back is not known")
		send("a", "b")
		require.Zero(t, writes("a", "b"))
		require.Zero(t, writes("a", "*"))
		require.NotZero(t, writes("a", "role:judge"))
		require.NotZero(t, writes("b", "a"))
		require.Zero(t, writes("system", "*"))
		send("b", "role:judge")
		require.Zero(t, writes("a", "role:judge"))
	})
}
