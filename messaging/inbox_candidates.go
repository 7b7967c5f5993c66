package messaging

import (
	"slices"

	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

// This file finds the messages that may wait for an agent, in the inbox's order, through indexes that can be sought after a place:
// the open requests to the agent and to its role, what else is addressed to them, and what is for everyone in each intent where the
// agent takes part. Each of these is a lane, and the candidates are the lanes merged:
//
//	open_requests (target, place) ────────────┐
//	messages_addressed (target, place) ───────┼──> in order, each one once
//	messages_everyone (intent, time), several ┘

// candidate is the place of a message that may wait for the agent. read is true if the agent has read it, and it is no request.
type candidate struct {
	inboxPlace
	read bool
}

// lane is one of the lists that are merged.
type lane struct {
	// next reads the lane on after a place.
	next func(after inboxPlace, limit int, scan func(database.Row) error) database.Statement
	// everyone is the number of the intent for everyone in which the lane is; 0 for none.
	everyone int64
	// last is up to where the lane was read, ended whether that was all of it, and held how many of its candidates wait in the pool.
	last  inboxPlace
	ended bool
	held  int
	// limit is how many candidates are read next.
	limit int
}

// candidates are what may wait for an agent after a place, as they are found.
type candidates struct {
	reader *inboxReader
	lanes  []*lane
	// pool has the candidates that were read and not given, in order. ready is how many of them are next: no lane has anything before
	// them that was not read.
	pool  []pooled
	ready int
}

type pooled struct {
	candidate
	of *lane
}

const (
	// fewIntents is in how many intents the agent may take part so that each is begun with a statement of its own. Many are begun with
	// one statement, which reads at least leastBegun messages of each.
	fewIntents = 16
	leastBegun = 4
	// readAhead is how many lanes are read on in one round trip when one is empty: others that soon will be.
	readAhead = 64
)

// candidatesAfter begins to read what may wait for the agent after a place.
func (r *inboxReader) candidatesAfter(after inboxPlace) (*candidates, error) {
	c := &candidates{reader: r}
	for i, name := range r.names {
		var since inboxPlace
		if role := i > 0; role { // what was sent before the agent took the role does not wait for it, but for open requests
			since.createdAt = database.Micros(r.Presences[r.agent].RoleSince)
		}
		c.lanes = append(c.lanes, &lane{next: r.requestsTo(name)}, &lane{next: r.addressedTo(name, since)})
	}
	addressed := len(c.lanes)
	for _, head := range r.heads {
		if no := head.IntentNo; r.part[no] && database.Micros(head.LastAt) >= after.createdAt {
			c.lanes = append(c.lanes, &lane{everyone: no, next: r.forEveryoneIn(no)})
		}
	}
	first := min(r.limit+1, reading.FirstChunk)
	for _, l := range c.lanes {
		l.last, l.limit = after, max(first/len(c.lanes), leastBegun)
	}
	begin := c.lanes
	if len(c.lanes)-addressed > fewIntents {
		begin = c.lanes[:addressed]
		return c, c.read(begin, c.beginMany(c.lanes[addressed:], after))
	}
	return c, c.read(begin)
}

// more reports whether there may be further candidates.
func (c *candidates) more() bool {
	return len(c.pool) > 0 || slices.ContainsFunc(c.lanes, func(l *lane) bool { return !l.ended })
}

// take returns the next candidates, at least one unless there are none, and at most so many.
func (c *candidates) take(most int) (found []candidate, err error) {
	for c.ready == 0 && c.more() {
		dry := c.dry()
		for _, l := range dry {
			l.limit = min(l.limit, most)
		}
		if err := c.read(dry); err != nil {
			return nil, err
		}
	}
	given := c.pool[:min(c.ready, most)]
	for _, p := range given {
		found = append(found, p.candidate)
		p.of.held--
	}
	c.pool, c.ready = c.pool[len(given):], c.ready-len(given)
	return found, nil
}

// dry returns the lanes to read on: those of which nothing is held, and some of which little is.
func (c *candidates) dry() (dry []*lane) {
	var soon []*lane
	for _, l := range c.lanes {
		switch {
		case l.ended:
		case l.held == 0:
			dry = append(dry, l)
		case l.held == 1 && l.limit <= readAhead && len(soon) < readAhead:
			soon = append(soon, l)
		}
	}
	return append(dry, soon...)
}

// read reads lanes on, and runs further statements in the same round trip.
func (c *candidates) read(lanes []*lane, statements ...database.Statement) error {
	got := make([]int, len(lanes))
	for i, l := range lanes {
		statements = append(statements, l.next(l.last, l.limit, func(row database.Row) error {
			got[i]++
			return c.scan(row, func(int64) *lane { return l })
		}))
	}
	if err := c.reader.Tx.Pipeline(statements...); err != nil {
		return err
	}
	for i, l := range lanes {
		l.ended = got[i] < l.limit
		l.limit = min(4*l.limit, reading.MaxChunk)
	}
	c.order()
	return nil
}

// scan reads a candidate into the pool.
func (c *candidates) scan(row database.Row, laneOf func(intentNo int64) *lane) error {
	var found candidate
	err := row.Scan(&found.createdAt, &found.intentNo, &found.position, &found.read)
	l := laneOf(found.intentNo)
	if found.compare(l.last) > 0 { // a message of the moment at which many lanes begin may lie before their place
		l.last, l.held = found.inboxPlace, l.held+1
		c.pool = append(c.pool, pooled{found, l})
	}
	return err
}

// beginMany returns one statement that reads the first messages of many lanes. It does not begin with the messages (CROSS JOIN), and
// seeks those of each intent by their time. The order of its rows is that of the messages within each intent.
func (c *candidates) beginMany(lanes []*lane, after inboxPlace) database.Statement {
	intentNos, of := make([]int64, len(lanes)), make(map[int64]*lane, len(lanes))
	for i, l := range lanes {
		intentNos[i], of[l.everyone] = l.everyone, l
		l.limit, l.ended = leastBegun, true
	}
	in, numbers := c.reader.Tx.In("h.intent_no", intentNos)
	got := make(map[int64]int, len(lanes))
	return database.Statement{
		SQL: "SELECT m.created_at, m.intent_no, m.position, " + readByAgent +
			" FROM intent_heads h CROSS JOIN messages m WHERE " + in + " AND m.intent_no = h.intent_no" +
			" AND (m.target IS NULL OR m.target = '*') AND m.created_at > ? AND m.created_at <= (SELECT max(f.created_at) FROM" +
			" (SELECT x.created_at FROM messages x WHERE x.intent_no = h.intent_no AND (x.target IS NULL OR x.target = '*')" +
			" AND x.created_at > ? ORDER BY x.created_at LIMIT ?) AS f) ORDER BY m.intent_no, m.created_at",
		Args: []any{c.reader.agent, numbers, after.createdAt - 1, after.createdAt - 1, leastBegun},
		Scan: func(row database.Row) error {
			return c.scan(row, func(intentNo int64) *lane {
				got[intentNo]++
				of[intentNo].ended = got[intentNo] < leastBegun
				return of[intentNo]
			})
		},
	}
}

// order sorts the pool, and finds out how many of it are next: those up to which every lane was read.
func (c *candidates) order() {
	slices.SortFunc(c.pool, func(a, b pooled) int { return a.compare(b.inboxPlace) })
	var horizon *inboxPlace
	for _, l := range c.lanes {
		if !l.ended && (horizon == nil || l.last.compare(*horizon) < 0) {
			horizon = &l.last
		}
	}
	if c.ready = len(c.pool); horizon != nil {
		c.ready, _ = slices.BinarySearchFunc(c.pool, *horizon, func(p pooled, at inboxPlace) int {
			if p.compare(at) > 0 {
				return 1
			}
			return -1
		})
	}
}

// requestsTo reads the open requests to an address.
func (r *inboxReader) requestsTo(name string) func(inboxPlace, int, func(database.Row) error) database.Statement {
	return func(after inboxPlace, limit int, scan func(database.Row) error) database.Statement {
		return database.Statement{
			SQL: "SELECT q.created_at, q.intent_no, q.position, FALSE FROM open_requests q WHERE q.target = ?" +
				" AND (q.created_at, q.intent_no, q.position) > (?, ?, ?) ORDER BY q.created_at, q.intent_no, q.position LIMIT ?",
			Args: []any{name, after.createdAt, after.intentNo, after.position, limit}, Scan: scan,
		}
	}
}

// readByAgent is true for a message m that the agent has read.
const readByAgent = "EXISTS (SELECT 1 FROM receipts x WHERE x.intent_no = m.intent_no AND x.position = m.position AND x.agent_id = ?" +
	message.OneByOne + ")"

// addressedTo reads the messages to an address that are no requests, and were not sent before some place.
func (r *inboxReader) addressedTo(name string, since inboxPlace) func(inboxPlace, int, func(database.Row) error) database.Statement {
	return func(after inboxPlace, limit int, scan func(database.Row) error) database.Statement {
		if since.compare(after) > 0 {
			after = since
		}
		return database.Statement{
			SQL: "SELECT m.created_at, m.intent_no, m.position, " + readByAgent + " FROM messages m WHERE m.target = ?" +
				" AND m.target <> '*' AND m.message_type <> 'request' AND (m.created_at, m.intent_no, m.position) > (?, ?, ?)" +
				" ORDER BY m.created_at, m.intent_no, m.position LIMIT ?",
			Args: []any{r.agent, name, after.createdAt, after.intentNo, after.position, limit}, Scan: scan,
		}
	}
}

// forEveryoneIn reads what is for everyone in an intent. Within an intent, times are places.
func (r *inboxReader) forEveryoneIn(intentNo int64) func(inboxPlace, int, func(database.Row) error) database.Statement {
	return func(after inboxPlace, limit int, scan func(database.Row) error) database.Statement {
		time := after.createdAt
		if intentNo > after.intentNo { // the message of the same moment comes after the place
			time--
		}
		return database.Statement{
			SQL: "SELECT m.created_at, m.intent_no, m.position, " + readByAgent + " FROM messages m WHERE m.intent_no = ?" +
				" AND (m.target IS NULL OR m.target = '*') AND m.created_at > ? ORDER BY m.created_at LIMIT ?",
			Args: []any{r.agent, intentNo, time, limit}, Scan: scan,
		}
	}
}

func placesOf(messages []*message.Message) []inboxPlace {
	places := make([]inboxPlace, len(messages))
	for i, m := range messages {
		places[i] = placeInInbox(m)
	}
	return places
}

// messagesAt returns the statement that reads the messages at some places, in the inbox's order.
func (r *inboxReader) messagesAt(columns string, places []inboxPlace, scan func(database.Row) error) database.Statement {
	intentNos, positions := make([]int64, len(places)), make([]int64, len(places))
	for i, p := range places {
		intentNos[i], positions[i] = p.intentNo, p.position
	}
	in, rows := r.Tx.InRows(
		database.Column{Name: "m.intent_no", Values: intentNos}, database.Column{Name: "m.position", Values: positions})
	return database.Statement{
		SQL:  "SELECT " + columns + " FROM messages m WHERE " + in + " ORDER BY m.created_at, m.intent_no, m.position",
		Args: message.ViewedBy(r.agent, rows...), Scan: scan,
	}
}
