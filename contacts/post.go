package contacts

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"openintent/internal/database"
	"openintent/internal/webhooks"
)

const (
	// together is how many posts are under way at a time, and ofAKey how many of them to contacts of one key.
	together = 64
	ofAKey   = 8
	// heldFor is how long a post is left to whoever has taken it up. It is longer than any post lasts.
	heldFor = 2 * time.Minute
	// sendFor bounds one post with its wait for a place.
	sendFor = 45 * time.Second
	// freshFor is how long after its look a post is sent without another look.
	freshFor = 30 * time.Second
	// keptFor is how long it is tried to send a pointer; the next step of its call makes another one.
	keptFor = 10 * time.Minute
	// offAfter is how long everything must have failed before a contact is switched off.
	offAfter = 24 * time.Hour
)

// post is what is to be sent to one contact.
type post struct {
	no             int64
	agent, contact string
	place          place
	pointer        pointer
	attempts       int64
	madeAt         time.Time
}

// Post sends what is to be sent. It is periodic work of one replica at a time, and lasts as long as the slowest of some posts.
func (s *Service) Post(ctx context.Context) error {
	due, err := s.due(ctx)
	if err != nil || len(due) == 0 {
		return err
	}
	if due, err = s.takeUp(ctx, due); err != nil {
		return err
	}
	var group errgroup.Group
	for _, p := range due {
		group.Go(func() error { return s.deliver(ctx, p) })
	}
	return group.Wait()
}

// due reads the posts that are due, the longest due first, and not too many of one key.
func (s *Service) due(ctx context.Context) (due []post, err error) {
	err = s.DB.ReadStatement(ctx, func(tx *database.Tx) error {
		due = nil
		return tx.Pipeline(database.Statement{
			SQL: "SELECT post_no, agent_id, contact_id, intent_no, position, pointer, attempts, made_at FROM (SELECT p.*," +
				" row_number() OVER (PARTITION BY key_id ORDER BY due_at, post_no) AS nth FROM contact_posts p WHERE due_at <= ?) q" +
				" WHERE nth <= ? ORDER BY due_at, post_no LIMIT ?",
			Args: []any{database.Micros(tx.Now()), ofAKey, together},
			Scan: func(row database.Row) error {
				var p post
				var pointer []byte
				var madeAt int64
				if err := row.Scan(&p.no, &p.agent, &p.contact, &p.place.intentNo, &p.place.position, &pointer, &p.attempts, &madeAt); err != nil {
					return err
				}
				p.madeAt = database.Time(madeAt)
				due = append(due, p)
				return json.Unmarshal(pointer, &due[len(due)-1].pointer)
			},
		})
	})
	return due, err
}

// takeUp takes up posts by moving their time, and returns those that no other replica has taken up before.
func (s *Service) takeUp(ctx context.Context, due []post) (ours []post, err error) {
	err = s.DB.Write(ctx, func(tx *database.Tx) error {
		ours = nil
		until := database.Micros(tx.Now().Add(heldFor))
		taken := make([]int64, len(due))
		statements := make([]database.Statement, len(due))
		for i, p := range due {
			statements[i] = database.Statement{
				SQL:  "UPDATE contact_posts SET due_at = ?, attempts = attempts + 1 WHERE post_no = ? AND attempts = ?",
				Args: []any{until, p.no, p.attempts}, Affected: &taken[i],
			}
		}
		if err := tx.Pipeline(statements...); err != nil {
			return err
		}
		for i, p := range due {
			if taken[i] > 0 {
				p.attempts++
				ours = append(ours, p)
			}
		}
		return nil
	})
	return ours, err
}

// deliver sends one post, and stores how that went. A post that has waited is sent only if its message still presses the name.
func (s *Service) deliver(ctx context.Context, p post) error {
	to, err := s.receiver(ctx, p)
	if err != nil {
		return err
	}
	if to == nil {
		return s.discard(ctx, p)
	}
	w := questionWords(p.agent, p.pointer, s.Address)
	limited, cancel := context.WithTimeout(ctx, sendFor)
	defer cancel()
	result := s.send(limited, to, fmt.Sprintf("%s_%d", to.id, p.no), w)
	return s.conclude(ctx, p, result)
}

// receiver returns the contact to which a post is sent; nil if it counts no more.
func (s *Service) receiver(ctx context.Context, p post) (*contact, error) {
	now := s.DB.Now()
	if now.Sub(p.madeAt) > keptFor {
		return nil, nil
	}
	usable, err := s.usable(ctx, p.agent)
	if err != nil {
		return nil, err
	}
	if now.Sub(p.madeAt) > freshFor {
		pressing, err := s.Messaging.Pressing(ctx, p.agent)
		if err != nil || !places(pressing)[p.place] {
			return nil, err
		}
	}
	for _, c := range usable {
		if c.id == p.contact {
			return c, nil
		}
	}
	return nil, nil
}

// discard forgets a post.
func (s *Service) discard(ctx context.Context, p post) error {
	return s.DB.Write(ctx, func(tx *database.Tx) error { return tx.Pipeline(p.removal()) })
}

func (p post) removal() database.Statement {
	return database.Statement{SQL: "DELETE FROM contact_posts WHERE post_no = ?", Args: []any{p.no}}
}

// conclude stores how a post went: with its contact, and when it is tried again.
func (s *Service) conclude(ctx context.Context, p post, result webhooks.Result) error {
	return s.DB.Write(context.WithoutCancel(ctx), func(tx *database.Tx) error {
		now := database.Micros(tx.Now())
		again := database.Statement{
			SQL:  "UPDATE contact_posts SET due_at = ? WHERE post_no = ?",
			Args: []any{database.Micros(tx.Now().Add(webhooks.Backoff(int(p.attempts), result.RetryAfter))), p.no},
		}
		switch {
		case result.Delivered:
			return tx.Pipeline(p.removal(), database.Statement{
				SQL: "UPDATE contacts SET failing_since = NULL, last_problem = '' WHERE agent_id = ? AND id = ?" +
					" AND (failing_since IS NOT NULL OR last_problem <> '')",
				Args: []any{p.agent, p.contact},
			})
		case result.PutOff: // nothing was tried
			return tx.Pipeline(again)
		case result.Gone:
			return tx.Pipeline(p.removal(), database.Statement{
				SQL:  "UPDATE contacts SET failing_since = coalesce(failing_since, ?), off_at = ?, last_problem = ? WHERE agent_id = ? AND id = ?",
				Args: []any{now, now, result.Problem, p.agent, p.contact},
			})
		}
		return tx.Pipeline(again, database.Statement{
			SQL: "UPDATE contacts SET off_at = CASE WHEN failing_since <= ? THEN ? ELSE off_at END," +
				" failing_since = coalesce(failing_since, ?), last_problem = ? WHERE agent_id = ? AND id = ?",
			Args: []any{database.Micros(tx.Now().Add(-offAfter)), now, now, result.Problem, p.agent, p.contact},
		})
	})
}
