package writing

import (
	"maps"
	"slices"

	"openintent/agents"
	"openintent/channels"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging/claim"
	"openintent/messaging/message"
	"openintent/messaging/wake"
	"openintent/tasks"
)

// state is all by which the drafts of a batch are decided. It is known before the first decision: the cache remembers all of it
// (Writer.remember), or the database is asked (batch.read). It holds under the locks of the heads.
type state struct {
	// remembered is true if the state is a guess of the cache. expected are the heads as the cache has them; the commit takes their locks.
	remembered bool
	expected   []intents.Head
	// generations are those of the expected heads.
	generations map[int64]int64

	heads intents.Heads
	// access has the rules of the intents, and rules those of the channels that exist.
	access map[int64]*intents.Rules
	rules  map[channels.Key]*channels.Rules
	// named are the channels that drafts give by name, if there is an open one of the name.
	named     map[channels.Named]channels.Key
	counts    map[channels.Key]*channels.Count
	presences map[string]agents.Presence
	// decidedBy are the agents whose presences, or lack of one, decide the drafts.
	decidedBy []string
	requests  map[string]*message.Message
	// refusals say which of the drafts' senders are refused. It is nil unless an addressee refuses somebody.
	refusals map[agents.RefusedPair]refusal
	// handled are requests to a role that an agent has read or answered although it took the role later.
	handled map[handling]struct{}
	// exact are the answers to requests that take an exact number, by the requests' ids.
	exact map[string]*claim.Answers
	keys  map[keyPlace]keyRecord
	// parents, tasks and book hold what decides the drafts' conversations. They are nil unless a draft needs them.
	parents map[sighting]*message.Message
	tasks   map[tasks.Ref]struct{}
	book    *addressBook
	// owed counts the open obligations of authors who give another one; nil if nobody does.
	owed map[authored]int
	// documents are those of the channels for which there is a draft of one; nil if there is none.
	documents map[channels.Key]documents
	// crowds are those in the places of the batch's turns, if the batch reads; nil without any.
	crowds map[intentPlace]*keptPlace
	// found holds messages of an earlier attempt whose commit succeeded after all.
	found map[string]*message.Message
	// existing are the intents that exist. It is nil when nobody has asked for that.
	existing *[]intents.State
}

// wants lists what decides a batch's drafts, each thing once.
type wants struct {
	intentNos           []int64
	channels            []channels.Key
	byName              []channels.Named
	names, correlations []string
	// uncertain is true when a draft may be stored already. passedOver is true when an intent could not be locked before.
	uncertain, passedOver bool
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
			all.byName = append(all.byName, channels.Named{IntentNo: d.IntentNo, Name: d.Name})
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

// remember returns the state that decides the drafts, if all of it is cached.
func (w *Writer) remember(all wants, submissions []*submission) (s state, ok bool) {
	if s, ok = w.cache.recall(all); !ok {
		return s, false
	}
	s.access = make(map[int64]*intents.Rules, len(s.expected))
	s.rules = make(map[channels.Key]*channels.Rules, len(all.channels))
	for _, head := range s.expected {
		if s.access[head.IntentNo], ok = w.intents.KeptRules(head.IntentNo, head.Epoch); !ok {
			return s, false
		}
	}
	head := 0 // both lists are sorted by intents
	for _, key := range all.channels {
		for s.expected[head].IntentNo != key.IntentNo {
			head++
		}
		if s.rules[key], ok = w.channels.KeptRules(key, s.expected[head].Epoch); !ok {
			return s, false
		}
	}
	return s, w.cache.recallRefusals(&s, submissions)
}

// read locks the heads and, in later statements of the same round trip, reads what decides the drafts. It leaves out
// intents that another replica holds.
func (b *batch) read(w wants) error {
	b.requests, b.found = make(map[string]*message.Message), make(map[string]*message.Message)
	lock, heads := intents.PrepareLock(b.tx, w.intentNos, true)
	presenceStatement, presences := agents.PreparePresences(b.tx, w.names)
	statements := []database.Statement{lock, intents.PrepareClock(b.tx), presenceStatement}
	statements = append(statements, b.readCounts(w)...)
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
	for _, further := range []func() error{
		func() error { return b.readRules(w) }, b.readAddressees, b.readHandled, b.readRefused, b.readExact, b.readCrowds,
	} {
		if err := further(); err != nil {
			return err
		}
	}
	return nil
}

// readCounts returns the statements that read the counts of the drafts' channels, and find those that drafts give by name.
func (b *batch) readCounts(w wants) (statements []database.Statement) {
	b.counts = make(map[channels.Key]*channels.Count)
	if len(w.channels) > 0 {
		var read database.Statement
		read, b.counts = channels.PrepareCounts(b.tx, w.channels)
		statements = append(statements, read)
	}
	if len(w.byName) > 0 {
		var find database.Statement
		find, b.named = channels.PrepareOpenByName(b.tx, w.byName, b.counts)
		statements = append(statements, find)
	}
	return statements
}

// readRules reads the rules of the locked intents, and of their channels that drafts or messages of an earlier attempt are in. Most of them
// are cached as of the heads' epochs.
func (b *batch) readRules(w wants) (err error) {
	keys := slices.Clone(w.channels)
	for _, key := range b.named {
		keys = append(keys, key)
	}
	for _, m := range b.found {
		keys = append(keys, m.Key())
	}
	keys = slices.DeleteFunc(channels.DistinctKeys(keys), func(key channels.Key) bool { return b.heads.Get(key.IntentNo) == nil })
	if b.access, err = b.intents.AllRules(b.tx, b.heads); err == nil {
		b.rules, err = b.channels.AllRules(b.tx, keys, b.heads, b.access)
	}
	return err
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

// mayExist reports whether an intent that could not be locked may exist and be held by another replica.
func (s *state) mayExist(intentNo int64) bool {
	return s.existing == nil ||
		slices.ContainsFunc(*s.existing, func(state intents.State) bool { return state.IntentNo == intentNo })
}

// asSeen returns the message that the draft's correlation id names, as the draft's sender sees it.
func (s *state) asSeen(d *Draft) *message.Message {
	m := s.request(d)
	if _, handled := s.handled[handling{d.CorrelationID, d.Sender}]; handled {
		seen := *m
		seen.AnsweredByViewer = true
		return &seen
	}
	return m
}

// request returns the message that the draft's correlation id names.
func (s *state) request(d *Draft) *message.Message {
	m := s.requests[d.CorrelationID]
	if m != nil {
		m.Abandoned = m.AbandonedBy(s.presences[m.Target])
	}
	return m
}
