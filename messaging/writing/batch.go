package writing

import (
	"errors"

	"openintent/agents"
	"openintent/channels"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging/message"
	"openintent/messaging/wake"
	"openintent/tasks"
)

// errNeedsReading ends a transaction that was decided by a remembered state (decision.needsReading). It never leaves Writer.transact.
var errNeedsReading = errors.New("what is remembered does not suffice to decide the batch")

// batch is one transaction of the writer: it learns the state, decides each draft, stores what was decided, and tells. It takes one round
// trip if the state is remembered. Otherwise it takes two: lock and read, then decide and store.
type batch struct {
	*Writer
	tx          *database.Tx
	submissions []*submission
	state
	decision
}

// decision is what becomes of a batch's drafts.
type decision struct {
	// began are the heads as the batch found them.
	began    map[int64]intents.Head
	outcomes []Outcome
	// passedOver are the submissions whose intents could not be locked.
	passedOver []*submission
	// needsReading is true if a remembered state does not suffice: a refusal has to be certain, a row of an audience is in doubt,
	// nothing is known of what counts in a turn's place, or somebody has to be told of a brake.
	needsReading bool
	appender     *appender
	// stored are rows of audiences that the batch needs and has found in the database.
	stored audienceBatch
	// annotated are the channels with annotations of this batch. What the batch stored there is not handed over, because a handover
	// holds no annotations.
	annotated map[channels.Key]struct{}
	// bytes are what the batch adds to the intents; nil if that is not bounded.
	bytes map[int64]int64
	wakes map[any]struct{}
}

func newBatch(w *Writer, tx *database.Tx, submissions []*submission) *batch {
	return &batch{
		Writer: w, tx: tx, submissions: submissions,
		decision: decision{
			began: make(map[int64]intents.Head), outcomes: make([]Outcome, len(submissions)), wakes: make(map[any]struct{}),
		},
	}
}

// decideByMemory decides by the remembered state and registers with the commit what was decided, if that is still true. It stores every
// draft or none.
func (b *batch) decideByMemory(remembered state) error {
	b.state = remembered
	b.heads = intents.Expect(b.tx, b.expected...)
	if err := b.decideAll(); err != nil {
		return err
	}
	if b.needsReading {
		return errNeedsReading
	}
	b.tx.SendWithCommit(b.heads.Statements()...) // first, because this takes the locks
	b.tx.SendWithCommit(agents.RefuseChanged(b.tx, b.decidedBy, b.presences)...)
	b.tx.SendWithCommit(b.appender.statements()...)
	return nil
}

// decideByReading locks the intents, reads the state, decides, and registers with the commit what was decided.
func (b *batch) decideByReading(all wants) error {
	if err := b.read(all); err != nil {
		return err
	}
	if err := b.decideAll(); err != nil {
		return err
	}
	b.tx.SendWithCommit(b.appender.statements()...)
	b.tx.SendWithCommit(b.heads.Statements()...)
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
		if b.remembered && out.Err != nil {
			b.needsReading = true
		}
		if b.needsReading {
			return nil
		}
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

// deliver tells the senders what became of their drafts, after the commit.
func (b *batch) deliver() {
	b.audiences.learn(b.heads, b.began, b.appender.reached, b.stored)
	b.cache.learn(b)
	b.keepCrowds()
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
		channel, err := b.channel(m.Key())
		if err != nil {
			return nil, false, err
		}
		m.ChannelID = channel.ID
		return m, false, nil
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
	b.noteTurn(head, channel, d)
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
		b.noteKey(place, recordOf(d, m))
	}
	return m, false, err
}

// admit finds the draft's channel and applies the rules.
func (b *batch) admit(head *intents.Head, d *Draft) (*channels.Rules, error) {
	access := b.access[head.IntentNo]
	if access == nil {
		return nil, intents.ErrIntentNotFound
	}
	s := situation{
		head: head, access: access, presences: b.presences, refused: b.refuses(d), request: b.asSeen(d), book: b.book, now: head.Now(),
	}
	if d.given != nil {
		s.parent = b.parentOf(d)
		s.owed = b.owedTo(d)
		s.documents = b.documents[d.Channel]
		_, s.taskFound = b.tasks[tasks.Ref{IntentNo: d.IntentNo, ID: d.taskID()}]
	}
	var err error
	if d.Name != "" {
		s.channel, err = b.channelByName(d, s)
	} else {
		s.channel, err = b.channel(d.Channel)
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
	if err := b.heedBudget(head, s.channel, d); err != nil {
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
