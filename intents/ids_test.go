package intents

import (
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
)

func TestIDsRise(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intent := h.newIntent(t)
		no := h.numberOf(t, intent.GetId())
		require.NoError(t, h.inWrite(func(tx *database.Tx) error {
			heads, err := Lock(tx, no)
			require.NoError(t, err)
			for range 100 {
				_, err = heads[0].Log(EventDraft{Type: "note", Actor: "ann"})
				require.NoError(t, err)
			}
			return nil
		}))
		ids := []string{intent.GetId()}
		for _, event := range h.log(t, intent.GetId()) {
			ids = append(ids, event.GetId())
		}
		require.Len(t, slices.Compact(ids), 102)
		require.True(t, slices.IsSorted(ids))
		for _, id := range ids {
			parsed, err := uuid.Parse(id)
			require.NoError(t, err)
			require.EqualValues(t, 7, parsed.Version())
			require.Equal(t, parsed.String(), id)
		}
	})
}

// Rows of earlier versions keep their identifiers, and nothing requires a certain form.
func TestOlderIDsStay(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		no := h.numberOf(t, h.newIntent(t).GetId())
		for _, older := range []string{"908dffff-d872-4f18-8eb7-7b918ea4c9b5", "not a UUID"} {
			require.NoError(t, h.inWrite(func(tx *database.Tx) error {
				return tx.Pipeline(database.Statement{
					SQL:  "UPDATE intents SET id = ? WHERE intent_no = ?",
					Args: []any{older, no},
				})
			}))
			found, err := h.GetIntent(as("ann"), &openintentv1.GetIntentRequest{IntentId: older})
			require.NoError(t, err)
			require.Equal(t, older, found.GetId())
		}
	})
}
