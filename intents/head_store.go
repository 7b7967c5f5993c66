package intents

import (
	"time"

	"openintent/internal/database"
)

const headColumns = "h.intent_no, i.id, h.status, h.ended_at, h.resumed_at, h.last_position, h.last_sequence, " +
	"h.last_channel, h.last_hash, h.last_at, h.epoch, h.tag, h.audience_tag, h.events_removed"

func scanHead(row database.Row) (*Head, error) {
	var (
		head              Head
		status            string
		endedAt           *int64
		resumedAt, lastAt int64
		lastHash          *string
	)
	err := row.Scan(&head.IntentNo, &head.IntentID, &status, &endedAt, &resumedAt, &head.LastPosition,
		&head.LastSequence, &head.lastChannel, &lastHash, &lastAt, &head.Epoch, &head.tag, &head.AudienceTag,
		&head.EventsRemoved)
	if err != nil {
		return nil, err
	}
	head.Status = Status(status)
	if endedAt != nil {
		head.EndedAt = database.Time(*endedAt)
	}
	if resumedAt != 0 {
		head.ResumedAt = database.Time(resumedAt)
	}
	head.LastAt = database.Time(lastAt)
	if lastHash != nil {
		head.lastHash = *lastHash
	}
	return &head, nil
}

// ReadHead reads an intent's head without locking it, as the transaction's snapshot has it.
func ReadHead(tx *database.Tx, intentNo int64) (Head, error) {
	statement, head := PrepareHead(tx, intentNo)
	if err := tx.Pipeline(statement); err != nil {
		return Head{}, err
	}
	return head()
}

// PrepareHead returns ReadHead's statement, to be sent together with others, and a function that returns the head once the
// statement has run.
func PrepareHead(tx *database.Tx, intentNo int64) (statement database.Statement, head func() (Head, error)) {
	var found *Head
	statement = database.Statement{
		SQL: "SELECT " + headColumns +
			" FROM intent_heads AS h JOIN intents AS i ON i.intent_no = h.intent_no WHERE h.intent_no = ?",
		Args: []any{intentNo},
		Scan: func(row database.Row) (err error) {
			found, err = scanHead(row)
			return err
		},
	}
	return statement, func() (Head, error) {
		if found == nil {
			return Head{}, ErrIntentNotFound
		}
		found.lockedWith = &lockedHeads{tx: tx}
		return *found, nil
	}
}

// PrepareHeads is PrepareHead for several intents; the result lacks those that do not exist.
func PrepareHeads(tx *database.Tx, intentNos []int64) (statement database.Statement, heads func() Heads) {
	var found Heads
	read := &lockedHeads{tx: tx}
	in, argument := tx.In("h.intent_no", intentNos)
	statement = database.Statement{
		SQL: "SELECT " + headColumns + " FROM intent_heads AS h JOIN intents AS i ON i.intent_no = h.intent_no WHERE " + in +
			" ORDER BY h.intent_no",
		Args: []any{argument},
		Scan: func(row database.Row) error {
			head, err := scanHead(row)
			if err == nil {
				head.lockedWith = read
				found = append(found, head)
			}
			return err
		},
	}
	return statement, func() Heads { return found }
}

// State is the part of an intent's head by which its followers see whether they have to look again.
type State struct {
	IntentNo, LastPosition, Epoch int64
	// LastAt is the log's last time, in microseconds. If it changes and the position does not, the database has lost commits and the log
	// goes on differently, or the time was given to no entry.
	LastAt int64
	// Purged is true when the intent has ended and its messages are removed.
	Purged bool
}

// StateColumns are the columns of a head, which the query calls h, that ScanState reads.
const StateColumns = "h.intent_no, h.last_position, h.epoch, h.last_at, h.purged_at IS NOT NULL"

// ScanState reads a state, and further columns that follow in the row.
func ScanState(row database.Row, further ...any) (state State, err error) {
	err = row.Scan(append([]any{&state.IntentNo, &state.LastPosition, &state.Epoch, &state.LastAt, &state.Purged}, further...)...)
	return state, err
}

// PrepareStates returns a statement that reads how far intents have come, and where it puts their states, ordered by intent.
// It reads much less than PrepareHeads, for callers that look at very many intents.
func PrepareStates(tx *database.Tx, intentNos []int64) (*[]State, database.Statement) {
	found := &[]State{}
	in, argument := tx.In("h.intent_no", intentNos)
	return found, database.Statement{
		SQL:  "SELECT " + StateColumns + " FROM intent_heads h WHERE " + in + " ORDER BY h.intent_no",
		Args: []any{argument},
		Scan: scanStates(found),
	}
}

func scanStates(found *[]State) func(database.Row) error {
	return func(row database.Row) error {
		state, err := ScanState(row)
		*found = append(*found, state)
		return err
	}
}

// span is the precision with which the store records when a head changed (see PrepareMoved).
const span = 10 * time.Second

