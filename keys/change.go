package keys

import (
	"context"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
)

// RevokeKey ends a key, and lists what pauses with it. A key that is revoked already stays as it is.
func (s *Service) RevokeKey(ctx context.Context, req *openintentv1.RevokeKeyRequest) (*openintentv1.Key, error) {
	c, err := operator(ctx)
	if err != nil {
		return nil, err
	}
	var key *Key
	var changes bool
	var paused *openintentv1.PausedByKey
	err = s.db.Write(ctx, func(tx *database.Tx) (err error) {
		if key, err = lock(tx, req.GetKeyId()); err != nil {
			return err
		}
		if changes = key.RevokedAt.IsZero(); changes {
			key.revoke(tx.Now())
			if err := store(tx, key); err != nil {
				return err
			}
		}
		paused, err = s.pausedBy(tx, key.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	if changes {
		s.changed(ctx, "a key was revoked", key, c)
	}
	shown := s.message(key)
	shown.Paused = paused
	return shown, nil
}

// RotateKey gives a key a new secret and returns the key with it.
func (s *Service) RotateKey(ctx context.Context, req *openintentv1.RotateKeyRequest) (*openintentv1.IssuedKey, error) {
	c, err := operator(ctx)
	if err != nil {
		return nil, err
	}
	secret, grace := newSecret(), time.Duration(req.GetGraceSeconds())*time.Second
	var key *Key
	err = s.db.Write(ctx, func(tx *database.Tx) (err error) {
		if key, err = lock(tx, req.GetKeyId()); err != nil {
			return err
		}
		switch now := tx.Now(); {
		case req.ExpectedVersion != nil && req.GetExpectedVersion() != key.Version:
			return versionMismatch(key.Version)
		case key.Ended(now):
			return errEnded
		default:
			key.rotate(DigestOf(secret), grace, now)
		}
		return store(tx, key)
	})
	if err != nil {
		return nil, err
	}
	s.changed(ctx, "a key was rotated", key, c)
	return &openintentv1.IssuedKey{Key: s.message(key), Secret: secret}, nil
}

// store saves a key that the transaction has locked and changed.
func store(tx *database.Tx, k *Key) error {
	if err := save(tx, k); err != nil {
		return err
	}
	return changeTag(tx)
}
