package obligation

import (
	"database/sql"
	"math"
	"slices"
	"time"

	"openintent/channels"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging/message"
)

const columns = `o.intent_no, o.channel_no, o.position, o.message_id, o.author, o.target, o.delegate, o.blocks, o.opened_at, o.step,
	o.due_at, o.extended, o.paused_at, o.discharged_at, o.discharged_by, o.note`

func scan(row database.Row) (*Obligation, error) {
	o := new(Obligation)
	var openedAt int64
	var dueAt, pausedAt, dischargedAt sql.NullInt64
	err := row.Scan(&o.IntentNo, &o.ChannelNo, &o.Position, &o.MessageID, &o.Author, &o.Target, &o.Delegate, &o.Blocks, &openedAt, &o.Step,
		&dueAt, &o.Extended, &pausedAt, &dischargedAt, &o.By, &o.Note)
	o.OpenedAt = database.Time(openedAt)
	if dueAt.Valid {
		o.DueAt = database.Time(dueAt.Int64)
	}
	if pausedAt.Valid {
		o.PausedAt = database.Time(pausedAt.Int64)
	}
	if dischargedAt.Valid {
		o.At = database.Time(dischargedAt.Int64)
	}
	return o, err
}

// Of returns the obligation of a request; nil if there is none. The caller holds the lock of the intent's head if it is to change.
func Of(tx *database.Tx, intentNo, position int64) (found *Obligation, err error) {
	err = tx.Pipeline(database.Statement{
		SQL:  "SELECT " + columns + " FROM obligations o WHERE o.intent_no = ? AND o.position = ?",
		Args: []any{intentNo, position},
		Scan: func(row database.Row) (err error) {
			found, err = scan(row)
			return err
		},
	})
	return found, err
}

// Insertion returns the statements that store new obligations; none for none.
func Insertion(tx *database.Tx, made []*Obligation) []database.Statement {
	n := len(made)
	if n == 0 {
		return nil
	}
	intentNos, channelNos, positions := make([]int64, n), make([]int64, n), make([]int64, n)
	ids, authors, targets, delegates, blocks := make([]string, n), make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	opened, due, steps := make([]int64, n), make([]*int64, n), make([]int64, n)
	for i, o := range made {
		intentNos[i], channelNos[i], positions[i] = o.IntentNo, o.ChannelNo, o.Position
		ids[i], authors[i], targets[i], delegates[i], blocks[i] = o.MessageID, o.Author, o.Target, o.Delegate, o.Blocks
		opened[i], due[i] = database.Micros(o.OpenedAt), database.NullMicros(o.DueAt)
	}
	return tx.Insert("obligations",
		database.Column{Name: "intent_no", Values: intentNos},
		database.Column{Name: "channel_no", Values: channelNos},
		database.Column{Name: "position", Values: positions},
		database.Column{Name: "message_id", Values: ids},
		database.Column{Name: "author", Values: authors},
		database.Column{Name: "target", Values: targets},
		database.Column{Name: "delegate", Values: delegates},
		database.Column{Name: "blocks", Values: blocks},
		database.Column{Name: "opened_at", Values: opened},
		database.Column{Name: "step", Values: steps},
		database.Column{Name: "due_at", Values: due},
		database.Column{Name: "extended", Values: make([]bool, n)},
		database.Column{Name: "discharged_by", Values: make([]string, n)},
		database.Column{Name: "note", Values: make([]string, n)},
	)
}

// Save stores what changes of an obligation. The statement runs at once.
func Save(tx *database.Tx, o *Obligation) error {
	return tx.Pipeline(database.Statement{
		SQL: "UPDATE obligations SET step = ?, due_at = ?, extended = ?, paused_at = ?, discharged_at = ?, discharged_by = ?, note = ?" +
			" WHERE intent_no = ? AND position = ?",
		Args: []any{
			o.Step, database.NullMicros(o.DueAt), o.Extended, database.NullMicros(o.PausedAt), database.NullMicros(o.At), o.By, o.Note,
			o.IntentNo, o.Position,
		},
	})
}

// Close stores that an obligation was discharged, and lets its request go if it was kept for the obligation alone.
func Close(tx *database.Tx, head *intents.Head, o *Obligation, by, note string) error {
	o.close(Discharge{At: head.Now(), By: by, Note: note})
	if err := Save(tx, o); err != nil {
		return err
	}
	return tx.Pipeline(database.Statement{
		SQL:  "UPDATE evicted_requests SET due_at = ? WHERE intent_no = ? AND position = ? AND due_at = ?",
		Args: []any{database.Micros(head.Now()), o.IntentNo, o.Position, Kept},
	})
}

// Release returns the statement that lets evicted requests go whose obligations were discharged.
func Release(tx *database.Tx, head *intents.Head, positions []int64) database.Statement {
	in, argument := tx.In("position", positions)
	return database.Statement{
		SQL: "UPDATE evicted_requests SET due_at = ? WHERE intent_no = ? AND due_at = ? AND " + in + " AND NOT EXISTS (SELECT 1" +
			" FROM obligations o WHERE o.intent_no = evicted_requests.intent_no AND o.position = evicted_requests.position" +
			" AND o.discharged_at IS NULL)",
		Args: []any{database.Micros(head.Now()), head.IntentNo, Kept, argument},
	}
}

