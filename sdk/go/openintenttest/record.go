package openintenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// Said is a message as the record has it.
type Said struct {
	*openintent.Message
	// Channel is the name of the channel.
	Channel string
	// Dispositions say, by recipient, what became of it.
	Dispositions map[string]openintent.Disposition
}

func (s Said) String() string {
	to := ""
	if s.To != "" {
		to = " to " + s.To
	}
	text := fmt.Sprintf("%s%s on %s, %s: %s", s.Sender, to, s.Channel, s.MessageType, plain(s.Payload))
	for _, agent := range slices.Sorted(maps.Keys(s.Dispositions)) {
		text += fmt.Sprintf("; %s: %s", agent, s.Dispositions[agent])
	}
	return text
}

// Match is what is wanted of a message. What is empty does not count.
type Match struct {
	// From is the sender, and To the addressee.
	From, To string
	// Channel is the channel's name.
	Channel string
	// Type is the message's type.
	Type openintent.MessageType
	// Payload must be equal to the payload, as JSON.
	Payload any
	// Answers is the request that it answers, by its id.
	Answers string
	// Disposition is what a recipient has done with it, by the recipient.
	Disposition map[string]openintent.Disposition
	// Where reports whether a message will do that is otherwise as wanted.
	Where func(Said) bool
}

func (m Match) String() string {
	var said []string
	for _, part := range []struct {
		name  string
		value any
	}{
		{"From", m.From},
		{"To", m.To},
		{"Channel", m.Channel},
		{"Type", m.Type},
		{"Payload", m.Payload},
		{"Answers", m.Answers},
		{"Disposition", m.Disposition},
	} {
		if part.value != nil && !reflect.ValueOf(part.value).IsZero() {
			said = append(said, part.name+" "+plain(part.value))
		}
	}
	if m.Where != nil {
		said = append(said, "as Where wants it")
	}
	if len(said) == 0 {
		return "any message"
	}
	return strings.Join(said, ", ")
}

func (m Match) is(said Said) bool {
	for agent, wanted := range m.Disposition {
		if said.Dispositions[agent] != wanted {
			return false
		}
	}
	return isOr(m.From, said.Sender) && isOr(m.To, said.To) && isOr(m.Channel, said.Channel) && isOr(m.Type, said.MessageType) &&
		isOr(m.Answers, said.CorrelationID) && (m.Payload == nil || plain(m.Payload) == plain(said.Payload)) &&
		(m.Where == nil || m.Where(said))
}

func isOr[T comparable](wanted, found T) bool {
	var nothing T
	return wanted == nothing || wanted == found
}

// plain returns a value as JSON, in which the members of objects have one order.
func plain(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	var read any
	if err := json.Unmarshal(text, &read); err != nil {
		return string(text)
	}
	ordered, _ := json.Marshal(read) // it was JSON a moment ago
	return string(ordered)
}

// Said lists the messages of an intent that are as wanted, oldest first.
func (s *Server) Said(intentID string, wanted Match) []Said {
	s.tb.Helper()
	return slices.DeleteFunc(s.record(intentID), func(said Said) bool { return !wanted.is(said) })
}

// AssertSaid waits, at most for 5 seconds, until something was said as wanted, and returns it. Otherwise the test ends, with what was said
// instead.
func (s *Server) AssertSaid(intentID string, wanted Match) Said {
	s.tb.Helper()
	for begun := time.Now(); ; s.pauseSince(begun) {
		if found := s.Said(intentID, wanted); len(found) > 0 {
			return found[0]
		}
		if time.Since(begun) > within {
			s.tb.Fatalf("nobody said this: %s. What was said:\n%s", wanted, listed(s.record(intentID)))
		}
	}
}

// AssertNotSaid settles, and the test fails if something was said as wanted.
func (s *Server) AssertNotSaid(intentID string, wanted Match) {
	s.tb.Helper()
	s.Settle()
	if found := s.Said(intentID, wanted); len(found) > 0 {
		s.tb.Errorf("this was said, and nobody should say %s:\n%s", wanted, listed(found))
	}
}

func listed[T fmt.Stringer](all []T) string {
	if len(all) == 0 {
		return "  nothing"
	}
	var lines []string
	for _, one := range all {
		lines = append(lines, "  "+one.String())
	}
	return strings.Join(lines, "\n")
}

// record reads everything that was said in an intent, and what became of it.
func (s *Server) record(intentID string) []Said {
	s.tb.Helper()
	all := s.messages(intentID)
	for _, said := range all {
		for _, delivery := range s.deliveries(said.ChannelID, said.ID) {
			if delivery.GetDisposition() != "" {
				said.Dispositions[delivery.GetAgentId()] = openintent.Disposition(delivery.GetDisposition())
			}
		}
	}
	return all
}

// messages reads everything that was said in an intent without what became of it, which costs a call for each message.
func (s *Server) messages(intentID string) (all []Said) {
	s.tb.Helper()
	ctx := s.tb.Context()
	channels, err := s.client.ListChannels(ctx, intentID)
	if err != nil {
		s.tb.Fatal(err)
	}
	for _, channel := range channels {
		for since := beginning; ; {
			page, err := s.client.ListMessages(ctx, channel.ID, openintent.Selection{Since: since})
			if err != nil {
				s.tb.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			for _, message := range page {
				all = append(all, Said{Message: message, Channel: channel.Name, Dispositions: make(map[string]openintent.Disposition)})
			}
			since = page[len(page)-1].ID
		}
	}
	slices.SortFunc(all, func(a, b Said) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return all
}

// beginning is a time before all messages. A list that begins there begins with the oldest.
const beginning = "1970-01-01T00:00:00Z"

// deliveries reads what became of a message.
func (s *Server) deliveries(channelID, messageID string) []*openintentv1.MessageDelivery {
	s.tb.Helper()
	all, err := openintent.EveryPage(s.tb.Context(), func(
		ctx context.Context, cursor *string,
	) ([]*openintentv1.MessageDelivery, *string, error) {
		page, err := s.client.Raw().Messages.ListMessageDeliveries(ctx, &openintentv1.ListMessageDeliveriesRequest{
			ChannelId: channelID, MessageId: messageID, Cursor: cursor,
		})
		return page.GetDeliveries(), page.NextCursor, err
	})
	if err != nil {
		s.tb.Fatal(err)
	}
	return all
}
