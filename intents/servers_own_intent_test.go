package intents

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
)

func TestAnIntentOfTheServersOwnIsMadeOnceAndBelongsToNobody(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		spoiled := errors.New("spoiled")
		require.ErrorIs(t, h.Found(t.Context(), "mesh", "Spoiled", "", func(*database.Tx, *Head) error { return spoiled }), spoiled)
		furnish := func(_ *database.Tx, head *Head) error {
			_, err := head.Log(EventDraft{Type: "furnished", Actor: caller.System})
			return err
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if err := h.Found(t.Context(), "mesh", "The mesh", "For all", furnish); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		require.Equal(t, []string{"intent_created", "furnished"}, h.eventTypes(t, "mesh"))
		intent, err := h.GetIntent(as("eve"), &openintentv1.GetIntentRequest{IntentId: "mesh"})
		require.NoError(t, err)
		require.Equal(t, []any{caller.System, openintentv1.IntentStatus_INTENT_STATUS_ACTIVE}, []any{intent.GetCreatedBy(), intent.GetStatus()})
		listed, err := h.ListIntents(asOperator(), &openintentv1.ListIntentsRequest{})
		require.NoError(t, err)
		require.Len(t, listed.GetIntents(), 1)

		_, err = h.setStatus("eve", "mesh", StatusAbandoned)
		require.Equal(t, fault.Denied, fault.From(err).Kind)
		_, err = h.SetAccessControl(as("eve"), &openintentv1.SetAccessControlRequest{
			IntentId: "mesh", DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED,
		})
		require.Equal(t, fault.Denied, fault.From(err).Kind)
		_, err = h.closed().GetIntent(as("eve"), &openintentv1.GetIntentRequest{IntentId: "mesh"})
		require.Equal(t, fault.Denied, fault.From(err).Kind)
		h.closeList(t, "mesh", entryFor("eve", PermissionWrite))
		require.NoError(t, h.Found(t.Context(), "mesh", "Another", "", furnish))
		intent, err = h.GetIntent(as("eve"), &openintentv1.GetIntentRequest{IntentId: "mesh"})
		require.NoError(t, err)
		require.Equal(t, "The mesh", intent.GetTitle())
	})
}
