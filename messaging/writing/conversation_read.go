package writing

import (
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/tasks"
)

// sighting names a message and the agent that looks at it.
type sighting struct{ messageID, agent string }

// readConversations returns the statements that read what decides the drafts' conversations. There are none for plain messages.
func (b *batch) readConversations(w wants) []database.Statement {
	if !w.conversing {
		return nil
	}
	statements := append(b.readMentioned(w), b.readOwed()...)
	statements = append(statements, b.readDocuments()...)
	parents := make(map[string][]string) // by sender
	var taskIDs []string
	for _, s := range b.submissions {
		if id := s.draft.parentID(); id != "" {
			parents[s.draft.Sender] = append(parents[s.draft.Sender], id)
		}
		if id := s.draft.taskID(); id != "" {
			taskIDs = append(taskIDs, id)
		}
	}
	b.parents = make(map[sighting]*message.Message, len(parents))
	for sender, ids := range parents {
		statements = append(statements, b.readParents(sender, database.Distinct(ids)))
	}
	if len(taskIDs) > 0 {
		var statement database.Statement
		statement, b.tasks = tasks.PrepareFound(b.tx, database.Distinct(taskIDs))
		statements = append(statements, statement)
	}
	return statements
}

// readParents returns the statement that reads the parents of a sender's drafts, as that sender sees them.
func (b *batch) readParents(sender string, ids []string) database.Statement {
	in, argument := b.tx.In("m.id", ids)
	return database.Statement{
		SQL:  "SELECT " + message.FactColumns + " FROM messages m WHERE " + in,
		Args: message.ViewedBy(sender, argument),
		Scan: func(row database.Row) error {
			m, err := message.ScanFacts(row)
			if err == nil {
				b.parents[sighting{m.ID, sender}] = m
			}
			return err
		},
	}
}

// parentOf returns the parent of a draft as its sender sees it; nil if there is none.
func (b *batch) parentOf(d *Draft) *message.Message {
	m := b.parents[sighting{d.parentID(), d.Sender}]
	if m != nil {
		m.Abandoned = m.AbandonedBy(b.presences[m.Target])
	}
	return m
}
