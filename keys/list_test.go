package keys

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

func TestKeysAreListedOldestFirstInPages(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		var made []string
		for i := range 5 {
			made = append(made, h.create(t, bound(fmt.Sprint("agent-", i))).GetKey().GetId())
			if i%2 == 0 {
				h.clock.Advance(time.Second)
			}
		}
		var listed []string
		limit, request := int32(2), &openintentv1.ListKeysRequest{}
		request.Limit = &limit
		for more := true; more; more = request.Cursor != nil {
			page, err := h.ListKeys(asOperator(), request)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page.GetKeys()), 2)
			for _, key := range page.GetKeys() {
				listed = append(listed, key.GetId())
			}
			request.Cursor = page.NextCursor
		}
		require.ElementsMatch(t, made, listed)
		require.Equal(t, made[0], listed[0])
		wrong := "x"
		_, err := h.ListKeys(asOperator(), &openintentv1.ListKeysRequest{Cursor: &wrong})
		requireFault(t, err, fault.Invalid, "INVALID_FIELD")
		require.Equal(t, "cursor", fault.From(err).Fields[0].Path)
	})
}

func TestKeysAreListedByTheirStatus(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		brief := bound("bob")
		brief.ExpiresAt = timestamppb.New(h.clock.Now().Add(time.Minute))
		active, expired := h.create(t, bound("alice")).GetKey().GetId(), h.create(t, brief).GetKey().GetId()
		revoked := h.create(t, brief).GetKey().GetId()
		h.revoke(t, revoked)
		require.Len(t, h.live(t), 2)
		h.clock.Advance(time.Minute)
		require.Equal(t, []string{active}, h.ids(t, openintentv1.KeyStatus_KEY_STATUS_ACTIVE))
		require.Equal(t, []string{expired}, h.ids(t, openintentv1.KeyStatus_KEY_STATUS_EXPIRED))
		require.Equal(t, []string{revoked}, h.ids(t, openintentv1.KeyStatus_KEY_STATUS_REVOKED))
		require.Contains(t, h.live(t), active)
		require.Len(t, h.live(t), 1)
	})
}

func TestUsesAreNoted(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		used, other := h.create(t, bound("alice")).GetKey().GetId(), h.create(t, bound("bob")).GetKey().GetId()
		tag, at := h.tag(t), h.clock.Now()
		require.NoError(t, h.NoteUse(t.Context(), []string{used, newID()}, at))
		require.NoError(t, h.NoteUse(t.Context(), []string{used}, at.Add(-time.Minute)), "another server noted a later use")
		require.Equal(t, at, h.get(t, used).GetLastUsedAt().AsTime())
		require.EqualValues(t, 1, h.get(t, used).GetVersion())
		require.Nil(t, h.get(t, other).GetLastUsedAt())
		require.Equal(t, tag, h.tag(t), "no server needs to read the keys again")
	})
}
