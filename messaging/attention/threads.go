package attention

import (
	"maps"

	"openintent/database"
	"openintent/messaging/message"
)

// threads finds out in which threads an agent wrote. All its deliveries have the same viewer and are shown to the same agent.
type threads struct {
	agent string
	shown *message.Viewer
	// replies are messages of the threads, one of each thread, by the thread's first message.
	replies map[place]place
	// last are the ordinals of the newest messages that the agent wrote, by the threads' first messages.
	last map[place]int64
}

func (t *threads) add(d Delivery) {
	if t.replies == nil {
		t.replies, t.last = make(map[place]place), make(map[place]int64)
	}
	t.agent, t.shown = d.Viewer.Agent, d.Shown
	m := d.Message
	t.replies[place{m.IntentNo, m.ThreadRoot()}] = place{m.IntentNo, m.Position}
}

// statements reads the newest message of the agent in each thread: the first message, those under it, and the answers to it that
// name no thread, because it was no thread when they came. Each part finds its rows by an index, thread by thread.
func (t *threads) statements(tx *database.Tx) []database.Statement {
	if len(t.replies) == 0 {
		return nil
	}
	condition, of := " AND m.sender = ?", []any{t.agent}
	if t.shown != nil && !t.shown.Operator {
		condition += " AND (m.target IS NULL OR m.target = '*' OR m.target = ?)"
		of = append(of, t.shown.Agent)
	}
	query := "SELECT d.intent_no, d.thread_position"
	var arguments []any
	for _, column := range []string{"position", "thread_position", "correlation_position"} {
		query += ", COALESCE((SELECT max(m.ordinal) FROM messages m WHERE m.intent_no = d.intent_no AND m." + column +
			" = d.thread_position" + condition + "), 0)"
		arguments = append(arguments, of...)
	}
	in, replies := tx.InRows(columns(maps.Values(t.replies))...)
	return []database.Statement{{
		SQL:  query + " FROM messages d WHERE " + in,
		Args: append(arguments, replies...),
		Scan: func(row database.Row) error {
			var thread place
			var first, under, answer int64
			err := row.Scan(&thread.intentNo, &thread.position, &first, &under, &answer)
			t.last[thread] = max(first, under, answer)
			return err
		},
	}}
}

// wrote tells whether the viewer wrote in the message's thread and what it wrote is still there. If the judgement is shown to another
// agent, only what that agent sees counts, so that it learns of nothing else.
func (t *threads) wrote(d Delivery) bool {
	floor := d.Floor
	if d.Shown != nil {
		floor = max(floor, d.Shown.HistoryFloor)
	}
	return t.last[place{d.Message.IntentNo, d.Message.ThreadRoot()}] > floor
}
