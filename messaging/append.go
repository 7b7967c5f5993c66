package messaging

import (
	"slices"
	"time"

	"openintent/channels"
	"openintent/database"
	"openintent/intents"
	"openintent/jsonvalue"
)

// appender stores messages: it is the only code that does. Messages are added one by one, each getting its place under
// the intent's lock, and written together by a few set-based statements. The writer and the lifecycle hooks share it.
type appender struct {
	tx     *database.Tx
	rows   messageBatch
	open   openRequestBatch
	keys   keyBatch
	counts map[channels.Key]*channels.Count
	// changed are those of the counts that are to be stored; only the locks of these are certain to be held.
	changed map[channels.Key]*channels.Count
	// answered holds the requests that got an answer, evicting the channels whose evicted messages are to be removed.
	answered  []answeredRequest
	evicting  evictionBatch
	forgotten []keyPlace
	// audiences are the known ones, reached those that the messages add to them.
	audiences audiences
	reached   audienceBatch
}

type answeredRequest struct{ intentNo, position int64 }

func newAppender(tx *database.Tx, counts map[channels.Key]*channels.Count, known audiences) *appender {
	return &appender{
		tx: tx, counts: counts, changed: make(map[channels.Key]*channels.Count),
		audiences: known, reached: make(audienceBatch),
	}
}

// add gives the draft its place in the intent's log and in the channel. The draft was admitted, or is the server's own.
func (a *appender) add(head *intents.Head, channel *channels.Rules, request *Message, d *draft) (*Message, error) {
	position, at := head.Next()
	now := head.Now()
	count := a.counts[channel.Key]
	a.changed[channel.Key] = count
	before := *count
	count.Messages++
	count.LastMessageAt = now
	a.evict(channel, count, before)
	m := &Message{
		IntentNo: head.IntentNo, ChannelNo: channel.ChannelNo,
		Position: position, Ordinal: count.Messages,
		ID: d.id, ChannelID: channel.ID, Sender: d.sender, Target: d.target, Type: d.messageType,
		CorrelationID: d.correlationID, Payload: d.payload.OrEmpty(), Metadata: d.metadata.OrEmpty(),
		CreatedAt: at, ExpiresAt: d.expiry(now), Open: d.messageType == TypeRequest,
	}
	if request != nil {
		m.CorrelationPosition = request.Position
		a.answered = append(a.answered, answeredRequest{request.IntentNo, request.Position})
	}
	a.rows.add(m)
	a.reached.add(m, head, a.audiences)
	if m.Open {
		a.open.add(m)
	}
	if d.key != "" {
		a.keys.add(d, m)
	}
	if !channel.Audit {
		return m, nil
	}
	_, err := head.LogAt(position, at, auditEvent(channel, m, d.traceID))
	return m, err
}

// answers tells whether one of the messages answers the request.
func (a *appender) answers(request *Message) bool {
	return slices.Contains(a.answered, answeredRequest{request.IntentNo, request.Position})
}

// forget removes an idempotency key that is past its lifetime and about to be used anew.
func (a *appender) forget(place keyPlace) { a.forgotten = append(a.forgotten, place) }

// expiry gives the deadline of a draft that is stored at a time of the clock.
func (d *draft) expiry(now time.Time) time.Time {
	if d.timeout > 0 {
		return now.Add(d.timeout)
	}
	return d.expiresAt
}

// auditEvent is a message's copy for the intent's event log (RFC-0021 section 6). The trace of the message's metadata
// goes before the call's (RFC-0020).
func auditEvent(channel *channels.Rules, m *Message, callTrace string) intents.EventDraft {
	draft := intents.EventDraft{
		Type: "channel_message", Actor: m.Sender, Payload: auditPayload(channel, m), TraceID: callTrace,
	}
	if trace, ok := m.Metadata.String("trace_id"); ok && intents.ValidTraceID(trace) {
		draft.TraceID = trace
	}
	if parent, ok := m.Metadata.String("parent_event_id"); ok && parent != "" && len(parent) <= 128 {
		draft.ParentEventID = parent
	}
	return draft
}

func auditPayload(channel *channels.Rules, m *Message) jsonvalue.Object {
	var object jsonvalue.Builder
	object.String("channel_id", channel.ID).
		String("channel_name", channel.Name).
		String("message_id", m.ID).
		String("message_type", string(m.Type))
	if m.Target == "" {
		object.Null("to")
	} else {
		object.String("to", m.Target)
	}
	object.Raw("payload", m.Payload)
	if m.CorrelationID != "" {
		object.String("correlation_id", m.CorrelationID)
	}
	if proof, ok := m.Metadata.Member("proof"); ok {
		object.Raw("proof", proof)
	}
	return object.Object()
}
