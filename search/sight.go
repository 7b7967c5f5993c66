package search

import (
	"cmp"
	"slices"

	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging/message"
)

// candidate is a message that the index has named, without its content.
type candidate struct {
	*message.Message
	number int64
}

// visible returns the messages of some documents that the caller could list now and that pass the filters, the newest first. They come
// without their contents.
func (l *look) visible(numbers []int64) ([]found, error) {
	if len(numbers) == 0 {
		return nil, nil
	}
	candidates, err := l.candidates(numbers)
	if err != nil || len(candidates) == 0 {
		return nil, err
	}
	messages, intentNos := make([]*message.Message, len(candidates)), make([]int64, len(candidates))
	for i, m := range candidates {
		messages[i], intentNos[i] = m.Message, m.IntentNo
	}
	read, heads := intents.PrepareHeads(l.tx, database.Distinct(intentNos))
	if err := l.tx.Pipeline(read); err != nil {
		return nil, err
	}
	snapshots, err := l.service.reader.Snapshots(l.tx, heads(), l.presences)
	if err != nil {
		return nil, err
	}
	if err := snapshots.Include(messages); err != nil {
		return nil, err
	}
	var visible []found
	operator := message.ActsAsOperator(l.by, l.by.Agent)
	for _, m := range candidates {
		of := snapshots.Of(m.Message)
		if of == nil || !l.passes(m.Message, of.Channel) ||
			!l.by.Scope.CoversChannel(of.Channel.IntentID, of.Channel.ID) ||
			!of.Viewer(l.by.Agent, operator).Sees(m.Message, message.Listed, of.Count.Floor, of.Now) {
			continue
		}
		visible = append(visible, found{
			message: m.Message, number: m.number, intentID: of.Channel.IntentID, channelName: of.Channel.Name, now: of.Now,
		})
	}
	return visible, nil
}

// candidates reads the messages of some documents, without their contents, the newest first. The statement narrows them to those that
// the caller may possibly see.
func (l *look) candidates(numbers []int64) (candidates []candidate, err error) {
	in, argument := l.tx.In("d.document", numbers)
	sql := "SELECT " + message.FactColumns + ", d.document FROM search_documents d" +
		" JOIN messages m ON m.intent_no = d.intent_no AND m.position = d.position WHERE " + in
	arguments := message.ViewedBy(l.by.Agent, argument)
	if !message.ActsAsOperator(l.by, l.by.Agent) {
		sql += " AND (m.sender = ? OR m.target IS NULL OR m.target = '*' OR m.target = ? OR m.target LIKE 'role:%')"
		arguments = append(arguments, l.by.Agent, l.by.Agent)
	}
	err = l.tx.Pipeline(database.Statement{SQL: sql, Args: arguments, Scan: func(row database.Row) (err error) {
		var c candidate
		c.Message, err = message.ScanFacts(row, &c.number)
		candidates = append(candidates, c)
		return err
	}})
	slices.SortFunc(candidates, func(one, other candidate) int { return cmp.Compare(other.number, one.number) })
	return candidates, err
}

// load reads the contents of some messages.
func (l *look) load(some []found) error {
	type place struct{ intentNo, position int64 }
	at := make(map[place]*message.Message, len(some))
	intentNos, positions := make([]int64, len(some)), make([]int64, len(some))
	for i, f := range some {
		intentNos[i], positions[i] = f.message.IntentNo, f.message.Position
		at[place{f.message.IntentNo, f.message.Position}] = f.message
	}
	in, arguments := l.tx.InRows(database.Column{Name: "m.intent_no", Values: intentNos}, database.Column{Name: "m.position", Values: positions})
	return l.tx.Pipeline(database.Statement{
		SQL: "SELECT m.intent_no, m.position, m.payload, m.metadata FROM messages m WHERE " + in, Args: arguments,
		Scan: func(row database.Row) error {
			var where place
			var payload, metadata []byte
			if err := row.Scan(&where.intentNo, &where.position, &payload, &metadata); err != nil {
				return err
			}
			m := at[where]
			m.Payload, m.Metadata = payload, metadata
			return nil
		},
	})
}
