package messaging

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/messaging/reading"
)

// What one statement keeps is bounded by its bytes, and the next asks for no more rows than are worth it.
func TestSelectionsAreBoundedInBytes(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		large := strings.Repeat("x", 200<<10)
		const sent = 40
		for range sent {
			h.say(t, "alice", id, large)
		}
		key := h.key(t, id)
		p := reading.MessageQuery{
			IntentNo: key.IntentNo, ChannelNo: key.ChannelNo, ChannelID: id, Through: sent, Everyone: true, Limit: reading.FirstChunk,
		}
		seen, pages := 0, 0
		for {
			var found *reading.MessagePage
			require.NoError(t, h.db.Read(t.Context(), func(tx *database.Tx) error {
				l, err := h.messaging.reader.Snapshot(tx, key, nil)
				if err != nil {
					return err
				}
				found, err = p.Load(tx, l)
				return err
			}))
			bytes := 0
			for _, m := range found.Messages {
				bytes += m.Size()
			}
			require.LessOrEqual(t, bytes, reading.MaxPageBytes)
			seen, pages = seen+len(found.Messages), pages+1
			if found.Complete(p.Limit) {
				break
			}
			require.Equal(t, int64(seen), found.Messages[len(found.Messages)-1].Ordinal, "without a gap")
			p.After, p.Limit = int64(seen), found.NextLimit(p.Limit)
			require.LessOrEqual(t, p.Limit, 2*reading.FirstChunk)
		}
		require.Equal(t, sent, seen)
		require.Equal(t, 3, pages)
	})
}

func TestALoweredBoundDeletesWhatIsEvicted(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, &createRequest{})
		const sent, kept = 20, 5
		h.fill(t, id, "alice", sent)
		_, err := h.channels.UpdateChannel(asOperator(), &openintentv1.UpdateChannelRequest{
			Channel:    &openintentv1.Channel{Id: id, Options: &optionsInput{MaxMessages: ptr(int64(kept))}},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"options.max_messages"}},
		})
		require.NoError(t, err)
		h.sweep(t)
		require.Equal(t, kept, h.rows(t, "messages", "intent_no = ?", h.key(t, id).IntentNo))
	})
}
