package search

import (
	"context"
	"slices"
	"time"

	"openintent/internal/caller"
	"openintent/internal/database"
)

// An intent is kept in the index, that is, what happens there comes into it at once, as long as somebody searches it. The rows of
// search_keepers say which keys have, and when.

const (
	// keptFor is how long an intent is kept after a search.
	keptFor = 7 * 24 * time.Hour
	// notedEach is how often the search of a key in an intent is noted at most.
	notedEach = time.Hour
	// mostKept is how many intents one key keeps.
	mostKept = 100
	// keptEverywhere is how many intents a search keeps that names none, and lastJoined among how many it chooses: those that were made
	// last of those in which its agent has sent something.
	keptEverywhere = 20
	lastJoined     = 1_000
)

// keptSince returns the time of the earliest search that keeps an intent, as it is stored.
func keptSince(now time.Time) int64 { return database.Micros(now.Add(-keptFor)) }

// keeping is what a search has to note: that its key keeps some intents.
type keeping struct {
	keyID     string
	intentNos []int64
	at        time.Time
}

// toNote returns those of the intents for which the key's search has to be noted.
func toNote(tx *database.Tx, keyID string, intentNos []int64, now time.Time) (keeping, error) {
	k := keeping{keyID: keyID, at: now}
	if len(intentNos) == 0 {
		return k, nil
	}
	in, argument := tx.In("intent_no", intentNos)
	var noted []int64
	err := tx.Pipeline(database.ReadValues(&noted,
		"SELECT intent_no FROM search_keepers WHERE "+in+" AND key_id = ? AND searched_at > ?",
		argument, keyID, database.Micros(now.Add(-notedEach))))
	k.intentNos = slices.DeleteFunc(intentNos, func(no int64) bool { return slices.Contains(noted, no) })
	return k, err
}

// keep notes that a key keeps intents. If these are too many, the key keeps those no longer that it searched longest ago. What is noted is
// the server's own: nobody's account pays for it.
func (s *Service) keep(ctx context.Context, k keeping) error {
	if len(k.intentNos) == 0 {
		return nil
	}
	return s.db.Write(caller.NewContext(ctx, caller.Caller{KeyID: k.keyID}), func(tx *database.Tx) error {
		var keyIDs []string
		var times []int64
		for range k.intentNos {
			keyIDs, times = append(keyIDs, k.keyID), append(times, database.Micros(k.at))
		}
		statements := tx.Advance("search_keepers",
			[]database.Column{{Name: "intent_no", Values: k.intentNos}, {Name: "key_id", Values: keyIDs}},
			database.Column{Name: "searched_at", Values: times})
		if err := tx.Pipeline(statements...); err != nil {
			return err
		}
		var dropped []int64
		if err := tx.Pipeline(database.ReadValues(&dropped,
			"SELECT intent_no FROM search_keepers WHERE key_id = ? ORDER BY searched_at DESC, intent_no DESC LIMIT ? OFFSET ?",
			k.keyID, keptEverywhere, mostKept)); err != nil || len(dropped) == 0 {
			return err
		}
		in, argument := tx.In("intent_no", dropped)
		return tx.Pipeline(database.Statement{
			SQL: "DELETE FROM search_keepers WHERE " + in + " AND key_id = ?", Args: []any{argument, k.keyID},
		})
	})
}

// forgetKeepers removes the notes of searches that keep nothing any more.
func (x *indexer) forgetKeepers(ctx context.Context, now time.Time) error {
	if now.Sub(x.forgot) < notedEach {
		return nil
	}
	x.forgot = now
	old := false
	err := x.service.db.ReadStatement(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValue(&old, "SELECT EXISTS (SELECT 1 FROM search_keepers WHERE searched_at < ?)", keptSince(now)))
	})
	if err != nil || !old {
		return err
	}
	return x.service.db.Write(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{SQL: "DELETE FROM search_keepers WHERE searched_at < ?", Args: []any{keptSince(now)}})
	})
}

// lastIn returns the intents in which an agent has taken part last, at most so many: those in which it has sent something, and which moved
// last.
func lastIn(tx *database.Tx, agent string, limit int) (intentNos []int64, err error) {
	err = tx.Pipeline(database.ReadValues(&intentNos,
		"SELECT h.intent_no FROM (SELECT intent_no FROM audiences WHERE name = ? AND sent ORDER BY intent_no DESC LIMIT ?) a"+
			" JOIN intent_heads h ON h.intent_no = a.intent_no ORDER BY h.last_at DESC LIMIT ?", agent, lastJoined, limit))
	return intentNos, err
}
