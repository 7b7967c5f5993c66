package messaging

import (
	"database/sql"
	"time"

	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging/message"
	"openintent/messaging/writing"
)

// maxDispositions bounds how often a recipient may set its disposition of one message, because each change takes a place in the log.
const maxDispositions = 100

var errTooManyDispositions = fault.New(fault.Quota, "TOO_MANY_DISPOSITIONS",
	"The agent has set its disposition of this message 100 times, which is the most; leave it as it is.")

// disposition is what a recipient did with a message in the end. The word is empty while nothing is known.
type disposition struct {
	word string
	at   time.Time
}

// disposed notes something that a recipient did with the message. What was done last counts, whether the recipient said so or it
// follows from what is stored: an answer, a reaction or a claim. A reaction that was removed and a claim that has ended are stored no
// more, so what was done before them counts again.
func (r *record) disposed(word string, at time.Time) {
	if at.After(r.disposition.at) {
		r.disposition = disposition{word, at}
	}
}

// Disposition is what a recipient says that it did with a message. At is set by SetDisposition.
type Disposition struct {
	Word, Reason string
	Until, At    time.Time
}

// SetDisposition stores what the viewer says that it did with the message, and an annotation that tells others. To say the same again
// stores nothing. The caller has made sure that the viewer is a recipient, and holds the message.
func (s *Sighting) SetDisposition(d Disposition) (Disposition, error) {
	before, changes, err := s.lastDisposition()
	if err != nil {
		return d, err
	}
	if changes > 0 && d.Word == before.Word && d.Reason == before.Reason && d.Until.Equal(before.Until) {
		return before, nil
	}
	if changes >= maxDispositions {
		return d, errTooManyDispositions
	}
	m, agent := s.Message, s.Viewer.Agent
	told := &message.Annotation{
		ChannelNo: m.ChannelNo, ChannelID: m.ChannelID, MessagePosition: m.Position, MessageID: m.ID,
		Type: message.AnnotationDisposition, AgentID: agent,
		Details: message.AnnotationDetails{Disposition: d.Word, Reason: d.Reason, Until: d.Until},
	}
	if err := writing.Annotate(s.Tx, s.service.hub, s.head, told); err != nil {
		return d, err
	}
	d.At = told.CreatedAt
	var until *int64
	if !d.Until.IsZero() {
		at := database.Micros(d.Until)
		until = &at
	}
	return d, s.Tx.Pipeline(database.Statement{
		SQL: "INSERT INTO dispositions (intent_no, position, agent_id, disposition, reason, until_at, disposed_at, changes)" +
			" VALUES (?, ?, ?, ?, ?, ?, ?, 1) ON CONFLICT (intent_no, position, agent_id) DO UPDATE SET" +
			" disposition = excluded.disposition, reason = excluded.reason, until_at = excluded.until_at," +
			" disposed_at = excluded.disposed_at, changes = dispositions.changes + 1",
		Args: []any{m.IntentNo, m.Position, agent, d.Word, d.Reason, until, database.Micros(d.At)},
	})
}

// lastDisposition reads the disposition that the viewer last set, and how often it has set one.
func (s *Sighting) lastDisposition() (d Disposition, changes int, err error) {
	err = s.Tx.Pipeline(database.Statement{
		SQL: "SELECT disposition, reason, until_at, disposed_at, changes FROM dispositions" +
			" WHERE intent_no = ? AND position = ? AND agent_id = ? AND disposition IS NOT NULL",
		Args: []any{s.Message.IntentNo, s.Message.Position, s.Viewer.Agent},
		Scan: func(row database.Row) error {
			var until sql.NullInt64
			var at int64
			err := row.Scan(&d.Word, &d.Reason, &until, &at, &changes)
			if d.At = database.Time(at); until.Valid {
				d.Until = database.Time(until.Int64)
			}
			return err
		},
	})
	return d, changes, err
}
