package search

import (
	"context"
	"encoding/json"

	"openintent/internal/database"
)

const (
	// removalsTogether is how many removals one transaction takes out of the index. A removal has at most some hundreds of messages.
	removalsTogether = 4
	// manyRemovals is how many removals are taken out even while the server has something else to do.
	manyRemovals = 64
)

// removed returns the statement that notes, in the transaction that removes messages, that they have to go out of the index. Whoever
// fills the index takes them out; so nothing that was removed stays there, even if it was being indexed at that moment.
func removed(intentNo int64, positions []int64) database.Statement {
	list, err := json.Marshal(positions)
	if err != nil {
		panic(err) // numbers always have a JSON form
	}
	return database.Statement{
		SQL: "INSERT INTO search_removals (intent_no, positions) VALUES (?, ?)", Args: []any{intentNo, list},
	}
}

// clear takes out of the index what was removed. That is in no hurry, because nobody finds it; so while the server has something else to
// do, it waits until there is much.
func (x *indexer) clear(ctx context.Context, quiet bool) error {
	var wait int64
	if err := x.service.db.ReadStatement(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValue(&wait, "SELECT COUNT(*) FROM (SELECT 1 FROM search_removals LIMIT ?) AS r", manyRemovals))
	}); err != nil || wait == 0 || wait < manyRemovals && !quiet {
		return err
	}
	return x.clearAll(ctx)
}

// clearAll takes out of the index all that was removed.
func (x *indexer) clearAll(ctx context.Context) error {
	for ctx.Err() == nil {
		var done []int64
		var intentNos, positions []int64
		err := x.service.db.ReadStatement(ctx, func(tx *database.Tx) error {
			done, intentNos, positions = nil, nil, nil
			return tx.Pipeline(database.Statement{
				SQL:  "SELECT removal_no, intent_no, positions FROM search_removals ORDER BY removal_no LIMIT ?",
				Args: []any{removalsTogether},
				Scan: func(row database.Row) error {
					var no, intentNo int64
					var list []byte
					if err := row.Scan(&no, &intentNo, &list); err != nil {
						return err
					}
					var some []int64
					if err := json.Unmarshal(list, &some); err != nil {
						return err
					}
					done = append(done, no)
					for _, position := range some {
						intentNos, positions = append(intentNos, intentNo), append(positions, position)
					}
					return nil
				},
			})
		})
		if err != nil || len(done) == 0 {
			return err
		}
		err = x.service.db.Write(ctx, func(tx *database.Tx) error {
			if err := x.change(tx, 0); err != nil {
				return err
			}
			if err := forget(tx, intentNos, positions); err != nil {
				return err
			}
			in, argument := tx.In("removal_no", done)
			return tx.Pipeline(database.Statement{SQL: "DELETE FROM search_removals WHERE " + in, Args: []any{argument}})
		})
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// empty removes the whole index, when the server keeps none.
func (s *Service) empty(ctx context.Context) error {
	if s.emptied {
		return nil
	}
	var used int64
	err := s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValue(&used,
			"SELECT complete_through + (SELECT COUNT(*) FROM (SELECT 1 FROM search_cursors LIMIT 1) AS c)"+
				" + (SELECT COUNT(*) FROM (SELECT 1 FROM search_removals LIMIT 1) AS r)"+
				" + (SELECT COUNT(*) FROM (SELECT 1 FROM search_keepers LIMIT 1) AS k) FROM search_state WHERE one = 1"))
	})
	if err != nil {
		return err
	}
	if used > 0 {
		err = s.db.Write(ctx, func(tx *database.Tx) error {
			if err := tx.Pipeline(database.Statement{
				SQL: "UPDATE search_state SET version = version + 1, complete_through = 0 WHERE one = 1",
			}); err != nil {
				return err
			}
			return tx.Pipeline(tx.EmptyWords("search_documents", "search_cursors", "search_removals", "search_holes", "search_keepers")...)
		})
		if err != nil {
			return err
		}
		s.logger.Info("the search index is removed, because search is switched off")
	}
	s.emptied = true
	return nil
}
