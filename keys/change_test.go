package keys

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

func TestARevokedKeyIsOverForGood(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		key := h.create(t, bound("alice")).GetKey().GetId()
		h.rotate(t, key, 60)
		var heard int
		h.OnChanged(func(context.Context) { heard++ })
		before := h.tag(t)
		revoked := h.revoke(t, key)
		require.Equal(t, openintentv1.KeyStatus_KEY_STATUS_REVOKED, revoked.GetStatus())
		require.Equal(t, h.clock.Now(), revoked.GetRevokedAt().AsTime())
		require.Nil(t, revoked.GetFormerSecretExpiresAt())
		require.EqualValues(t, 3, revoked.GetVersion())
		require.Empty(t, h.live(t))
		after := h.tag(t)
		require.NotEqual(t, before, after)

		h.clock.Advance(time.Minute)
		again := h.revoke(t, key)
		require.Equal(t, prototext.Format(revoked), prototext.Format(again), "revoking again changes nothing")
		require.Equal(t, after, h.tag(t))
		require.Equal(t, 1, heard)
		_, err := h.RotateKey(asOperator(), &openintentv1.RotateKeyRequest{KeyId: key})
		requireFault(t, err, fault.Conflict, "KEY_ENDED")
	})
}

func TestARotationReplacesTheSecret(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		first := h.create(t, bound("alice"))
		key, before := first.GetKey().GetId(), h.tag(t)

		second := h.rotate(t, key, 60)
		require.NotEqual(t, before, h.tag(t))
		require.EqualValues(t, 2, second.GetKey().GetVersion())
		require.Equal(t, h.clock.Now().Add(time.Minute), second.GetKey().GetFormerSecretExpiresAt().AsTime())
		live := h.live(t)[key]
		require.Equal(t, DigestOf(second.GetSecret()), live.Digest)
		require.Equal(t, &Former{DigestOf(first.GetSecret()), h.clock.Now().Add(time.Minute)}, live.Former)

		third := h.rotate(t, key, 60)
		require.Equal(t, DigestOf(second.GetSecret()), h.live(t)[key].Former.Digest, "the first secret is over")
		h.clock.Advance(time.Minute)
		require.Nil(t, h.get(t, key).GetFormerSecretExpiresAt())

		fourth := h.rotate(t, key, 0)
		require.NotEqual(t, third.GetSecret(), fourth.GetSecret())
		require.Nil(t, h.live(t)[key].Former)
	})
}

func TestAGraceEndsWithTheKey(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		end := h.clock.Now().Add(time.Hour)
		request := bound("alice")
		request.ExpiresAt = timestamppb.New(end)
		key := h.create(t, request).GetKey().GetId()
		require.Equal(t, end, h.rotate(t, key, 86_400).GetKey().GetFormerSecretExpiresAt().AsTime())
		h.clock.Advance(time.Hour)
		require.Empty(t, h.live(t))
		_, err := h.RotateKey(asOperator(), &openintentv1.RotateKeyRequest{KeyId: key})
		requireFault(t, err, fault.Conflict, "KEY_ENDED")
	})
}

func TestARotationIsBasedOnAVersionIfItNamesOne(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		key := h.create(t, bound("alice")).GetKey().GetId()
		version := int64(1)
		request := &openintentv1.RotateKeyRequest{KeyId: key, ExpectedVersion: &version}
		_, err := h.RotateKey(asOperator(), request)
		require.NoError(t, err)
		_, err = h.RotateKey(asOperator(), request)
		requireFault(t, err, fault.VersionMismatch, "VERSION_MISMATCH")
		require.Equal(t, "2", fault.From(err).Metadata["current_version"])
	})
}

func TestKeysThatAreNotThere(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for _, id := range []string{"", "key_", "key_x", "a\x00", newID(), "chan_01M7YCHKJ11MAM2FWJ1DX9NJHS"} {
			_, got := h.GetKey(asOperator(), &openintentv1.GetKeyRequest{KeyId: id})
			_, revoked := h.RevokeKey(asOperator(), &openintentv1.RevokeKeyRequest{KeyId: id})
			_, rotated := h.RotateKey(asOperator(), &openintentv1.RotateKeyRequest{KeyId: id})
			for _, err := range []error{got, revoked, rotated} {
				requireFault(t, err, fault.NotFound, "KEY_NOT_FOUND")
			}
		}
	})
}
