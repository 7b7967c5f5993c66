package messaging

import (
	"bytes"
	"cmp"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"time"

	"openintent/agents"
	"openintent/channels"
	"openintent/database"
	"openintent/fault"
	"openintent/intents"
)

// keyLifetime is how long idempotency keys are remembered.
const keyLifetime = 24 * time.Hour

// batch is one transaction of the writer, in two round trips: lock and read, then decide and write.
type batch struct {
	*writer
	tx          *database.Tx
	submissions []*submission

	heads     intents.Heads
	counts    map[channels.Key]*channels.Count
	presences map[string]agents.Presence
	// named are the agents whose records were read, in order: who is not among the presences has none.
	named    []string
	requests map[string]*Message
	keys     map[keyPlace]keyRecord
	// found holds messages of an earlier attempt whose commit succeeded after all.
	found map[string]*Message

	appender   *appender
	outcomes   []outcome
	passedOver []*submission
	wakes      map[any]struct{}
}

// keyPlace is where an idempotency key is unique.
type keyPlace struct {
	intentNo           int64
	sender, scope, key string
}

// keyRecord is what is remembered of the message first sent under a key.
type keyRecord struct {
	fingerprint []byte
	position    int64
	channelID   string
	messageID   string
	target      string
	createdAt   time.Time
}

func newBatch(w *writer, tx *database.Tx, submissions []*submission) *batch {
	return &batch{
		writer: w, tx: tx, submissions: submissions,
		requests: make(map[string]*Message), keys: make(map[keyPlace]keyRecord), found: make(map[string]*Message),
		outcomes: make([]outcome, len(submissions)), wakes: make(map[any]struct{}),
	}
}

func (b *batch) run() error {
	if err := b.read(); err != nil {
		return err
	}
	b.appender = newAppender(b.tx, b.counts, b.audiences)
	var passedOver []*submission
	for i, s := range b.submissions {
		head := b.heads.Get(s.draft.intentNo)
		if head == nil {
			passedOver = append(passedOver, s)
			continue
		}
		out, err := b.decide(head, s.draft)
		if err != nil {
			return err
		}
		b.outcomes[i] = out
	}
	b.passedOver = passedOver
	for _, topic := range b.appender.reached.topics() {
		b.wakes[topic] = struct{}{}
	}
	b.tx.SendWithCommit(b.appender.statements()...)
	b.tx.SendWithCommit(b.heads.Statements()...)
	return nil
}

// topics are those of whom the batch concerns.
func (b *batch) topics() []any { return slices.Collect(maps.Keys(b.wakes)) }

// deliver tells the senders, after the commit.
func (b *batch) deliver() {
	b.audiences.learn(b.appender.reached)
	for i, s := range b.submissions {
		if !slices.Contains(b.passedOver, s) {
			s.done <- b.outcomes[i]
		}
	}
}

// read locks the heads and, in later statements of the same round trip, reads what the drafts are decided by. A batch
// over several intents leaves out those that another replica holds.
func (b *batch) read() error {
	var intentNos []int64
	var keys []channels.Key
	var names, correlations []string
	for _, s := range b.submissions {
		d := s.draft
		intentNos = append(intentNos, d.intentNo)
		if d.name == "" {
			keys = append(keys, d.channel)
		}
		if !d.privileged {
			names = append(names, d.sender)
		}
		if isAgent(d.target) {
			names = append(names, d.target)
		}
		if messageIDForm.MatchString(d.correlationID) {
			correlations = append(correlations, d.correlationID)
			names = append(names, b.hub.waitingFor(requestTopic(d.correlationID))...)
		}
	}
	intentNos, names = distinct(intentNos), distinct(names)
	lock, heads := intents.PrepareLock(b.tx, intentNos, len(intentNos) > 1)
	presenceStatement, presences := agents.PreparePresences(b.tx, names)
	statements := []database.Statement{lock, intents.PrepareClock(b.tx), presenceStatement}
	b.counts = make(map[channels.Key]*channels.Count)
	if len(keys) > 0 {
		var countStatement database.Statement
		countStatement, b.counts = channels.PrepareCounts(b.tx, distinctKeys(keys))
		statements = append(statements, countStatement)
	}
	statements = append(statements, b.readRequests(distinct(correlations))...)
	statements = append(statements, b.readKeys(intentNos)...)
	statements = append(statements, b.readFound()...)
	if err := b.tx.Pipeline(statements...); err != nil {
		return err
	}
	var err error
	b.presences, b.named = presences, names
	if b.heads, err = heads(); err != nil {
		return err
	}
	return b.readAddressees()
}

// readAddressees reads the records of open requests' addressees that are not in the batch already: when a request to one
// agent is answered by another, the operator.
func (b *batch) readAddressees() error {
	var names []string
	for _, m := range b.requests {
		if _, known := b.presences[m.Target]; m.Open && isAgent(m.Target) && !known {
			names = append(names, m.Target)
		}
	}
	presences, err := agents.LoadPresences(b.tx, distinct(names))
	maps.Copy(b.presences, presences)
	return err
}

func (b *batch) readRequests(ids []string) []database.Statement {
	if len(ids) == 0 {
		return nil
	}
	inIDs, idArgument := b.tx.In("m.id", ids)
	return []database.Statement{{
		SQL:  "SELECT " + factColumns + " FROM messages m WHERE " + inIDs,
		Args: []any{"", idArgument},
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
	inSenders, senderArgument := b.tx.In("sender", distinct(senders))
	inScopes, scopeArgument := b.tx.In("scope", distinct(scopes))
	inKeys, keyArgument := b.tx.In("key", distinct(keys))
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
		Args: []any{"", argument},
		Scan: func(row database.Row) error {
			m, err := scanMessage(row)
			if err == nil {
				b.found[m.ID] = m
			}
			return err
		},
	}}
}