// Kept is when an evicted request is due while its obligation is open: never.
const Kept int64 = math.MaxInt64

// CloseAll closes all open obligations of an intent, or of one channel unless it is 0.
func CloseAll(tx *database.Tx, head *intents.Head, channelNo int64) error {
	closed := endedByServer(head.Now())
	condition, of := openIn(head.IntentNo, channelNo)
	return tx.Pipeline(database.Statement{
		SQL: "UPDATE obligations SET due_at = NULL, paused_at = NULL, discharged_at = ?, discharged_by = ?" +
			" WHERE " + condition,
		Args: append([]any{database.Micros(closed.At), closed.By}, of...),
	})
}

// OpenIn returns the oldest open obligations of an intent, or of one channel unless it is 0, and counts them all.
func OpenIn(tx *database.Tx, intentNo, channelNo int64, limit int) (open []*Obligation, count int, err error) {
	condition, of := openIn(intentNo, channelNo)
	condition = " FROM obligations o WHERE " + condition
	err = tx.Pipeline(database.ReadValue(&count, "SELECT count(*)"+condition, of...), database.Statement{
		SQL:  "SELECT " + columns + condition + " ORDER BY o.position LIMIT ?",
		Args: append(slices.Clone(of), limit),
		Scan: func(row database.Row) error {
			o, err := scan(row)
			open = append(open, o)
			return err
		},
	})
	return open, count, err
}

// openIn returns the condition that an obligation is open, in an intent or, unless it is 0, in one channel, and its arguments.
func openIn(intentNo, channelNo int64) (condition string, arguments []any) {
	if channelNo == 0 {
		return "intent_no = ? AND discharged_at IS NULL", []any{intentNo}
	}
	return "intent_no = ? AND channel_no = ? AND discharged_at IS NULL", []any{intentNo, channelNo}
}

// Place is where an obligation is.
type Place struct {
	channels.Key
	Position int64
}

// ToLookAt reads the places of obligations at which somebody has to look, the longest due first, and then those that are astray.
func ToLookAt(tx *database.Tx, now time.Time, limit int) (places []Place, err error) {
	read := func(condition string, at int64) database.Statement {
		return database.Statement{
			SQL:  "SELECT intent_no, channel_no, position FROM obligations WHERE due_at " + condition + " ? ORDER BY due_at LIMIT ?",
			Args: []any{at, limit},
			Scan: func(row database.Row) error {
				var place Place
				err := row.Scan(&place.IntentNo, &place.ChannelNo, &place.Position)
				places = append(places, place)
				return err
			},
		}
	}
	err = tx.Pipeline(read("<=", database.Micros(now)), read(">", database.Micros(now.Add(2*Interval+slack))))
	return places, err
}

// FirstWord returns when the author of a paused obligation first wrote in the thread of its request since the pause; zero if it did not.
func FirstWord(tx *database.Tx, o *Obligation, thread int64) (wrote time.Time, err error) {
	var at sql.NullInt64
	err = tx.Pipeline(database.Statement{
		SQL:  "SELECT min(created_at) FROM messages WHERE intent_no = ? AND thread_position = ? AND sender = ? AND created_at > ?",
		Args: []any{o.IntentNo, thread, o.Author, database.Micros(o.PausedAt)},
		Scan: func(row database.Row) error { return row.Scan(&at) },
	})
	if at.Valid {
		wrote = database.Time(at.Int64)
	}
	return wrote, err
}

// DeletionIn forgets the obligations of a channel that is deleted.
func DeletionIn(key channels.Key) database.Statement {
	return database.Statement{
		SQL: "DELETE FROM obligations WHERE intent_no = ? AND channel_no = ?", Args: []any{key.IntentNo, key.ChannelNo},
	}
}

// PrepareOpen returns a statement that finds out which of some requests have open obligations, and tells of each, with the subject that the
// request has now.
func PrepareOpen(tx *database.Tx, intentNos, positions []int64, found func(intentNo, position int64, subject string)) database.Statement {
	in, arguments := tx.InRows(
		database.Column{Name: "o.intent_no", Values: intentNos}, database.Column{Name: "o.position", Values: positions})
	return database.Statement{
		SQL: "SELECT o.intent_no, o.position, m.conversation FROM obligations o JOIN messages m ON m.intent_no = o.intent_no" +
			" AND m.position = o.position WHERE " + in + " AND o.discharged_at IS NULL",
		Args: arguments,
		Scan: func(row database.Row) error {
			var intentNo, position int64
			var fields []byte
			if err := row.Scan(&intentNo, &position, &fields); err != nil {
				return err
			}
			c, err := message.ConversationFrom(0, fields)
			if c != nil {
				found(intentNo, position, c.Subject)
			}
			return err
		},
	}
}
