package keys

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
)

// message returns a key as clients see it now.
func (s *Service) message(k *Key) *openintentv1.Key {
	now := s.db.Now()
	m := &openintentv1.Key{
		Id: k.ID, Label: k.Label, Status: Status(k, now), Operator: k.Operator, Agents: k.Agents, Roles: k.Roles,
		ReadOnly: k.ReadOnly, Human: k.Human, MessagesPerSecond: k.MessagesPerSecond, BytesPerSecond: k.BytesPerSecond,
		RowsPerSecond: k.RowsPerSecond, StoredBytesPerSecond: k.StoredBytesPerSecond,
		CreatedAt: stamp(k.CreatedAt), CreatedBy: k.CreatedBy, ExpiresAt: stamp(k.ExpiresAt),
		LastUsedAt: stamp(k.LastUsedAt), RevokedAt: stamp(k.RevokedAt), Version: k.Version,
	}
	if k.Scope != nil {
		m.Intents, m.Channels = k.Scope.Intents, k.Scope.Channels
	}
	if k.Former != nil && k.Former.ExpiresAt.After(now) {
		m.FormerSecretExpiresAt = stamp(k.Former.ExpiresAt)
	}
	if reason := s.Paused(k); reason != "" {
		m.PausedReason = &reason
	}
	return m
}

// Status reports whether a key is accepted at a time.
func Status(k *Key, now time.Time) openintentv1.KeyStatus {
	switch {
	case !k.RevokedAt.IsZero():
		return openintentv1.KeyStatus_KEY_STATUS_REVOKED
	case k.expired(now):
		return openintentv1.KeyStatus_KEY_STATUS_EXPIRED
	}
	return openintentv1.KeyStatus_KEY_STATUS_ACTIVE
}

// stamp returns a time as the contract writes it; nil for zero.
func stamp(at time.Time) *timestamppb.Timestamp {
	if at.IsZero() {
		return nil
	}
	return timestamppb.New(at)
}
