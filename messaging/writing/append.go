package writing

import (
	"slices"
	"time"

	"openintent/channels"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/obligation"
)

// appender stores messages: it is the only code that does. It takes messages one by one, gives each its place under the
// intent's lock, and writes them together with a few set-based statements. The writer and the server's own notifications
// (departure_notice.go, system_notice.go) share it.
type appender struct {
	tx   *database.Tx
	rows messageBatch
	open openRequestBatch
	// obligations are those of new requests.
	obligations obligationBatch
	// published are the new contents of documents.
	published publishedBatch
	keys      keyBatch
	counts    map[channels.Key]*channels.Count
	// changed are the counts that have to be stored. The transaction is certain to hold the locks of these only.
	changed map[channels.Key]*channels.Count
	// answered are the requests that got an answer; evicting are the channels with evicted messages to remove.
	answered  []answeredRequest
	evicting  evictionBatch
	forgotten []keyPlace
	// audiences are the cached ones; reached are those that the messages add.
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
func (a *appender) add(head *intents.Head, channel *channels.Rules, request *message.Message, d *Draft) (*message.Message, error) {
	position, at := head.Next()
	now := head.Now()
	count := a.counts[channel.Key]
	a.changed[channel.Key] = count
	before := *count
	count.Messages++
	count.LastMessageAt = now
	a.evict(channel, count, before)
	m := &message.Message{
		IntentNo: head.IntentNo, ChannelNo: channel.ChannelNo,
		Position: position, Ordinal: count.Messages,
		ID: d.ID, ChannelID: channel.ID, Sender: d.Sender, Target: d.Target, Type: d.MessageType,
		CorrelationID: d.CorrelationID, Payload: d.payload.OrEmpty(), Metadata: d.metadata.OrEmpty(), Conversation: d.conversation,
		CreatedAt: at, ExpiresAt: d.expiry(now), Open: d.MessageType == message.TypeRequest,
	}
	if request != nil {
		m.CorrelationPosition = request.Position
	}
	a.rows.add(m, d.turn)
	a.reached.add(m, head, a.audiences)
	if m.Open {
		a.open.add(m)
	}
	if m.Obliges() {
		a.obligations.add(m, obligation.Begin(at, now))
	}
	if d.Key != "" {
		a.keys.add(d, m)
	}
	if !channel.Audit {
		return m, nil
	}
	_, err := head.LogAt(position, at, auditEvent(channel, m, d.TraceID))
	return m, err
}

// close notes that a request has the answers that it takes, or the first one if it takes any number.
func (a *appender) close(request *message.Message) {
	a.answered = append(a.answered, answeredRequest{request.IntentNo, request.Position})
}

// answers reports whether one of the messages closes the request.
func (a *appender) answers(request *message.Message) bool {
	return slices.Contains(a.answered, answeredRequest{request.IntentNo, request.Position})
}

// expiry returns the deadline of a draft that is stored at a time of the clock.
func (d *Draft) expiry(now time.Time) time.Time {
	if d.Timeout > 0 {
		return now.Add(d.Timeout)
	}
	return d.ExpiresAt
}
