package writing

import (
	"maps"
	"slices"

	"openintent/agents"
	"openintent/channels"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/wake"
)

// wants lists what decides a batch's drafts, each thing once.
type wants struct {
	intentNos           []int64
	channels            []channels.Key
	names, correlations []string
	// byName is true when a draft names its channel, which has to be found. uncertain is true when a draft may be stored
	// already. passedOver is true when an intent could not be locked before.
	byName, uncertain, passedOver bool
	// words may be names in the drafts' texts. conversing is true when a draft needs something read for its conversation.
	words      []string
	conversing bool
}

func (w *Writer) wants(submissions []*submission) wants {
	var all wants
	for _, s := range submissions {
		d := s.draft
		all.intentNos = append(all.intentNos, d.IntentNo)
		all.uncertain = all.uncertain || s.uncertain
		all.passedOver = all.passedOver || !s.asideAt.IsZero()
		all.words = append(all.words, d.words...)
		all.conversing = all.conversing || len(d.words) > 0 || d.parentID() != "" || d.taskID() != "" || d.obliges() || d.publishes()
		if d.Name == "" {
			all.channels = append(all.channels, d.Channel)
		} else {
			all.byName = true
		}
		if !d.Privileged {
			all.names = append(all.names, d.Sender)
		}
		if message.IsAgent(d.Target) {
			all.names = append(all.names, d.Target)
		}
		if message.IsID(d.CorrelationID) {
			all.correlations = append(all.correlations, d.CorrelationID)
			all.names = append(all.names, w.hub.WaitingFor(wake.RequestTopic(d.CorrelationID))...)
		}
	}
	all.intentNos, all.channels = database.Distinct(all.intentNos), channels.DistinctKeys(all.channels)
	all.names, all.correlations = database.Distinct(all.names), database.Distinct(all.correlations)
	if len(all.words) > 0 {
		all.words = database.Distinct(all.words)
	}
	return all
}

// read locks the heads and, in later statements of the same round trip, reads what decides the drafts. It leaves out
// intents that another replica holds.
func (b *batch) read(w wants) error {
	lock, heads := intents.PrepareLock(b.tx, w.intentNos, true)
	presenceStatement, presences := agents.PreparePresences(b.tx, w.names)
	statements := []database.Statement{lock, intents.PrepareClock(b.tx), presenceStatement}
	if len(w.channels) > 0 {
		var countStatement database.Statement
		countStatement, b.counts = channels.PrepareCounts(b.tx, w.channels)
		statements = append(statements, countStatement)
	}
	statements = append(statements, b.readRequests(w.correlations)...)
	statements = append(statements, b.readKeys(w.intentNos)...)
	statements = append(statements, b.readFound()...)
	statements = append(statements, b.readExisting(w)...)
	statements = append(statements, b.readConversations(w)...)
	if err := b.tx.Pipeline(statements...); err != nil {
		return err
	}
	var err error
	b.presences, b.decidedBy = presences, w.names
	if b.heads, err = heads(); err != nil {
		return err
	}
	if err := b.readAddressees(); err != nil {
		return err
	}
	if err := b.readHandled(); err != nil {
		return err
	}
	if err := b.readRefused(); err != nil {
		return err
	}
	return b.readExact()
}

// readAddressees reads the records of the addressees of open requests, unless they are read already. They are missing when
// the operator answers a request to an agent, and for a request that is a parent.
func (b *batch) readAddressees() error {
	names := addressees(b.requests, b.decidedBy)
	if len(b.parents) > 0 {
		names = database.Distinct(append(names, addressees(b.parents, b.decidedBy)...))
	}
	presences, err := agents.LoadPresences(b.tx, names)
	maps.Copy(b.presences, presences)
	b.decidedBy = append(b.decidedBy, names...)
	return err
}

// addressees returns the agents to which requests are open, except for the others.
func addressees[K comparable](requests map[K]*message.Message, others []string) []string {
	var names []string
	for _, m := range requests {
		if m.Open && message.IsAgent(m.Target) && !slices.Contains(others, m.Target) {
			names = append(names, m.Target)
		}
	}
	return database.Distinct(names)
}

func (b *batch) readRequests(ids []string) []database.Statement {
	if len(ids) == 0 {
		return nil
	}
	inIDs, idArgument := b.tx.In("m.id", ids)
	return []database.Statement{{
		SQL:  "SELECT " + message.FactColumns + " FROM messages m WHERE " + inIDs,
		Args: message.ViewedBy("", idArgument),
		Scan: func(row database.Row) error {
			m, err := message.ScanFacts(row)
			if err == nil {
				b.requests[m.ID] = m
			}
			return err
		},
	}}
}

// readFound looks for the batch's own messages that an attempt with an unknown outcome may have stored.
func (b *batch) readFound() []database.Statement {
	var ids []string
	for _, s := range b.submissions {
		if s.uncertain {
			ids = append(ids, s.draft.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	inIDs, argument := b.tx.In("m.id", ids)
	return []database.Statement{{
		SQL:  "SELECT " + message.Columns + " FROM messages m WHERE " + inIDs,
		Args: message.ViewedBy("", argument),
		Scan: func(row database.Row) error {
			m, err := message.Scan(row)
			if err == nil {
				b.found[m.ID] = m
			}
			return err
		},
	}}
}

// readExisting finds out which of the intents exist, when some could not be locked before. Another replica may hold such an
// intent, or the intent may be gone because the database was restored.
func (b *batch) readExisting(w wants) []database.Statement {
	if !w.passedOver {
		return nil
	}
	var statement database.Statement
	b.existing, statement = intents.PrepareStates(b.tx, w.intentNos)
	return []database.Statement{statement}
}
