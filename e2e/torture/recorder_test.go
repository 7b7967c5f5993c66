package torture

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// recorder records what clients do and receive. It is safe for concurrent use, including everything in its history.
type recorder struct {
	mutex    sync.Mutex
	tick     Tick
	history  *History
	messages map[Message]*Message // all messages seen so far, each stored once
	received map[string]int       // by transport
	problems map[string]bool

	annotations int // received
}

func newRecorder() *recorder {
	return &recorder{
		history:  &History{Intents: make(map[string]Intent), Channels: make(map[string]Channel)},
		messages: make(map[Message]*Message), received: make(map[string]int), problems: make(map[string]bool),
	}
}

func (r *recorder) next() Tick {
	r.tick++
	return r.tick
}

func (r *recorder) now() Tick {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.next()
}

// begin records a send before its first attempt.
func (r *recorder) begin(send *Send) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	send.Span.Begun = r.next()
	r.history.Sends = append(r.history.Sends, send)
}

func (r *recorder) beginAsk(ask *Ask) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	ask.Span.Begun = r.next()
	r.history.Asks = append(r.history.Asks, ask)
}

// settle records the outcome of a send. It records the change and its moment together.
func (r *recorder) settle(send *Send, change func()) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	change()
	send.Span.Ended = r.next()
}

// change changes the history in any way other than recording a delivery.
func (r *recorder) change(change func(h *History)) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	change(r.history)
}

// follow records that a receiver was accepted.
func (r *recorder) follow(receiver *Receiver) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	receiver.From = r.next()
	r.history.Receivers = append(r.history.Receivers, receiver)
}

func (r *recorder) connect(receiver *Receiver, after int64, begun Tick) *Connection {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	connection := &Connection{Begun: begun, After: after}
	receiver.Connections = append(receiver.Connections, connection)
	return connection
}

func (r *recorder) deliver(receiver *Receiver, connection *Connection, deliveries ...Delivery) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, d := range deliveries {
		d.Message, d.Logged, d.At = r.keep(d.Message), r.keep(d.Logged), r.next()
		connection.Deliveries = append(connection.Deliveries, d)
	}
	r.received[receiver.Transport] += len(deliveries)
}

// annotate records an annotation that a receiver received.
func (r *recorder) annotate(receiver *Receiver, connection *Connection, a Annotation) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	a.At = r.next()
	connection.Annotations = append(connection.Annotations, a)
	r.annotations++
}

// keep returns the only stored copy of a message.
func (r *recorder) keep(m *Message) *Message {
	if m == nil {
		return nil
	}
	kept := r.messages[*m]
	if kept == nil {
		kept = m
		r.messages[*m] = m
	}
	return kept
}

func (r *recorder) done(receiver *Receiver, done ...Done) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, d := range done {
		d.At = r.next()
		receiver.Done = append(receiver.Done, d)
	}
}

// problem records a failure that no client should meet. It records each text once.
func (r *recorder) problem(format string, args ...any) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	text := fmt.Sprintf(format, args...)
	if !r.problems[text] {
		r.problems[text] = true
		r.history.Problems = append(r.history.Problems, text)
	}
}

// missing counts the messages for which receivers still wait, per receiver and in total.
func (r *recorder) missing() (missing map[string]int, count int) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	missing = Missing(r.history)
	for _, its := range missing {
		count += its
	}
	return missing, count
}

// transports lists what was received, by transport.
func (r *recorder) transports() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	var lines []string
	for _, transport := range slices.Sorted(maps.Keys(r.received)) {
		receivers, connections := 0, 0
		for _, receiver := range r.history.Receivers {
			if receiver.Transport == transport {
				receivers++
				connections += len(receiver.Connections)
			}
		}
		lines = append(lines, fmt.Sprintf("  %-34s %7d received by %d receivers on %d connections",
			transport, r.received[transport], receivers, connections))
	}
	return strings.Join(lines, "\n")
}

// payloadOf returns the payload for a content. The content determines the payload, so the test can check every byte
// of a delivery.
func payloadOf(content string) *structpb.Struct {
	sum := 0
	for _, c := range content {
		sum = (sum*31 + int(c)) % 10_007
	}
	return &structpb.Struct{Fields: map[string]*structpb.Value{
		"text": structpb.NewStringValue(content), "number": structpb.NewNumberValue(float64(sum) / 8),
		"filler": structpb.NewStringValue(strings.Repeat("é\u2028\"", sum%60)), "nothing": structpb.NewNullValue(),
	}}
}

// contentOf returns the content of a payload.
func contentOf(payload *structpb.Struct) string {
	content := payload.GetFields()["text"].GetStringValue()
	if !proto.Equal(payload, payloadOf(content)) {
		return fmt.Sprintf("not what was sent: %v", payload)
	}
	return content
}

// messageOf converts a message from the wire.
func messageOf(intent string, m *openintentv1.Message) *Message {
	to := m.GetTo()
	if m.To == nil {
		to = everyone
	}
	return &Message{
		ID: m.GetId(), Intent: intent, Channel: m.GetChannelId(), Sender: m.GetSender(), To: to, Kind: kindOf(m.GetMessageType()),
		Answers: m.GetCorrelationId(), Content: contentOf(m.GetPayload()), At: m.GetCreatedAt().AsTime().UnixMicro(),
	}
}

var wireKinds = map[string]openintentv1.MessageType{
	Request: openintentv1.MessageType_MESSAGE_TYPE_REQUEST, Response: openintentv1.MessageType_MESSAGE_TYPE_RESPONSE,
	Notify: openintentv1.MessageType_MESSAGE_TYPE_NOTIFY, Broadcast: openintentv1.MessageType_MESSAGE_TYPE_BROADCAST,
}

func kindOf(wire openintentv1.MessageType) string {
	for kind, messageType := range wireKinds {
		if messageType == wire {
			return kind
		}
	}
	return wire.String()
}

// tortureEvent is the type of the events that the test appends to logs; messageEvent is the type of an audited
// message's copy.
const (
	tortureEvent = "torture"
	messageEvent = "channel_message"
)

// eventOf converts an event that the test logged from the wire; it returns nil for any other event.
func eventOf(e *openintentv1.Event) *Message {
	if e.GetEventType() != tortureEvent {
		return nil
	}
	return &Message{
		ID: e.GetId(), Intent: e.GetIntentId(), Sender: e.GetActor(), To: everyone, Kind: LoggedEvent,
		Content: contentOf(e.GetPayload()), At: e.GetCreatedAt().AsTime().UnixMicro(),
	}
}

// transient reports whether a call or a stream failed for a reason after which a client is expected to retry.
func transient(err error) bool {
	switch harness.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled:
		return true
	}
	return false
}
