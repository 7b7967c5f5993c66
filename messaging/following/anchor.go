package following

import (
	"math"
	"slices"

	"openintent/internal/database"
	"openintent/messaging/message"
)

// anchor is the newest item that a tail knows of its scope. By it the tail tells whether the log is still the one that it
// has read. A database that loses commits goes back to an earlier end of the log and gives the places beyond it a second
// time. If the log now ends before what was read, its end shows that. If it has grown as far again meanwhile, there is
// another item in the anchor's place. An item that was removed shows nothing.
type anchor struct {
	place int64
	id    string
}

// losses are what a tail has found lost since it began: how often, and the lowest place known to hold another item now.
type losses struct {
	count int
	from  int64
}

// hold finds out whether the page follows on the one before, whose anchor's place now holds what was found. If it does not,
// the page begins anew at the end of what there is.
func (s *sharedPage) hold(before *sharedPage, found anchor) {
	s.anchor, s.losses = found, before.losses
	lost := int64(math.MaxInt64)
	if before.number > 0 && s.end() < before.Through {
		lost = s.end() + 1
	}
	if before.anchor.id != "" && found.place == before.anchor.place && found.id != before.anchor.id {
		lost = min(lost, found.place)
	}
	if lost != math.MaxInt64 {
		s.losses = losses{before.losses.count + 1, lost}
		if before.losses.count > 0 {
			s.losses.from = min(lost, before.losses.from)
		}
		s.Items, s.States, s.size = nil, nil, 0
		s.after, s.Through, s.sharedSince = s.end(), s.end(), s.Now
		s.anchor = anchor{}
	}
	s.setAnchor()
}

// nameLoss names what the log has lost since the page before, as far as the tail can tell. Of a channel it can tell only while the
// log has not grown as far again.
func (t *tail) nameLoss(before, next *sharedPage) {
	if next.losses.count == before.losses.count {
		return
	}
	after := next.Head.LastPosition
	if !next.byOrdinal() {
		after = min(after, next.losses.from-1)
	}
	if after < before.Head.LastPosition {
		t.tails.Lost(before.Head.IntentID, after, before.Head.LastPosition)
	}
}

// setAnchor sets the anchor to the newest of the shared items, if that is newer.
func (s *sharedPage) setAnchor() {
	if len(s.Items) == 0 {
		return
	}
	newest := s.Items[len(s.Items)-1]
	switch {
	case newest.Place <= s.anchor.place:
	case newest.Message != nil:
		s.anchor = anchor{newest.Place, newest.Message.ID}
	case newest.Annotation != nil:
		s.anchor = anchor{newest.Place, newest.Annotation.ID}
	default:
		s.anchor = anchor{newest.Place, newest.Event.ID}
	}
}

// denies reports whether the page has another message in the place of a message that was stored lately.
func (s *sharedPage) denies(m *message.Message) bool {
	shared := s.since(m.Ordinal - 1)
	return len(shared) > 0 && shared[0].Place == m.Ordinal && shared[0].Message.ID != m.ID
}

// prepare returns the statements that read what is in the anchor's place, or before it if nothing is there any more, and
// the anchor that they fill. Each query reads a place and an id, up to a place. While there is no anchor yet, the newest
// item is read.
func (a anchor) prepare(queries []string, arguments ...any) (found *anchor, statements []database.Statement) {
	found = new(anchor)
	through := a.place
	if a.id == "" {
		through = math.MaxInt64
	}
	for _, query := range queries {
		statements = append(statements, database.Statement{
			SQL: query, Args: append(slices.Clone(arguments), through),
			Scan: func(row database.Row) error {
				var read anchor
				err := row.Scan(&read.place, &read.id)
				if read.place > found.place {
					*found = read
				}
				return err
			},
		})
	}
	return found, statements
}

// anchored reads a channel's newest message up to an ordinal.
var anchored = []string{
	"SELECT ordinal, id FROM messages WHERE intent_no = ? AND channel_no = ? AND ordinal <= ? ORDER BY ordinal DESC LIMIT 1",
}

// anchoredInIntent reads an intent's newest message, event or annotation up to a position. The log's copy of a message has the
// same position as the message and comes after it. Annotations are read even for those who do not follow them: after a loss,
// one of them may have taken the place of something else.
var anchoredInIntent = []string{
	"SELECT position, id FROM messages WHERE intent_no = ? AND position <= ? ORDER BY position DESC LIMIT 1",
	"SELECT position, id FROM events WHERE intent_no = ? AND position <= ? ORDER BY position DESC LIMIT 1",
	"SELECT position, id FROM annotations WHERE intent_no = ? AND position <= ? ORDER BY position DESC LIMIT 1",
}