// decide brings one draft to its outcome. The returned error is the transaction's; a refusal is an outcome.
func (b *batch) decide(head *intents.Head, d *draft) (outcome, error) {
	m, replayed, err := b.place(head, d)
	var refusal *fault.Fault
	switch {
	case errors.As(err, &refusal):
		return outcome{err: refusal}, nil
	case err != nil:
		return outcome{}, err
	case !replayed:
		b.wake(m)
	}
	return outcome{message: m, replayed: replayed}, nil
}

// place stores the draft, or finds what was stored for it before.
func (b *batch) place(head *intents.Head, d *draft) (m *Message, replayed bool, err error) {
	if m := b.found[d.id]; m != nil {
		m.ChannelID, err = b.channelID(head, m.ChannelNo)
		return m, false, err
	}
	place := keyPlace{d.intentNo, d.sender, d.scope(), d.key}
	record, known := b.keys[place]
	if known && head.Now().Sub(record.createdAt) < keyLifetime {
		m, err := b.replay(head, d, record)
		return m, true, err
	}
	channel, err := b.admit(head, d)
	if err != nil {
		return nil, false, err
	}
	if known {
		b.appender.forget(place)
	}
	m, err = b.appender.add(head, channel, b.request(d), d)
	if err == nil && d.key != "" {
		b.keys[place] = recordOf(d, m)
	}
	return m, false, err
}

// admit finds the draft's channel and applies the rules.
func (b *batch) admit(head *intents.Head, d *draft) (*channels.Rules, error) {
	access, err := b.intents.Rules(b.tx, head.IntentNo, head.Epoch)
	if err != nil {
		return nil, err
	}
	s := situation{head: head, access: access, presences: b.presences, request: b.request(d), now: head.Now()}
	if d.name != "" {
		s.channel, err = b.channelByName(d, s)
	} else {
		s.channel, err = b.channels.Rules(b.tx, d.channel, head.Epoch)
	}
	if err != nil {
		return nil, err
	}
	s.count = *b.counts[s.channel.Key]
	return s.channel, admit(d, s)
}

// channelByName finds the intent's open channel of the draft's name, or makes it (RFC-0021 section 1.4). It is made last,
// so that a refused message makes none.
func (b *batch) channelByName(d *draft, s situation) (*channels.Rules, error) {
	if err := s.access.Require(d.by, d.sender, intents.PermissionRead, s.now); err != nil {
		return nil, err
	}
	if s.head.Ended() {
		return nil, errIntentEnded
	}
	channel, err := b.channels.FindOpenByName(b.tx, s.head, d.name, b.counts)
	if err != nil {
		return nil, err
	}
	if channel != nil {
		return channel, nil
	}
	if d.messageType == TypeResponse {
		return nil, d.unknownRequest()
	}
	if err := admitExpiry(d, s.now); err != nil {
		return nil, err
	}
	channel, err = b.channels.CreateImplicit(b.tx, s.head, d.name, d.sender)
	if err == nil {
		b.counts[channel.Key] = &channels.Count{}
	}
	return channel, err
}

// request gives what the draft's correlation id names.
func (b *batch) request(d *draft) *Message {
	m := b.requests[d.correlationID]
	if m != nil && m.Open && isAgent(m.Target) {
		m.Abandoned = !m.CreatedAt.After(b.presences[m.Target].DepartedAt)
	}
	return m
}

// replay gives the message that was first sent under the draft's key, as it was answered then: the retry carries the same
// content, so nothing of it need be kept.
func (b *batch) replay(head *intents.Head, d *draft, record keyRecord) (*Message, error) {
	if !bytes.Equal(record.fingerprint, d.fingerprint[:]) {
		return nil, errKeyReused
	}
	return &Message{
		IntentNo: head.IntentNo, Position: record.position,
		ID: record.messageID, ChannelID: record.channelID, Sender: d.sender, Target: record.target, Type: d.messageType,
		CorrelationID: d.correlationID, Payload: d.payload.OrEmpty(), Metadata: d.metadata.OrEmpty(),
		CreatedAt: record.createdAt, ExpiresAt: d.expiry(record.createdAt), Open: d.messageType == TypeRequest,
	}, nil
}

func recordOf(d *draft, m *Message) keyRecord {
	return keyRecord{
		fingerprint: d.fingerprint[:], position: m.Position, channelID: m.ChannelID,
		messageID: m.ID, target: m.Target, createdAt: m.CreatedAt,
	}
}

func (b *batch) channelID(head *intents.Head, channelNo int64) (string, error) {
	channel, err := b.channels.Rules(b.tx, channels.Key{IntentNo: head.IntentNo, ChannelNo: channelNo}, head.Epoch)
	if err != nil {
		return "", err
	}
	return channel.ID, nil
}

// wake notes whom the message concerns: followers of its channel and, for a response, who waits for it.
func (b *batch) wake(m *Message) {
	b.wakes[channels.Key{IntentNo: m.IntentNo, ChannelNo: m.ChannelNo}] = struct{}{}
	if m.CorrelationID != "" {
		b.wakes[requestTopic(m.CorrelationID)] = struct{}{}
	}
}

func distinct[T cmp.Ordered](values []T) []T {
	slices.Sort(values)
	return slices.Compact(values)
}

func distinctKeys(keys []channels.Key) []channels.Key {
	slices.SortFunc(keys, func(a, b channels.Key) int {
		return cmp.Or(cmp.Compare(a.IntentNo, b.IntentNo), cmp.Compare(a.ChannelNo, b.ChannelNo))
	})
	return slices.Compact(keys)
}
