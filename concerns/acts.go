package concerns

import (
	"database/sql"
	"strings"
	"time"

	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/reaction"
)

// act is what an agent last did with a message: what it said by a disposition, or what follows from a signal.
type act struct {
	word string
	at   time.Time
	// until is up to when the agent has put the message off; zero if it has not said.
	until time.Time
}

// puts reports whether the message needs the agent no more, or not before some later time. nil stands for an agent that did nothing.
func (a *act) puts(now time.Time) bool {
	if a == nil {
		return false
	}
	switch a.word {
	case "deferred":
		return now.Before(a.until)
	case "ignored", "superseded", "failed", message.DispositionResponded:
		return true
	}
	return false
}

func (a *act) did(word string, at time.Time) {
	if at.After(a.at) {
		a.word, a.at = word, at
	}
}

// actsOf reads what the caller last did with some messages.
func (l *look) actsOf(some []*seen) (map[*seen]*act, error) {
	acts := make(map[*seen]*act)
	if len(some) == 0 {
		return acts, nil
	}
	of := func(intentNo, position int64) *act {
		m := l.seen[at{intentNo, position}]
		if acts[m] == nil {
			acts[m] = &act{}
		}
		return acts[m]
	}
	places := placesOf(some)
	in, rows := l.rowsAt(places, "intent_no", "position")
	reacted, reactedRows := l.rowsAt(places, "intent_no", "message_position")
	return acts, l.tx.Pipeline(database.Statement{
		SQL: "SELECT intent_no, position, disposition, until_at, disposed_at FROM dispositions" +
			" WHERE agent_id = ? AND disposition IS NOT NULL AND " + in,
		Args: append([]any{l.by.Agent}, rows...),
		Scan: func(row database.Row) error {
			var intentNo, position, disposedAt int64
			var word string
			var until sql.NullInt64
			err := row.Scan(&intentNo, &position, &word, &until, &disposedAt)
			a := of(intentNo, position)
			a.did(word, database.Time(disposedAt))
			if until.Valid {
				a.until = database.Time(until.Int64)
			}
			return err
		},
	}, database.Statement{
		SQL: "SELECT intent_no, message_position, signal, created_at FROM reactions WHERE agent_id = ? AND present AND signal IN ('" +
			strings.Join(reaction.Disposing(), "', '") + "') AND " + reacted,
		Args: append([]any{l.by.Agent}, reactedRows...),
		Scan: func(row database.Row) error {
			var intentNo, position, createdAt int64
			var signal string
			err := row.Scan(&intentNo, &position, &signal, &createdAt)
			of(intentNo, position).did(reaction.Disposition(signal), database.Time(createdAt))
			return err
		},
	})
}
