package attention

import (
	"openintent/database"
	"openintent/messaging/message"
)

// threads finds out in which threads an agent wrote. All its deliveries have the same viewer and are shown to the same agent.
type threads struct {
	agent string
	shown *message.Viewer
	roots map[place]struct{}
	// last are the ordinals of the newest messages that the agent wrote, by the threads' first messages.
	last map[place]int64
}

func (t *threads) add(d Delivery) {
	if t.roots == nil {
		t.roots, t.last = make(map[place]struct{}), make(map[place]int64)
	}
	t.agent, t.shown = d.Viewer.Agent, d.Shown
	t.roots[place{d.Message.IntentNo, d.Message.ThreadRoot()}] = struct{}{}
}

// statements reads the newest message of the agent in each thread: the first message, those under it, and the answers to it that
// name no thread, because it was no thread when they came. Each part has an index that leads to it.
func (t *threads) statements(tx *database.Tx) (statements []database.Statement) {
	if len(t.roots) == 0 {
		return nil
	}
	for _, root := range []string{"m.position", "m.thread_position", "m.correlation_position"} {
		in, arguments := tx.InRows(columns(t.roots, root)...)
		condition := in + " AND m.sender = ?"
		arguments = append(arguments, t.agent)
		if t.shown != nil && !t.shown.Operator {
			condition += " AND (m.target IS NULL OR m.target = '*' OR m.target = ?)"
			arguments = append(arguments, t.shown.Agent)
		}
		statements = append(statements, database.Statement{
			SQL: "SELECT m.intent_no, " + root + ", max(m.ordinal) FROM messages m WHERE " + condition +
				" GROUP BY m.intent_no, " + root,
			Args: arguments,
			Scan: func(row database.Row) error {
				var thread place
				var ordinal int64
				err := row.Scan(&thread.intentNo, &thread.position, &ordinal)
				t.last[thread] = max(t.last[thread], ordinal)
				return err
			},
		})
	}
	return statements
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
