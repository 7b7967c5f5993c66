package intents

import (
	"cmp"
	"slices"
	"time"

	"openintent/internal/database"
	"openintent/internal/jsonvalue"
)

// Head is an intent's head inside one transaction: the sole source of the intent's positions, event sequences, channel numbers
// and times. A head from Lock is the only one of its intent in the transaction, and the commit stores what it has handed out.
// A head from ReadHead is a copy to decide by, and hands out nothing.
type Head struct {
	IntentNo int64
	IntentID string
	Status   Status
	// EndedAt is when the intent reached a terminal status; zero before.
	EndedAt time.Time
	// ResumedAt is when a suspension last ended; zero if none did. The channels' time to live starts again at that time.
	ResumedAt time.Time
	// LastPosition is the newest position handed out; LastAt is its time.
	LastPosition int64
	LastAt       time.Time
	// LastSequence is the newest event's place in the hash chain.
	LastSequence int64
	// Epoch grows with each change of access, assignment, coordinator, membership or channel, and with each change of a stored
	// message's content; see database.Further.
	Epoch int64
	// AudienceTag identifies the latest change of the intent's audiences. The room above keeps the audiences and draws the tag
	// (see TagAudiences).
	AudienceTag int64
	// EventsRemoved is the position of the last event that was removed from the beginning of the log; 0 if none was. Only the sweeper
	// changes it, and not by the head (see checkpoint).
	EventsRemoved int64

	lastChannel int64
	lastHash    string
	tag         int64        // drawn by each change that is stored
	lockedWith  *lockedHeads // reads the transaction's clock; nil outside of a transaction
	locked      bool         // by Lock, or by the commit after Expect; a head that is not locked hands out nothing
	expected    *mark        // the state that Expect assumes of the stored row; nil if the row was read under the lock
	pending     []*Event     // logged, not yet stored
	dirty       bool         // differs from the stored row
	raised      bool         // this transaction raised the epoch
	grown       bool         // this transaction handed out positions
	toldAbove   bool         // the room above reports that, and not OnAppended
	named       []string     // agents that the intent names because of this transaction
}

// Now returns the time of the transaction's decisions about this intent, such as whether a deadline has passed. It is At for
// the clock, which the transaction reads once after locking.
func (h *Head) Now() time.Time {
	if h.lockedWith == nil {
		return h.LastAt
	}
	return h.At(h.lockedWith.clock())
}

// Ended reports whether the intent has reached a terminal status.
func (h *Head) Ended() bool { return h.Status.Terminal() }

// Locked reports whether the transaction holds the intent's lock and may store the result of a decision.
func (h *Head) Locked() bool { return h.locked }

// Copy returns the head as it is now, to keep it beyond the transaction; the copy hands out nothing.
func (h *Head) Copy() Head {
	kept := *h
	kept.lockedWith, kept.expected, kept.pending, kept.named = nil, nil, nil, nil
	kept.locked, kept.dirty, kept.raised, kept.grown, kept.toldAbove = false, false, false, false, false
	return kept
}

// Next hands out the next position of the intent's log and its time, which lies strictly after the time before. Such a time
// only orders the log and decides nothing: it lies ahead of Now after the clock was set back.
func (h *Head) Next() (position int64, at time.Time) {
	at = h.Tick()
	h.LastPosition++
	h.grown = true
	return h.LastPosition, at
}

// Tick hands out a time strictly after all earlier ones, as Next does, but without a position. A channel's closing needs one:
// it comes after the channel's last message and before the next entry of the log.
func (h *Head) Tick() time.Time {
	h.change()
	h.LastAt = later(h.lockedWith.clock(), h.LastAt.Add(time.Microsecond))
	return h.LastAt
}

// Follow makes the next time lie after a time that was handed out elsewhere, so that the two can be compared.
func (h *Head) Follow(at time.Time) {
	if at.After(h.LastAt) {
		h.change()
		h.LastAt = at
	}
}

// Touch moves the head by the smallest step. A transaction that expects the former state (see Expect) then fails, instead of
// deciding by something that has changed beside the head. Every method that hands something out moves the head anyway.
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

// RaiseEpoch makes every cache of this intent's rules outdated, so that they are read again. Code that changes access,
// assignments, coordinators, membership, channels or the content of stored messages calls it in the same transaction, right before
// or after the change. It must not read rules in between: an EpochCache keeps those until the epoch is raised again.
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

// Name notes that the intent now names agents (see PrepareNaming), or that the room above now lists them there. After the
// commit, OnNamed reports them, so that agents that wait for messages look again.
func (h *Head) Name(agentIDs ...string) { h.named = append(h.named, agentIDs...) }

// TellAbove leaves it to the room above to tell, after the commit, that the transaction handed out positions: OnAppended is not
// called for them. It returns false if the transaction has handed out none.
func (h *Head) TellAbove() bool {
	h.toldAbove = h.grown
	return h.grown
}

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

// LogAt appends an event at a position that Next has handed out in this transaction: the audit copy of a message shares the
// message's position and time. The caller logs events in the order of their positions, at most one per position.
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

// become moves the intent to a status, at the time of the event that reports it.
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

// Get returns the head of an intent, or nil if it is not among these.
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
