package torture

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
)

// This file contains the receivers over server-sent events.

func (w *world) listenChannel(ctx context.Context, agent string, at place) {
	f := w.newFollowing(agent, "SSE of a channel", at.name+" in "+w.label(at.intent), Once)
	f.receiver.Intent, f.receiver.Channel, f.receiver.Annotations = at.intent, at.id, w.annotated(agent)
	f.startListening(ctx, w, "/v1/subscribe/channels/"+at.id)
}

func (w *world) listenIntent(ctx context.Context, agent, intent string) {
	f := w.newFollowing(agent, "SSE of an intent", w.label(intent), Once)
	f.receiver.Intent, f.receiver.Events, f.receiver.Annotations = intent, true, w.annotated(agent)
	f.startListening(ctx, w, "/v1/subscribe/intents/"+intent)
}

func (w *world) listenAgent(ctx context.Context, agent string) {
	f := w.newFollowing(agent, "SSE of an agent", "everything", Once)
	f.startListening(ctx, w, "/v1/subscribe/agents/"+agent)
}

func (f *following) startListening(ctx context.Context, w *world, path string) {
	if f.receiver.Annotations {
		path += "?include=" + includeAnnotations
	}
	w.startReceiver(ctx, f, func(f *following, ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		return f.listen(ctx, path)
	})
}

// listen receives the events of one response.
func (f *following) listen(ctx context.Context, path string) error {
	begun := f.now()
	events, err := f.openEvents(ctx, path, f.cursor)
	if err != nil {
		return err
	}
	defer events.close()
	var connection *Connection
	for range f.lifetime() {
		event, err := events.next()
		if err != nil {
			return err
		}
		if connection == nil { // the first event is an id alone, which marks where the stream begins
			if event.data != "" || f.cursor != nil && event.id != *f.cursor {
				return fmt.Errorf("the stream begins with %+v", event)
			}
			f.cursor = &event.id
			f.accept()
			connection = f.connect(f.receiver, event.id, begun)
			continue
		}
		if event.name == "error" {
			return event.refusal()
		}
		if event.id < *f.cursor {
			return fmt.Errorf("the stream goes back to %+v", event)
		}
		if event.data == "" { // this id reports how far the stream has looked
			f.cursor = &event.id
			continue
		}
		if err := f.takeEvent(ctx, connection, event); err != nil {
			return err
		}
		f.cursor = &event.id
	}
	return nil
}

// takeEvent records what an event contains: a message, a logged event or an annotation.
func (f *following) takeEvent(ctx context.Context, connection *Connection, event sentEvent) error {
	if event.name == reactionEvent {
		a, err := event.annotation()
		if err == nil {
			f.takeAnnotation(connection, event.id, a)
		}
		return err
	}
	delivery, err := event.delivery()
	if err == nil && delivery.Message != nil {
		f.take(ctx, connection, delivery)
	}
	return err
}

// eventReader reads server-sent events.
type eventReader struct {
	body  io.ReadCloser
	lines *bufio.Scanner
}

// sentEvent is an event as the server sent it; an id without data also counts as one.
type sentEvent struct {
	id         int64
	name, data string
}

// openEvents requests a response that begins after a cursor.
func (f *following) openEvents(ctx context.Context, path string, cursor *int64) (*eventReader, error) {
	line, caller := f.httpLine()
	request, err := caller.Request(ctx, http.MethodGet, path, "")
	if err != nil {
		return nil, err
	}
	if cursor != nil {
		request.Header.Set("Last-Event-ID", strconv.FormatInt(*cursor, 10))
	}
	response, err := line.HTTP.Do(request)
	if err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return nil, sentEvent{data: string(text)}.refusal()
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	return &eventReader{response.Body, lines}, nil
}

func (r *eventReader) close() { _ = r.body.Close() }

// next returns the next event. It skips comments and retry times. When the response ends, it returns the same error as for a
// cut connection.
func (r *eventReader) next() (event sentEvent, err error) {
	complete := false
	for r.lines.Scan() {
		field, value, _ := strings.Cut(r.lines.Text(), ": ")
		switch {
		case field == "id":
			if event.id, err = strconv.ParseInt(value, 10, 64); err != nil {
				return event, err
			}
			complete = true
		case field == "event":
			event.name = value
		case field == "data":
			event.data, complete = value, true
		case field == "" && value == "" && complete:
			return event, nil
		}
	}
	return event, status.Error(codes.Unavailable, "the response ended")
}

// refusal converts a problem to the gRPC error that it stands for.
func (e sentEvent) refusal() error {
	var problem struct{ Code, Reason, Detail string }
	if err := json.Unmarshal([]byte(e.data), &problem); err != nil {
		return fmt.Errorf("neither an event nor a problem: %q", e.data)
	}
	var code codes.Code
	if err := code.UnmarshalJSON([]byte(strconv.Quote(problem.Code))); err != nil {
		return fmt.Errorf("a problem without a code: %q", e.data)
	}
	return status.Error(code, problem.Reason+": "+problem.Detail)
}

// jsonMessage is a message, or a logged event, as REST shows it.
type jsonMessage struct {
	ID            string `json:"id"`
	IntentID      string `json:"intent_id"`
	ChannelID     string `json:"channel_id"`
	Sender        string
	To            *string
	MessageType   string          `json:"message_type"`
	CorrelationID string          `json:"correlation_id"`
	CreatedAt     time.Time       `json:"created_at"`
	Payload       json.RawMessage `json:"payload"`
	Backfill      bool
	Attempt       int
	AuditEvent    *jsonMessage `json:"audit_event"`
	EventType     string       `json:"event_type"`
	Actor         string
}

// message returns the message that the JSON describes, or nil for a logged event that the test did not append.
func (m *jsonMessage) message() (*Message, error) {
	payload := &structpb.Struct{}
	if err := protojson.Unmarshal(m.Payload, payload); err != nil {
		return nil, err
	}
	seen := &Message{ID: m.ID, Intent: m.IntentID, Sender: m.Sender, To: everyone, At: m.CreatedAt.UnixMicro()}
	switch m.EventType {
	case "":
		if m.To != nil {
			seen.To = *m.To
		}
		seen.Channel, seen.Kind, seen.Answers, seen.Content = m.ChannelID, m.MessageType, m.CorrelationID, contentOf(payload)
	case tortureEvent:
		seen.Sender, seen.Kind, seen.Content = m.Actor, LoggedEvent, contentOf(payload)
	case messageEvent:
		return loggedMessage(m.IntentID, &openintentv1.Event{
			Actor: m.Actor, Payload: payload, CreatedAt: timestamp(m.CreatedAt),
		}), nil
	default:
		return nil, nil
	}
	return seen, nil
}

// delivery reads the event's data.
func (e sentEvent) delivery() (Delivery, error) {
	var data jsonMessage
	if err := json.Unmarshal([]byte(e.data), &data); err != nil {
		return Delivery{}, fmt.Errorf("the data of event %d is not what was expected: %w", e.id, err)
	}
	message, err := data.message()
	if err != nil {
		return Delivery{}, err
	}
	delivery := Delivery{Message: message, Cursor: e.id, Backfill: data.Backfill, Attempt: data.Attempt}
	if data.AuditEvent != nil {
		delivery.Logged, err = data.AuditEvent.message()
	}
	return delivery, err
}
