package keys

import (
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"openintent/internal/caller"
)

const (
	// MaxLive is how many keys may be accepted at a time.
	MaxLive = 10_000
	// idPrefix begins each key's id.
	idPrefix = "key_"
	// configured stands for the keys of the server's configuration, in created_by.
	configured = "configured"
)

// Key is a key of the database.
type Key struct {
	ID, Label string
	Settings
	// Digest is that of the secret. Former is the secret before the last rotation, or nil if it is not accepted any more.
	Digest Digest
	Former *Former

	CreatedAt time.Time
	// CreatedBy is the id of the key that made it, or the word for keys of the configuration.
	CreatedBy string
	// ExpiresAt is zero for a key without an end; LastUsedAt and RevokedAt are zero as long as neither has happened.
	ExpiresAt, LastUsedAt, RevokedAt time.Time
	// Version starts at 1 and grows with each rotation and with the revocation.
	Version int64
}

// Settings say what the bearer of a key may do.
type Settings struct {
	// Operator is true for a key that is not bound to agents.
	Operator bool
	// Agents are those that the key is bound to. Roles are those that they may take; caller.AnyRole stands for all.
	Agents, Roles []string
	// Scope is where the key works; nil is everywhere.
	Scope *caller.Scope
	// Invite is set for a key that is an invite.
	Invite *Invite
	// ReadOnly keys may change nothing. A Human key is a person's and has one agent.
	ReadOnly, Human bool
	// MessagesPerSecond and BytesPerSecond bound what the key may send through one server; 0 is no bound, and nil means that
	// the server's setting applies.
	MessagesPerSecond, BytesPerSecond *int64
	// RowsPerSecond and StoredBytesPerSecond bound what its calls may store through one server, in the same way.
	RowsPerSecond, StoredBytesPerSecond *int64
}

// Former is a secret that was replaced and is still accepted for a time.
type Former struct {
	Digest    Digest
	ExpiresAt time.Time
}

// Ended reports whether the key is not accepted any more.
func (k *Key) Ended(now time.Time) bool { return !k.RevokedAt.IsZero() || k.expired(now) }

func (k *Key) expired(now time.Time) bool { return !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(now) }

// rotate gives the key a new secret. The present one is accepted for the grace, but no longer than the key itself.
func (k *Key) rotate(digest Digest, grace time.Duration, now time.Time) {
	k.Former = nil
	if grace > 0 {
		k.Former = &Former{Digest: k.Digest, ExpiresAt: now.Add(grace)}
		if !k.ExpiresAt.IsZero() && k.ExpiresAt.Before(k.Former.ExpiresAt) {
			k.Former.ExpiresAt = k.ExpiresAt
		}
	}
	k.Digest = digest
	k.Version++
}

// revoke ends the key, with both secrets.
func (k *Key) revoke(now time.Time) {
	k.Former, k.RevokedAt = nil, now
	k.Version++
}

func newID() string { return idPrefix + ulid.Make().String() }

// IsID reports whether a text has the form of a key's id.
func IsID(text string) bool {
	rest, found := strings.CutPrefix(text, idPrefix)
	_, err := ulid.ParseStrict(rest)
	return found && err == nil
}
