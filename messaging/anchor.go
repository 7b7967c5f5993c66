package messaging

import (
	"math"
	"time"

	"openintent/database"
)

// anchor is the newest item that a tail knows of its scope, by which it tells whether the log is still the one that it has
// read. A database that loses commits goes back to an earlier end of the log and gives the places beyond it again. A log that
// ends before what was read shows it; one that has grown as far again meanwhile has another item in the anchor's place. An
// item that was removed tells nothing.
type anchor struct {
	place int64
	id    string
	// checkedAt is when the item was last found in its place.
	checkedAt time.Time
}

// losses are what a tail has found lost since it began: how often, and the lowest place that it knows to be another one now.
type losses struct {
	count int
	from  int64
}

// hold finds out whether what a look gave follows on the sight before. If it does not, the sight begins anew at the end of
// what there is.
func (s *sight) hold(tx *database.Tx, followed scope, before *sight) error {
	s.anchor, s.losses = before.anchor, before.losses
	lost := int64(math.MaxInt64)
	if before.number > 0 && before.err == nil && s.end() < before.through {
		lost = s.end() + 1
	}
	if s.now.Sub(s.anchor.checkedAt) > sharedFor {
		through := s.end()
		if s.anchor.id != "" {
			through = s.anchor.place
		}
		found, err := followed.newest(tx, through)
		if err != nil {
			return err
		}
		if s.anchor.id != "" && found.place == s.anchor.place && found.id != s.anchor.id {
			lost = min(lost, s.anchor.place)
		}
		s.anchor = found
		s.anchor.checkedAt = s.now
	}
	if lost != math.MaxInt64 {
		s.losses = losses{before.losses.count + 1, lost}
		if before.losses.count > 0 {
			s.losses.from = min(lost, before.losses.from)
		}
		s.items, s.talks, s.size = nil, nil, 0
		s.after, s.through, s.sharedSince = s.end(), s.end(), s.now
		s.anchor = anchor{}
	}
	s.drop()
	return nil
}

// drop drops the anchor at the newest of the shared items.
func (s *sight) drop() {
	if len(s.items) == 0 {
		return
	}
	newest := s.items[len(s.items)-1]
	if newest.place <= s.anchor.place {
		return
	}
	s.anchor.place = newest.place
	if newest.message != nil {
		s.anchor.id = newest.message.ID
	} else {
		s.anchor.id = newest.event.ID
	}
}

// newest gives the newest item of a channel up to an ordinal.
func (c channelScope) newest(tx *database.Tx, through int64) (found anchor, err error) {
	return found, tx.Pipeline(found.read("SELECT ordinal, id FROM messages WHERE intent_no = ? AND channel_no = ?"+
		" AND ordinal <= ? ORDER BY ordinal DESC LIMIT 1", c.IntentNo, c.ChannelNo, through))
}

// newest gives the newest message or event of an intent up to a position. The log's copy of a message shares its position and
// comes after it.
func (n intentScope) newest(tx *database.Tx, through int64) (found anchor, err error) {
	const condition = " WHERE intent_no = ? AND position <= ? ORDER BY position DESC LIMIT 1"
	return found, tx.Pipeline(
		found.read("SELECT position, id FROM messages"+condition, int64(n), through),
		found.read("SELECT position, id FROM events"+condition, int64(n), through))
}

// read gives a statement that reads an item, and puts it here if it is newer.
func (a *anchor) read(query string, arguments ...any) database.Statement {
	return database.Statement{SQL: query, Args: arguments, Scan: func(row database.Row) error {
		var found anchor
		err := row.Scan(&found.place, &found.id)
		if found.place > a.place {
			*a = found
		}
		return err
	}}
}
