package sessions

import (
	"context"
	"time"

	"openintent/internal/database"
)

// seal returns what signs cookies. All servers of a database have the same one; the first that needs it makes it.
func (s *Service) seal(ctx context.Context) (*seal, error) {
	if known := s.sealed.Load(); known != nil {
		return known, nil
	}
	if err := s.keepSeal(ctx); err != nil {
		return nil, err
	}
	return s.sealed.Load(), nil
}

// sealEvery is how often a server looks whether the database still has the seal.
const sealEvery = time.Minute

// lookAfterSeal does what keepSeal does, once in a while.
func (s *Service) lookAfterSeal(ctx context.Context) error {
	now := s.db.Now()
	if ago := now.Sub(time.UnixMicro(s.sealSeen.Load())); s.sealed.Load() != nil && ago >= 0 && ago < sealEvery {
		return nil
	}
	err := s.keepSeal(ctx)
	if err == nil {
		s.sealSeen.Store(now.UnixMicro())
	}
	return err
}

// keepSeal reads the seal, and stores one if the database has none, because it is new or has lost it.
func (s *Service) keepSeal(ctx context.Context) error {
	stored, err := s.readSeal(ctx)
	if err != nil {
		return err
	}
	if stored == nil {
		made := s.sealed.Load()
		if made == nil {
			made = new(seal)
			copy(made[:], randomText())
		}
		err := s.db.Write(ctx, func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{
				SQL: "INSERT INTO console_state (one, seal) VALUES (1, ?) ON CONFLICT (one) DO NOTHING", Args: []any{made[:]},
			})
		})
		if err != nil {
			return err
		}
		if stored, err = s.readSeal(ctx); err != nil || stored == nil {
			return err
		}
	}
	s.sealed.Store(stored)
	return nil
}

func (s *Service) readSeal(ctx context.Context) (stored *seal, err error) {
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{SQL: "SELECT seal FROM console_state WHERE one = 1", Scan: func(row database.Row) error {
			var bytes []byte
			err := row.Scan(&bytes)
			stored = new(seal)
			copy(stored[:], bytes)
			return err
		}})
	})
	return stored, err
}
