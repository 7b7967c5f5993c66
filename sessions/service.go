package sessions

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"openintent/internal/database"
)

// sweepBatch is how many sessions one sweep removes at most, for each reason.
const sweepBatch = 1000

// Config is what a Service needs.
type Config struct {
	DB *database.DB
	// MostOfKey is how many sessions one key may have.
	MostOfKey int
}

// Service keeps the sessions. Make it with New, and let Keep run every second.
type Service struct {
	db        *database.DB
	mostOfKey int
	sealed    atomic.Pointer[seal]
	sealSeen  atomic.Int64 // when the database was last seen to have it

	mutex sync.Mutex
	// uses are the sessions whose use is to be noted, with its time.
	uses map[string]time.Time
}

// New makes a Service.
func New(cfg Config) *Service {
	return &Service{db: cfg.DB, mostOfKey: cfg.MostOfKey, uses: make(map[string]time.Time)}
}

// Secrets are what a session is known by, for whoever began it.
type Secrets struct {
	// Cookie is for the browser, and Secret for the page.
	Cookie, Secret string
}

// Begin stores a session of a key with a digest, and returns its secrets. The sessions of the cookies that the browser has had until now
// end.
func (s *Service) Begin(ctx context.Context, holder Holder, keyDigest Digest, before []string) (Secrets, error) {
	sealed, err := s.seal(ctx)
	if err != nil {
		return Secrets{}, err
	}
	made := Secrets{Cookie: sealed.newCookie(), Secret: newSecret()}
	check := checkOf(made.Cookie, keyDigest)
	begun := &Session{ID: idOf(made.Cookie), Holder: holder, secret: digestOf(made.Secret), check: check[:]}
	err = s.db.Write(ctx, func(tx *database.Tx) error { return s.store(tx, begun, sealed.ofSigned(before)) })
	if err != nil {
		return Secrets{}, err
	}
	return made, nil
}

// store stores a session that begins now, in the place of others. Those of one key begin one after the other, so that they count rightly.
func (s *Service) store(tx *database.Tx, begun *Session, replaced []string) error {
	if err := tx.Alone("sessions of the key " + begun.KeyID); err != nil {
		return err
	}
	if err := remove(tx, replaced); err != nil {
		return err
	}
	if err := makeRoom(tx, begun.KeyID, s.mostOfKey); err != nil {
		return err
	}
	begun.createdAt = tx.Now()
	begun.usedAt = begun.createdAt
	return insert(tx, begun)
}

// Find returns the session of one of the cookies of a browser and the secret of its page, and notes that it is used. It returns nil if
// there is none.
func (s *Service) Find(ctx context.Context, cookies []string, secret string) (*Session, error) {
	if !isSecret(secret) {
		return nil, nil
	}
	found, err := s.look(ctx, cookies, secret)
	if err != nil || found == nil || !found.codeUntil.IsZero() {
		return nil, err
	}
	if now := s.db.Now(); now.Sub(found.usedAt) >= useNoted {
		s.mutex.Lock()
		s.uses[found.ID] = now
		s.mutex.Unlock()
	}
	return found, nil
}

// look returns the session that has one of the cookies and a secret, or a code in its place.
func (s *Service) look(ctx context.Context, cookies []string, secret string) (*Session, error) {
	sealed, err := s.seal(ctx)
	if err != nil {
		return nil, err
	}
	for _, cookie := range cookies {
		if !sealed.signed(cookie) {
			continue
		}
		found, err := s.get(ctx, idOf(cookie))
		if err != nil {
			return nil, err
		}
		if found != nil && found.secret.is(digestOf(secret)) && !found.over(s.db.Now()) {
			found.shown = cookie
			return found, nil
		}
	}
	return nil, nil
}

func (s *Service) get(ctx context.Context, id string) (found *Session, err error) {
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		found, err = find(tx, id)
		return err
	})
	return found, err
}

// End ends a session.
func (s *Service) End(ctx context.Context, ended *Session) error {
	return s.db.Write(ctx, func(tx *database.Tx) error { return remove(tx, []string{ended.ID}) })
}

// Over returns those of the sessions with these ids that have ended.
func (s *Service) Over(ctx context.Context, ids []string) (over []string, err error) {
	lasting := make(map[string]bool)
	at := database.Micros(s.db.Now())
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		clear(lasting)
		in, list := tx.In("session_id", ids)
		return tx.Pipeline(database.Statement{
			SQL:  "SELECT session_id FROM console_sessions WHERE " + in + " AND used_at > ? AND created_at > ?",
			Args: []any{list, at - idleFor.Microseconds(), at - LastsFor.Microseconds()},
			Scan: func(row database.Row) error {
				var id string
				err := row.Scan(&id)
				lasting[id] = true
				return err
			},
		})
	})
	for _, id := range ids {
		if !lasting[id] {
			over = append(over, id)
		}
	}
	return over, err
}

// Keep is each server's periodic work: it looks after the seal and notes uses.
func (s *Service) Keep(ctx context.Context) error {
	return errors.Join(s.lookAfterSeal(ctx), s.noteUses(ctx))
}

// noteUses stores when sessions were used.
func (s *Service) noteUses(ctx context.Context) error {
	s.mutex.Lock()
	uses := s.uses
	s.uses = make(map[string]time.Time)
	s.mutex.Unlock()
	if len(uses) == 0 {
		return nil
	}
	ids, times := make([]string, 0, len(uses)), make([]int64, 0, len(uses))
	for id, at := range uses {
		ids, times = append(ids, id), append(times, database.Micros(at))
	}
	return s.db.Write(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(tx.Update("console_sessions",
			[]database.Column{{Name: "session_id", Values: ids}}, []database.Column{{Name: "used_at", Values: times}})...)
	})
}

// Sweep removes the sessions that are over. One server does it for all.
func (s *Service) Sweep(ctx context.Context) error {
	var over []string
	err := s.db.Read(ctx, func(tx *database.Tx) (err error) {
		over, err = ended(tx, s.db.Now(), sweepBatch)
		return err
	})
	if err != nil || len(over) == 0 {
		return err
	}
	return s.db.Write(ctx, func(tx *database.Tx) error { return remove(tx, over) })
}
