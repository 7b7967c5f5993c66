package torture

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

func timestamp(at time.Time) *timestamppb.Timestamp { return timestamppb.New(at) }

// loggedMessage returns the message that a log's event copies.
func loggedMessage(intent string, event *openintentv1.Event) *Message {
	fields := event.GetPayload().GetFields()
	text := func(name string) string { return fields[name].GetStringValue() }
	m := &Message{
		ID: text("message_id"), Intent: intent, Channel: text("channel_id"), Sender: event.GetActor(), To: text("to"),
		Kind: text("message_type"), Answers: text("correlation_id"), Content: contentOf(fields["payload"].GetStructValue()),
		At: event.GetCreatedAt().AsTime().UnixMicro(),
	}
	if m.To == "" {
		m.To = everyone
	}
	return m
}

// readLogs reads and verifies the logs of both intents.
func (w *world) readLogs(ctx context.Context) {
	c := w.client("", "reading of logs")
	for _, intent := range w.intents {
		log := Log{Intent: intent}
		for {
			page, _, err := insist(ctx, c, attemptTime, func(ctx context.Context, as *harness.Caller) (*openintentv1.ListEventsResponse, error) {
				return as.Events.ListEvents(ctx, &openintentv1.ListEventsRequest{
					IntentId: intent, AfterSequence: proto.Int64(int64(len(log.Events))), Limit: proto.Int32(1000),
				})
			})
			if err != nil {
				w.problem("the log of %s cannot be read: %v", w.label(intent), err)
				return
			}
			for _, event := range page.GetEvents() {
				log.Events = append(log.Events, entryOf(event))
			}
			if len(page.GetEvents()) == 0 {
				break
			}
		}
		verified, _, err := insist(ctx, c, attemptTime, func(ctx context.Context, as *harness.Caller) (*openintentv1.VerifyEventsResponse, error) {
			return as.Events.VerifyEvents(ctx, &openintentv1.VerifyEventsRequest{IntentId: intent})
		})
		switch {
		case err != nil:
			w.problem("the log of %s cannot be verified: %v", w.label(intent), err)
		case !verified.GetChainValid():
			log.Broken = fmt.Sprint(verified.GetBreaks())
		}
		w.change(func(h *History) { h.Logs = append(h.Logs, log) })
	}
}

// entryOf converts a log entry from the wire.
func entryOf(event *openintentv1.Event) Event {
	entry := Event{
		ID: event.GetId(), Sequence: event.GetSequence(), Previous: event.GetPreviousEventHash(), Hash: event.GetEventHash(),
	}
	if event.GetEventType() == messageEvent {
		entry.Message = loggedMessage(event.GetIntentId(), event)
	} else {
		entry.Message = eventOf(event)
	}
	return entry
}
