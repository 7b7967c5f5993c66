package writing

import (
	"errors"
	"slices"

	"openintent/agents"
	"openintent/channels"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging/claim"
	"openintent/messaging/message"
	"openintent/messaging/wake"
	"openintent/tasks"
)

var (
	// errRefusedAtOnce means that one of the drafts is refused by what is cached.
	errRefusedAtOnce = errors.New("a batch with a refusal is not stored in one round trip")
	// errDoubtful means that the heads are cached, but not all that is needed beside them is certain.
	errDoubtful = errors.New("a batch about which something is in doubt is not stored in one round trip")
)

// batch is one transaction of the writer. It takes one round trip when everything that decides the drafts is cached.
// Otherwise it takes two: lock and read, then decide and write.
type batch struct {
	*Writer
	tx          *database.Tx
	submissions []*submission

	heads intents.Heads
	// began are the heads as the batch found them.
	began     map[int64]intents.Head
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
	// annotated are the channels with annotations of this batch. What the batch stored there is not handed over, because a handover
	// holds no annotations.
	annotated map[channels.Key]struct{}
	keys      map[keyPlace]keyRecord
	// parents, tasks and book hold what decides the drafts' conversations. They are nil unless a draft needs them.
	parents map[sighting]*message.Message
	tasks   map[tasks.Ref]struct{}
	book    *addressBook
	// owed counts the open obligations of authors who give another one; nil if nobody does.
	owed map[authored]int
	// documents are those of the channels for which there is a draft of one; nil if there is none.
	documents map[channels.Key]documents
	// found holds messages of an earlier attempt whose commit succeeded after all.
	found map[string]*message.Message
	// reached are those of the messages' audiences that were read and are stored.
	reached audienceBatch
	// bytes are what the batch adds to the intents; nil if that is not bounded.
	bytes map[int64]int64
	// existing are the intents that exist. It is nil when nobody has asked for that.
	existing *[]intents.State

	// atOnce is true when the batch is decided by the cache and takes one round trip.
	atOnce     bool
	appender   *appender
	outcomes   []Outcome
	passedOver []*submission
	wakes      map[any]struct{}
}

func newBatch(w *Writer, tx *database.Tx, submissions []*submission) *batch {
	return &batch{
		Writer: w, tx: tx, submissions: submissions,
		began: make(map[int64]intents.Head), counts: make(map[channels.Key]*channels.Count),
		requests: make(map[string]*message.Message), keys: make(map[keyPlace]keyRecord), found: make(map[string]*message.Message),
		outcomes: make([]Outcome, len(submissions)), wakes: make(map[any]struct{}), annotated: make(map[channels.Key]struct{}),
	}
}

// run locks the intents, reads what decides the drafts, decides and stores.
func (b *batch) run(w wants) error {
	if err := b.read(w); err != nil {
		return err
	}
	if err := b.decideAll(); err != nil {
		return err
	}
	b.tx.SendWithCommit(b.appender.statements()...)
	b.tx.SendWithCommit(b.heads.Statements()...)
	return nil
}

// runAtOnce decides by what is cached and, in one round trip, stores what was decided if that is still true. It stores
// every draft or none: no draft may be refused because of something that is no longer true.
func (b *batch) runAtOnce(recalled cachedState) error {
	b.atOnce = true
	b.counts, b.requests = recalled.counts, recalled.requests
	b.presences, b.decidedBy = recalled.presences, recalled.decidedBy
	b.heads = intents.Expect(b.tx, recalled.heads...)
	if err := b.decideAll(); err != nil {
		return err
	}
	for _, out := range b.outcomes {
		if out.Err != nil {
			return errRefusedAtOnce
		}
	}
	b.tx.SendWithCommit(b.heads.Statements()...) // first, because this takes the locks
	b.tx.SendWithCommit(agents.RefuseChanged(b.tx, b.decidedBy, b.presences)...)
	b.tx.SendWithCommit(b.appender.statements()...)
	return nil
}

// decideAll decides every draft whose intent is locked, and notes whom the batch affects.
func (b *batch) decideAll() error {
	for _, head := range b.heads {
		b.began[head.IntentNo] = head.Copy()
	}
	b.appender = newAppender(b.tx, b.counts, b.audiences)
	b.brakes.takeBack()
	for i, s := range b.submissions {
		head := b.heads.Get(s.draft.IntentNo)
		if head == nil && b.mayExist(s.draft.IntentNo) {
			b.passedOver = append(b.passedOver, s)
			continue
		}
		if head == nil {
			b.outcomes[i].Err = intents.ErrIntentNotFound
			continue
		}
		out, err := b.decide(head, s.draft)
		if err != nil {
			return err
		}
		b.outcomes[i] = out
	}
	if err := b.settleAudiences(); err != nil {
		return err
	}
	for _, topic := range b.appender.reached.topics() {
		b.wakes[topic] = struct{}{}
	}
	for _, head := range b.heads {
		if head.TellAbove() { // the wake-up hands over what made the log longer
			b.wakes[wake.FeedTopic(head.IntentNo)] = struct{}{}
		}
	}
	return nil
}

// mayExist reports whether an intent that could not be locked may exist and be held by another replica.
func (b *batch) mayExist(intentNo int64) bool {
	return b.existing == nil ||
		slices.ContainsFunc(*b.existing, func(state intents.State) bool { return state.IntentNo == intentNo })
}

