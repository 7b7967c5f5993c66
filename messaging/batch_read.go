package messaging

import (
	"database/sql"
	"maps"
	"slices"

	"openintent/agents"
	"openintent/channels"
	"openintent/database"
	"openintent/intents"
)

// wants is what a batch's drafts are decided by, each listed once.
type wants struct {
	intentNos           []int64
	channels            []channels.Key
	names, correlations []string
	// byName is true when a draft names its channel, which is to be found; uncertain, when one may be stored already;
	// passedOver, when the intents' locks were not to be had before.
	byName, uncertain, passedOver bool
}

func (w *writer) wants(submissions []*submission) wants {
	var all wants
	for _, s := range submissions {
		d := s.draft
		all.intentNos = append(all.intentNos, d.intentNo)
		all.uncertain = all.uncertain || s.uncertain
		all.passedOver = all.passedOver || !s.asideAt.IsZero()
		if d.name == "" {
			all.channels = append(all.channels, d.channel)
		} else {
			all.byName = true
		}
		if !d.privileged {
			all.names = append(all.names, d.sender)
		}
		if isAgent(d.target) {
			all.names = append(all.names, d.target)
		}
		if isMessageID(d.correlationID) {
			all.correlations = append(all.correlations, d.correlationID)
			all.names = append(all.names, w.hub.waitingFor(requestTopic(d.correlationID))...)
		}
	}
	all.intentNos, all.channels = database.Distinct(all.intentNos), channels.DistinctKeys(all.channels)
	all.names, all.correlations = database.Distinct(all.names), database.Distinct(all.correlations)
	return all
}

// read locks the heads and, in later statements of the same round trip, reads what the drafts are decided by. It leaves out
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
	return b.readHandled()
}

// readAddressees reads the records of open requests' addressees that are not among those decided by already: when a request
// to one agent is answered by another, the operator.
func (b *batch) readAddressees() error {
	names := addressees(b.requests, b.decidedBy)
	presences, err := agents.LoadPresences(b.tx, names)
	maps.Copy(b.presences, presences)
	b.decidedBy = append(b.decidedBy, names...)
	return err
}

// addressees are the agents with open requests to them that are not among the others.
func addressees(requests map[string]*Message, others []string) []string {
	var names []string
	for _, m := range requests {
		if m.Open && isAgent(m.Target) && !slices.Contains(others, m.Target) {
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
		SQL:  "SELECT " + factColumns + " FROM messages m WHERE " + inIDs,
		Args: viewedBy("", idArgument),
		Scan: func(row database.Row) error {
			m, err := scanFacts(row)
			if err == nil {
				b.requests[m.ID] = m
			}
			return err
		},
	}}
}

// readKeys reads what is known of the drafts' idempotency keys. The sets are wider than the wanted combinations; the map
// is asked for those.
func (b *batch) readKeys(intentNos []int64) []database.Statement {
	var senders, scopes, keys []string
	for _, s := range b.submissions {
		if s.draft.key != "" {
			senders, scopes = append(senders, s.draft.sender), append(scopes, s.draft.scope())
			keys = append(keys, s.draft.key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	inIntents, intentArgument := b.tx.In("intent_no", intentNos)
	inSenders, senderArgument := b.tx.In("sender", database.Distinct(senders))
	inScopes, scopeArgument := b.tx.In("scope", database.Distinct(scopes))
	inKeys, keyArgument := b.tx.In("key", database.Distinct(keys))
	return []database.Statement{{
		SQL: "SELECT intent_no, sender, scope, key, fingerprint, position, channel_id, message_id, target, created_at" +
			" FROM idempotency_keys WHERE " + inIntents + " AND " + inSenders + " AND " + inScopes + " AND " + inKeys,
		Args: []any{intentArgument, senderArgument, scopeArgument, keyArgument},
		Scan: b.scanKey,
	}}
}

func (b *batch) scanKey(row database.Row) error {
	var place keyPlace
	var record keyRecord
	var target sql.NullString
	var createdAt int64
	err := row.Scan(&place.intentNo, &place.sender, &place.scope, &place.key, &record.fingerprint, &record.position,
		&record.channelID, &record.messageID, &target, &createdAt)
	if err != nil {
		return err
	}
	record.target, record.createdAt = target.String, database.Time(createdAt)
	b.keys[place] = record
	return nil
}

// readFound looks for the batch's own messages of which an attempt with an unknown outcome may have stored some.
func (b *batch) readFound() []database.Statement {
	var ids []string
	for _, s := range b.submissions {
		if s.uncertain {
			ids = append(ids, s.draft.id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	inIDs, argument := b.tx.In("m.id", ids)
	return []database.Statement{{
		SQL:  "SELECT " + messageColumns + " FROM messages m WHERE " + inIDs,
		Args: viewedBy("", argument),
		Scan: func(row database.Row) error {
			m, err := scanMessage(row)
			if err == nil {
				b.found[m.ID] = m
			}
			return err
		},
	}}
}

// readExisting finds out which of the intents exist, when some were left out before: one may be held, or may be gone with a
// database that was restored.
func (b *batch) readExisting(w wants) []database.Statement {
	if !w.passedOver {
		return nil
	}
	var statement database.Statement
	b.existing, statement = intents.PrepareStates(b.tx, w.intentNos)
	return []database.Statement{statement}
}
