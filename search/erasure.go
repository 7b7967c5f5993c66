package search

import (
	"context"
	"time"

	"openintent/internal/database"
)

const (
	// erasurePatience is how long an erasure waits for the index while the index makes no progress.
	erasurePatience = 30 * time.Second
	erasureLooks    = 100 * time.Millisecond
)

// InUse reports whether the database has an index: servers fill it, or have filled it.
func InUse(tx *database.Tx) (bool, error) {
	var used int64
	err := tx.Pipeline(database.ReadValue(&used,
		"SELECT complete_through + (SELECT COUNT(*) FROM (SELECT 1 FROM search_cursors LIMIT 1) AS c) FROM search_state WHERE one = 1"))
	return used > 0, err
}

// Forget waits until the index has taken in all that was deleted until now in some intents. If no server fills the index, this service
// does. It tells whether the index is that far: a server may be busy with much else. On SQLite the words then leave the file, too.
func (s *Service) Forget(ctx context.Context, intentNos []int64) (bool, error) {
	index, wanted := s.db.InTurn("search", s.Index), map[int64]int64(nil)
	least, since := int64(0), s.db.Now()
	for {
		if err := index(ctx); err != nil {
			return false, err
		}
		indexed, last, err := s.progressIn(ctx, intentNos)
		if err != nil {
			return false, err
		}
		if wanted == nil {
			wanted = last
		}
		missing := int64(0)
		for intentNo, position := range wanted {
			missing += max(0, position-indexed[intentNo])
		}
		switch {
		case missing == 0:
			return true, s.db.Write(ctx, func(tx *database.Tx) error { return tx.Pipeline(tx.PurgeWords()...) })
		case least == 0 || missing < least:
			least, since = missing, s.db.Now()
		case s.db.Now().Sub(since) > erasurePatience:
			return false, nil
		}
		select {
		case <-time.After(erasureLooks):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// progressIn reads how far the logs of some intents are indexed, and the ends of the logs.
func (s *Service) progressIn(ctx context.Context, intentNos []int64) (indexed, last map[int64]int64, err error) {
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		indexed, last = make(map[int64]int64), make(map[int64]int64)
		in, argument := tx.In("h.intent_no", intentNos)
		return tx.Pipeline(database.Statement{
			SQL: "SELECT h.intent_no, COALESCE(c.position, 0), h.last_position FROM intent_heads h" +
				" LEFT JOIN search_cursors c ON c.intent_no = h.intent_no WHERE " + in,
			Args: []any{argument},
			Scan: func(row database.Row) error {
				var intentNo, through, end int64
				err := row.Scan(&intentNo, &through, &end)
				indexed[intentNo], last[intentNo] = through, end
				return err
			},
		})
	})
	return indexed, last, err
}