func spanOf(at time.Time) int64 { return database.Micros(at) / span.Microseconds() }

// MovedSince returns the condition that a head, which the query calls h, has moved as PrepareMoved says, and its argument.
func MovedSince(since time.Time) (sql string, argument any) { return "h.moved_in >= ?", spanOf(since) }

// PrepareMoved returns a statement that reads the states of the heads that changed at the given time or later, and of some that
// changed shortly before, and where it puts them. A change has the time at which its transaction decided, so a transaction that
// commits later may have an earlier time. Pass a time that is earlier by as long as a transaction can last.
func PrepareMoved(since time.Time) (*[]State, database.Statement) {
	found := &[]State{}
	return found, database.Statement{
		SQL:  "SELECT " + StateColumns + " FROM intent_heads h WHERE h.moved_in >= ?",
		Args: []any{spanOf(since)},
		Scan: scanStates(found),
	}
}

// Statements returns the statements that store what the heads have not stored yet: at most one for all heads and one for all
// their events. The caller runs them in the transaction. If nobody takes them, they run just before the commit.
func (hs Heads) Statements() []database.Statement {
	if len(hs) == 0 {
		return nil
	}
	var changed Heads
	var events []*Event
	for _, head := range hs {
		events = append(events, head.pending...)
		head.pending = nil
		if head.dirty {
			changed = append(changed, head)
			head.dirty = false
		}
	}
	tx := hs[0].lockedWith.tx
	return append(headStatements(tx, changed), eventStatements(tx, events)...)
}

func headStatements(tx *database.Tx, heads Heads) []database.Statement {
	n := len(heads)
	nos, statuses, endedAts, resumedAts := make([]int64, n), make([]string, n), make([]*int64, n), make([]int64, n)
	positions, sequences, channels := make([]int64, n), make([]int64, n), make([]int64, n)
	hashes, lastAts, epochs := make([]*string, n), make([]int64, n), make([]int64, n)
	spans, tags, audienceTags := make([]int64, n), make([]int64, n), make([]int64, n)
	for i, head := range heads {
		nos[i], statuses[i] = head.IntentNo, string(head.Status)
		endedAts[i] = database.NullMicros(head.EndedAt)
		if !head.ResumedAt.IsZero() {
			resumedAts[i] = database.Micros(head.ResumedAt)
		}
		positions[i], sequences[i], channels[i] = head.LastPosition, head.LastSequence, head.lastChannel
		hashes[i] = database.NullText(head.lastHash)
		lastAts[i], epochs[i] = database.Micros(head.LastAt), head.Epoch
		spans[i], tags[i], audienceTags[i] = spanOf(head.Now()), head.tag, head.AudienceTag
	}
	keys := []database.Column{{Name: "intent_no", Values: nos}}
	set := []database.Column{
		{Name: "status", Values: statuses},
		{Name: "ended_at", Values: endedAts},
		{Name: "resumed_at", Values: resumedAts},
		{Name: "last_position", Values: positions},
		{Name: "last_sequence", Values: sequences},
		{Name: "last_channel", Values: channels},
		{Name: "last_hash", Values: hashes},
		{Name: "last_at", Values: lastAts},
		{Name: "epoch", Values: epochs},
		{Name: "moved_in", Values: spans},
		{Name: "tag", Values: tags},
		{Name: "audience_tag", Values: audienceTags},
	}
	if n > 0 && heads[0].expected != nil { // then all heads of the transaction come from Expect
		return tx.UpdateExpected("intent_heads", keys, expectedColumns(heads), set)
	}
	return tx.Update("intent_heads", keys, set)
}

func expectedColumns(heads Heads) []database.Column {
	n := len(heads)
	positions, lastAts, epochs, tags := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	for i, head := range heads {
		positions[i], lastAts[i] = head.expected.position, database.Micros(head.expected.at)
		epochs[i], tags[i] = head.expected.epoch, head.expected.tag
	}
	return []database.Column{
		{Name: "last_position", Values: positions},
		{Name: "last_at", Values: lastAts},
		{Name: "epoch", Values: epochs},
		{Name: "tag", Values: tags},
	}
}

// NotPurged returns an SQL condition on the intent whose number is in the column: that the server has not removed all messages
// of the intent after its end.
func NotPurged(column string) string {
	return "EXISTS (SELECT 1 FROM intent_heads AS living WHERE living.intent_no = " + column + " AND living.purged_at IS NULL)"
}

// MarkPurged notes, under the lock on the head, that all messages of an ended intent were removed. It is for the room above,
// which keeps the messages.
func MarkPurged(tx *database.Tx, head *Head) error {
	return tx.Pipeline(database.Statement{
		SQL:  "UPDATE intent_heads SET purged_at = ? WHERE intent_no = ?",
		Args: []any{database.Micros(head.Now()), head.IntentNo},
	})
}
