package attention

import (
	"maps"

	"openintent/internal/database"
	"openintent/messaging/message"
)

// Threads are the threads in which an agent wrote, as far as it matters for some deliveries to that agent.
type Threads struct {
	agent string
	shown *message.Viewer
	// replies are messages of the threads, one of each thread, by the thread's first message.
	replies map[place]place
	// last are the ordinals of the newest messages that the agent wrote, by the threads' first messages.
	last map[place]int64
}

// ReadThreads finds out in which threads an agent wrote, for deliveries that are all to that agent and shown to the same one.
func ReadThreads(tx *database.Tx, deliveries []Delivery) (*Threads, error) {
	t := newThreads(deliveries)
	return t, tx.Pipeline(t.statements(tx)...)
}

func newThreads(deliveries []Delivery) *Threads {
	t := &Threads{replies: make(map[place]place), last: make(map[place]int64)}
	for _, d := range deliveries {
		if d.DependsOnThread() {
			t.agent, t.shown = d.Viewer.Agent, d.Shown
			t.replies[threadOf(d.Message)] = placeOf(d.Message)
		}
	}
	return t
}

func threadOf(m *message.Message) place { return place{IntentNo: m.IntentNo, Position: m.ThreadRoot()} }

// Knows reports whether it was found out for the thread of a message.
func (t *Threads) Knows(m *message.Message) bool {
	if t == nil {
		return false
	}
	_, known := t.replies[threadOf(m)]
	return known
}

// statements reads the newest message of the agent in each thread: the first message, those under it, and the answers to it that
// name no thread, because it was no thread when they came. Each part finds its rows by an index, thread by thread.
func (t *Threads) statements(tx *database.Tx) []database.Statement {
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
			err := row.Scan(&thread.IntentNo, &thread.Position, &first, &under, &answer)
			t.last[thread] = max(first, under, answer)
			return err
		},
	}}
}

// wrote reports whether the viewer wrote in the message's thread and what it wrote is still there. If the judgement is shown to another
// agent, only what that agent sees counts, so that it learns of nothing else.
func (t *Threads) wrote(d Delivery) bool {
	floor := d.Floor
	if d.Shown != nil {
		floor = max(floor, d.Shown.HistoryFloor)
	}
	return t.last[threadOf(d.Message)] > floor
}