// deliver tells the senders what became of their drafts, after the commit.
func (b *batch) deliver() {
	b.audiences.learn(b.heads, b.began, b.appender.reached, b.reached)
	b.cache.learn(b)
	b.brakes.keep()
	for no, bytes := range b.bytes {
		b.intents.Usage().Add(no, bytes)
	}
	passedOver := b.passedOver
	for i, s := range b.submissions {
		if len(passedOver) > 0 && passedOver[0] == s {
			passedOver = passedOver[1:]
			continue
		}
		s.draft.charge(b.outcomes[i])
		s.end(b.outcomes[i])
	}
}

// decide brings one draft to its outcome. The error it returns fails the transaction; a refusal is an outcome.
func (b *batch) decide(head *intents.Head, d *Draft) (Outcome, error) {
	m, replayed, err := b.place(head, d)
	var refusal *fault.Fault
	switch {
	case errors.As(err, &refusal):
		return Outcome{Err: refusal}, nil
	case err != nil:
		return Outcome{}, err
	case !replayed:
		b.wake(m)
	}
	return Outcome{Message: m, replayed: replayed}, nil
}

// place stores the draft, or finds what was stored for it before: by an attempt whose outcome was unknown, or under the
// same idempotency key (idempotency.go).
func (b *batch) place(head *intents.Head, d *Draft) (m *message.Message, replayed bool, err error) {
	if m := b.found[d.ID]; m != nil {
		m.ChannelID, err = b.channelID(head, m.ChannelNo)
		return m, false, err
	}
	place := keyPlace{d.IntentNo, d.Sender, d.Scope(), d.Key}
	record, known := b.keys[place]
	if known && head.Now().Sub(record.createdAt) < KeyLifetime {
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
	if d.MessageType == message.TypeRequest {
		head.Follow(b.presences[d.Target].DepartedAt) // a request that the departure does not end has a time after it
	}
	d.audited = channel.Audit
	agents := b.brake(head, channel, d)
	m, err = b.appender.add(head, channel, b.request(d), d)
	if err == nil {
		err = b.noteAnswer(head, channel, d)
	}
	if err == nil && d.publishes() {
		b.publish(m, d.By.KeyID)
	}
	if err == nil && agents != nil {
		err = b.tellOfBrake(head, channel, m, agents)
	}
	if err == nil && d.Key != "" {
		b.keys[place] = recordOf(d, m)
	}
	return m, false, err
}

// admit finds the draft's channel and applies the rules.
func (b *batch) admit(head *intents.Head, d *Draft) (*channels.Rules, error) {
	access, err := b.intents.Rules(b.tx, head.IntentNo, head.Epoch)
	if err != nil {
		return nil, err
	}
	s := situation{head: head, access: access, presences: b.presences, request: b.asSeen(d), book: b.book, now: head.Now()}
	if d.given != nil {
		s.parent = b.parentOf(d)
		s.owed = b.owedTo(d)
		s.documents = b.documents[d.Channel]
		_, s.taskFound = b.tasks[tasks.Ref{IntentNo: d.IntentNo, ID: d.taskID()}]
	}
	if s.refused, err = b.refuses(d); err != nil {
		return nil, err
	}
	if d.Name != "" {
		s.channel, err = b.channelByName(d, s)
	} else {
		s.channel, err = b.channels.Rules(b.tx, d.Channel, head.Epoch)
	}
	if err != nil {
		return nil, err
	}
	s.count = *b.counts[s.channel.Key]
	if err := admit(d, s); err != nil {
		return nil, err
	}
	if err := b.refuseInexact(d); err != nil {
		return nil, err
	}
	if err := b.makeRoom(d, s.channel.Audit); err != nil {
		return nil, err
	}
	if d.publishes() && !s.documentExists(d) {
		return s.channel, b.intents.Stock().Take(b.tx, d.By.KeyID, StockKind.Name)
	}
	return s.channel, nil
}

// makeRoom refuses a draft for which its intent has no room. The answer to a request ends something.
func (b *batch) makeRoom(d *Draft, audited bool) error {
	usage := b.intents.Usage()
	if !usage.Bounded() {
		return nil
	}
	bytes := b.bytes[d.IntentNo] + int64(d.contentBytes())
	if audited {
		bytes += int64(d.contentBytes()) // the log's copy
	}
	if err := usage.Room(d.IntentNo, bytes, d.MessageType == message.TypeResponse); err != nil {
		return err
	}
	if b.bytes == nil {
		b.bytes = make(map[int64]int64)
	}
	b.bytes[d.IntentNo] = bytes
	return nil
}

// asSeen returns the message that the draft's correlation id names, as the draft's sender sees it.
func (b *batch) asSeen(d *Draft) *message.Message {
	m := b.request(d)
	if _, handled := b.handled[handling{d.CorrelationID, d.Sender}]; handled {
		seen := *m
		seen.AnsweredByViewer = true
		return &seen
	}
	return m
}

// request returns the message that the draft's correlation id names.
func (b *batch) request(d *Draft) *message.Message {
	m := b.requests[d.CorrelationID]
	if m != nil {
		m.Abandoned = m.AbandonedBy(b.presences[m.Target])
	}
	return m
}

func (b *batch) channelID(head *intents.Head, channelNo int64) (string, error) {
	channel, err := b.channels.Rules(b.tx, channels.Key{IntentNo: head.IntentNo, ChannelNo: channelNo}, head.Epoch)
	if err != nil {
		return "", err
	}
	return channel.ID, nil
}
