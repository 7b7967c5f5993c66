package contacts

import (
	"context"
	"errors"
	"time"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging"
	"openintent/reach"
)

const (
	// looksOfARun bounds the names at which one run looks, and runTime how long it lasts.
	looksOfARun = 100
	runTime     = 5 * time.Second
	// lookEvery is how often somebody looks at a name for which nothing is expected, and lookSoon how often at most at any.
	lookEvery = 20 * time.Second
	lookSoon  = time.Second
	// lookShare is how many times as long as a look took the name is left alone, so that a name for which very much waits costs little.
	lookShare = 100
	// longestPause bounds that.
	longestPause = 5 * time.Minute
)

// name is a name that is due, as it was found.
type name struct {
	agent   string
	version int64
}

// scheduleLook lets somebody look at a name soon.
func scheduleLook(tx *database.Tx, agent string, now time.Time) error {
	return tx.Pipeline(database.Statement{
		SQL: "INSERT INTO contact_looks (agent_id, look_at, version) VALUES (?, ?, 1)" +
			" ON CONFLICT (agent_id) DO UPDATE SET look_at = excluded.look_at, version = contact_looks.version + 1",
		Args: []any{agent, database.Micros(now)},
	})
}

// look looks at the names that are due, those first that have been so the longest.
func (s *Service) look(ctx context.Context) error {
	began := s.DB.Now()
	var due []name
	err := s.DB.ReadStatement(ctx, func(tx *database.Tx) error {
		due = nil
		return tx.Pipeline(database.Statement{
			SQL:  "SELECT agent_id, version FROM contact_looks WHERE look_at <= ? ORDER BY look_at LIMIT ?",
			Args: []any{database.Micros(began), looksOfARun},
			Scan: func(row database.Row) error {
				var n name
				err := row.Scan(&n.agent, &n.version)
				due = append(due, n)
				return err
			},
		})
	})
	if err != nil {
		return err
	}
	var failures []error
	for _, n := range due {
		if ctx.Err() != nil || s.DB.Now().Sub(began) > runTime {
			break
		}
		failures = append(failures, s.lookAt(ctx, n))
	}
	return errors.Join(failures...)
}

// lookAt looks at what presses a name, and records what it is told.
func (s *Service) lookAt(ctx context.Context, n name) error {
	began := s.DB.Now()
	usable, err := s.usable(ctx, n.agent)
	if err != nil {
		return err
	}
	if len(usable) == 0 {
		return s.DB.Write(ctx, func(tx *database.Tx) error { return stopLooking(tx, n, s.DB.Now()) })
	}
	pressing, err := s.Messaging.Pressing(ctx, n.agent)
	if err != nil {
		return err
	}
	live, err := s.isLive(ctx, n.agent)
	if err != nil {
		return err
	}
	took := s.DB.Now().Sub(began)
	return s.DB.Write(ctx, func(tx *database.Tx) error { return s.record(tx, n, pressing, usable, live, took) })
}

// usable reads the contacts of a name to which pointers are sent.
func (s *Service) usable(ctx context.Context, agent string) (usable []*contact, err error) {
	err = s.DB.Read(ctx, func(tx *database.Tx) error {
		usable = nil
		found, err := read(tx, agent)
		if err != nil {
			return err
		}
		paused, err := s.pausedOf(tx, found)
		for _, c := range found {
			if c.works() && paused[c.madeBy] == "" {
				usable = append(usable, c)
			}
		}
		return err
	})
	return usable, err
}

// isLive reports whether something of the name's waits for messages now.
func (s *Service) isLive(ctx context.Context, agent string) (live bool, err error) {
	err = s.DB.ReadFor(ctx, caller.ReaderOf(ctx, agent), func(tx *database.Tx) error {
		found, err := s.Here.Read(tx, []string{agent})
		if err == nil {
			live = found[agent].Level() == reach.Live
		}
		return err
	})
	return live, err
}

// nextLook returns when somebody looks at a name again.
func nextLook(now time.Time, took time.Duration, next time.Time) time.Time {
	at := now.Add(lookEvery)
	if !next.IsZero() && next.Before(at) {
		at = next
	}
	soonest := now.Add(min(max(lookSoon, lookShare*took), longestPause))
	if at.Before(soonest) {
		return soonest
	}
	return at
}

// stopLooking leaves a name alone that has no contact to which pointers are sent. One that was paused may come back, so it looks again an
// hour later.
func stopLooking(tx *database.Tx, n name, now time.Time) error {
	var left int64
	if err := tx.Pipeline(
		database.ReadValue(&left, "SELECT count(*) FROM contacts WHERE agent_id = ? AND proved_at IS NOT NULL AND off_at IS NULL", n.agent),
		database.Statement{SQL: "DELETE FROM contact_posts WHERE agent_id = ?", Args: []any{n.agent}},
	); err != nil {
		return err
	}
	if left > 0 {
		return tx.Pipeline(database.Statement{
			SQL:  "UPDATE contact_looks SET look_at = ?, version = version + 1 WHERE agent_id = ? AND version = ?",
			Args: []any{database.Micros(now.Add(time.Hour)), n.agent, n.version},
		})
	}
	return tx.Pipeline(
		database.Statement{SQL: "DELETE FROM contact_calls WHERE agent_id = ?", Args: []any{n.agent}},
		database.Statement{
			SQL: "DELETE FROM contact_looks WHERE agent_id = ? AND version = ?", Args: []any{n.agent, n.version},
		})
}

// places returns the places of what presses a name.
func places(pressing []messaging.Pressing) map[place]bool {
	found := make(map[place]bool, len(pressing))
	for _, m := range pressing {
		found[place{m.IntentNo, m.Position}] = true
	}
	return found
}

// place is where a message is.
type place struct{ intentNo, position int64 }
