package intents

import (
	"cmp"
	"slices"
	"time"

	"openintent/database"
	"openintent/jsonvalue"
)

// Head is an intent's head inside one transaction: the sole source of its positions, event sequences, channel numbers
// and times. A head from Lock is the only one of its intent in the transaction and what it hands out is stored when the
// transaction commits. A head from ReadHead is a copy to decide by, and hands out nothing.
type Head struct {
	IntentNo int64
	IntentID string
	Status   Status
	// EndedAt is when a terminal status was reached; zero before.
	EndedAt time.Time
	// ResumedAt is when a suspension last ended; zero when none did. Channels' time to live starts afresh there.
	ResumedAt time.Time
	// LastPosition is the newest position handed out; LastAt is its time.
	LastPosition int64
	LastAt       time.Time
	// LastSequence is the newest event's place in the hash chain.
	LastSequence int64
	// Epoch grows with each change of access, assignment, coordinator, membership or channel; see
	// database.Further.
	Epoch int64
	// AudienceTag says as of which change the intent's audiences are. The room above keeps them and draws it (see
	// TagAudiences).
	AudienceTag int64

	lastChannel int64
	lastHash    string
	tag         int64    // drawn by each change that is stored
	ledger      *ledger  // where the transaction's clock is read; nil outside of one
	locked      bool     // by Lock, or to be by Expect; others hand out nothing
	expected    *mark    // what Expect takes the stored row for; nil if it was read under the lock
	pending     []*Event // logged, not yet stored
	dirty       bool     // differs from the stored row
	raised      bool     // this transaction raised the epoch
	grown       bool     // this transaction handed out positions
	named       []string // agents that this transaction came to name
}

// Now gives the time of the transaction's decisions about this intent, such as whether a deadline has passed: At the clock,
// as read once after locking.
func (h *Head) Now() time.Time {
	if h.ledger == nil {
		return h.LastAt
	}
	return h.At(h.ledger.clock())
}

// Ended tells whether the intent has reached a terminal status.
func (h *Head) Ended() bool { return h.Status.Terminal() }

// Locked tells whether the transaction holds the intent's lock, so that what follows from a decision may be stored.
func (h *Head) Locked() bool { return h.locked }

// Copy gives the head as it is now, to be kept beyond the transaction: a copy hands out nothing.
func (h *Head) Copy() Head {
	kept := *h
	kept.ledger, kept.expected, kept.pending, kept.named = nil, nil, nil, nil
	kept.locked, kept.dirty, kept.raised, kept.grown = false, false, false, false
	return kept
}

// Next hands out the next position of the intent's log and its time, which lies strictly after the one before. Such a time
// orders the log and decides nothing: where the clock was set back, it lies ahead of Now.
func (h *Head) Next() (position int64, at time.Time) {
	at = h.Tick()
	h.LastPosition++
	h.grown = true
	return h.LastPosition, at
}

// Tick hands out a time strictly after all before, as Next does, without a position: a channel closes after its last
// message and before whatever follows.
func (h *Head) Tick() time.Time {
	h.change()
	h.LastAt = later(h.ledger.clock(), h.LastAt.Add(time.Microsecond))
	return h.LastAt
}

// Follow makes the next time lie after another, which was handed out elsewhere and with which the next is to be compared.
func (h *Head) Follow(at time.Time) {
	if at.After(h.LastAt) {
		h.change()
		h.LastAt = at
	}
}

// Touch moves the head by the least step, so that nobody who expects it as it was (see Expect) decides by what has changed
// beside it. Whatever hands something out moves it anyway.
func (h *Head) Touch() {
	h.change()
	h.LastAt = h.LastAt.Add(time.Microsecond)
}

// NextChannel hands out the number of the intent's next channel (see database.Further).
func (h *Head) NextChannel() int64 {
	h.change()
	h.lastChannel = database.Further(h.lastChannel)
	return h.lastChannel
}

// RaiseEpoch tells everyone who keeps rules of this intent to read them again. Whoever changes access, assignments,
// coordinators, membership or channels calls it in the same transaction, right before or after, with no rules read in
// between: an EpochCache keeps those from one call to the next.
func (h *Head) RaiseEpoch() {
	h.change()
	h.Epoch = database.Further(h.Epoch)
	h.raised = true
}

// TagAudiences notes that the transaction adds to the intent's audiences.
func (h *Head) TagAudiences() {
	h.change()
	h.AudienceTag = database.Tag()
}

// Name notes that the intent comes to name agents (see PrepareNaming), or that the room above comes to list them there, so
// that those who wait for what reaches them hear of it.
func (h *Head) Name(agentIDs ...string) { h.named = append(h.named, agentIDs...) }

// EventDraft is an event before it has its place in a log.
type EventDraft struct {
	Type    string
	Actor   string
	Payload jsonvalue.Object // absent: {}
	// TraceID and ParentEventID are empty, and Proof absent, when unset; the hash then does not cover them.
	TraceID       string
	ParentEventID string
	Proof         jsonvalue.Object
}

// Log appends an event at the next position. It is stored when the transaction commits.
func (h *Head) Log(draft EventDraft) (*Event, error) {
	position, at := h.Next()
	return h.LogAt(position, at, draft)
}

// LogAt appends an event at a position that Next has handed out in this transaction: the audit copy of a message
// shares the message's position and time. Events are logged in the order of their positions, one for a position.
func (h *Head) LogAt(position int64, at time.Time, draft EventDraft) (*Event, error) {
	h.change()
	event := &Event{
		IntentNo:      h.IntentNo,
		Position:      position,
		ID:            newID(),
		IntentID:      h.IntentID,
		Type:          draft.Type,
		Actor:         draft.Actor,
		Payload:       draft.Payload.OrEmpty(),
		CreatedAt:     at,
		Sequence:      h.LastSequence + 1,
		PreviousHash:  h.lastHash,
		Proof:         draft.Proof,
		TraceID:       draft.TraceID,
		ParentEventID: draft.ParentEventID,
	}
	hash, err := event.computeHash()
	if err != nil {
		return nil, err
	}
	event.Hash = hash
	h.LastSequence, h.lastHash = event.Sequence, hash
	h.pending = append(h.pending, event)
	return event, nil
}

// become moves the intent to a status at the time of the event that says so.
func (h *Head) become(next Status, at time.Time) {
	h.change()
	if h.Status == StatusSuspended {
		h.ResumedAt = h.Now()
	}
	if next.Terminal() {
		h.EndedAt = at
	}
	h.Status = next
}

// change marks the head as differing from its row.
func (h *Head) change() {
	if !h.locked {
		panic("intents: a head that is not locked hands out nothing")
	}
	if !h.dirty {
		h.tag = database.Tag()
	}
	h.dirty = true
}

// Heads are the locked heads of some intents, in the order of their numbers.
type Heads []*Head

// Get finds the head of an intent; nil when it is not among these.
func (hs Heads) Get(intentNo int64) *Head {
	at, ok := slices.BinarySearchFunc(hs, intentNo, func(h *Head, no int64) int { return cmp.Compare(h.IntentNo, no) })
	if !ok {
		return nil
	}
	return hs[at]
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
