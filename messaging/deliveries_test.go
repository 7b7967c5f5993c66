package messaging

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/internal/pages"
	"openintent/messaging/message"
)

const (
	statusStored   = openintentv1.DeliveryStatus_DELIVERY_STATUS_STORED
	statusOffered  = openintentv1.DeliveryStatus_DELIVERY_STATUS_OFFERED
	statusRead     = openintentv1.DeliveryStatus_DELIVERY_STATUS_READ
	statusAnswered = openintentv1.DeliveryStatus_DELIVERY_STATUS_ANSWERED
	statusExpired  = openintentv1.DeliveryStatus_DELIVERY_STATUS_EXPIRED
	statusDead     = openintentv1.DeliveryStatus_DELIVERY_STATUS_DEAD_LETTERED
)

// In the table a letter is what happened, in order: o offered, s surfaced, r read, a answered, e expired, d dead-lettered.
func TestDeliveryStatus(t *testing.T) {
	start := time.Date(2026, 2, 13, 12, 0, 0, 0, time.UTC)
	for happened, want := range map[string]openintentv1.DeliveryStatus{
		"": statusStored, "o": statusOffered, "r": statusRead, "a": statusAnswered, "e": statusExpired, "d": statusDead,
		"s": statusSurfaced, "os": statusSurfaced, "so": statusSurfaced, "sr": statusRead, "rs": statusRead, "sa": statusAnswered,
		"se": statusExpired, "es": statusSurfaced, "sd": statusDead, "ds": statusSurfaced, "rds": statusDead, "as": statusAnswered,
		"or": statusRead, "oa": statusAnswered, "oe": statusExpired, "od": statusDead,
		"ro": statusRead, "ao": statusAnswered, "eo": statusExpired, "do": statusDead, // the mark of a channel moved later
		"ra": statusAnswered, "ar": statusAnswered, "re": statusExpired, "rd": statusDead,
		"dr": statusRead, "de": statusExpired, "ed": statusDead, "ad": statusAnswered, "da": statusAnswered,
		"ora": statusAnswered, "ord": statusDead, "odr": statusRead, "odre": statusExpired, "orde": statusExpired,
		"odra": statusAnswered, "orae": statusAnswered,
	} {
		r := record{}
		for i, what := range happened {
			at := start.Add(time.Duration(i) * time.Second)
			switch what {
			case 'o':
				r.offered = at
			case 's':
				r.surfaced = at
			case 'r':
				r.read = at
			case 'a':
				r.answered = at
			case 'e':
				r.expired = at
			case 'd':
				r.deadLettered = at
			}
		}
		require.Equal(t, want, r.status(), happened)
	}
	require.Equal(t, statusExpired, record{read: start, expired: start, deadLettered: start}.status(), "at the same instant")
	require.Equal(t, statusRead, record{read: start, deadLettered: start}.status())
}

func TestExpiryForARecipient(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 2, 13, 12, 0, second, 0, time.UTC) }
	never := time.Time{}
	for name, c := range map[string]struct {
		message       message.Message
		readAt, ended time.Time
		now           int
		want          time.Time
	}{
		"no expiry":                     {message.Message{Type: message.TypeNotify}, never, never, 9, never},
		"before its time":               {message.Message{Type: message.TypeNotify, ExpiresAt: at(5)}, never, never, 4, never},
		"at its time":                   {message.Message{Type: message.TypeNotify, ExpiresAt: at(5)}, never, never, 5, at(5)},
		"read in time":                  {message.Message{Type: message.TypeNotify, ExpiresAt: at(5)}, at(3), never, 9, never},
		"read by another":               {message.Message{Type: message.TypeNotify, ExpiresAt: at(5), ReadAt: at(3)}, never, never, 9, at(5)},
		"open request":                  {message.Message{Type: message.TypeRequest, ExpiresAt: at(5), Open: true}, never, never, 4, never},
		"request out of time":           {message.Message{Type: message.TypeRequest, ExpiresAt: at(5), Open: true}, at(3), never, 9, at(5)},
		"answered request":              {message.Message{Type: message.TypeRequest, ExpiresAt: at(5)}, never, never, 9, never},
		"swept request":                 {message.Message{Type: message.TypeRequest, ExpiresAt: at(5), EndedAt: at(7)}, never, never, 9, at(5)},
		"request ended with its talk":   {message.Message{Type: message.TypeRequest, EndedAt: at(3)}, never, never, 9, at(3)},
		"request ended before its time": {message.Message{Type: message.TypeRequest, ExpiresAt: at(5), EndedAt: at(3)}, never, never, 9, at(3)},
		"abandoned, not swept":          {message.Message{Type: message.TypeRequest, Open: true, Abandoned: true}, never, at(2), 9, at(2)},
	} {
		require.Equal(t, c.want, expiryFor(&c.message, c.readAt, c.ended, at(c.now)), name)
	}
}

func (h *house) tryDeliveries(ctx context.Context, m *wireMessage) ([]*openintentv1.MessageDelivery, error) {
	answer, err := h.messaging.ListMessageDeliveries(ctx, &openintentv1.ListMessageDeliveriesRequest{
		ChannelId: m.GetChannelId(), MessageId: m.GetId(),
	})
	return answer.GetDeliveries(), err
}

// statuses gives how far a message came, by recipient.
func (h *house) statuses(t require.TestingT, m *wireMessage) map[string]openintentv1.DeliveryStatus {
	statuses := make(map[string]openintentv1.DeliveryStatus)
	for _, one := range h.deliveries(t, m) {
		statuses[one.GetAgentId()] = one.GetStatus()
	}
	return statuses
}

type byRecipient = map[string]openintentv1.DeliveryStatus

// The life of a request to one agent, as its sender sees it.
func TestDeliveryOfARequest(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		asked := h.asks(t, "a", channelID, "b")
		last := func() *openintentv1.MessageDelivery {
			h.flushOffers(t)
			found, err := h.tryDeliveries(as("a"), asked)
			require.NoError(t, err)
			require.Len(t, found, 1)
			require.Equal(t, "b", found[0].GetAgentId())
			require.Equal(t, asked.GetCreatedAt().AsTime(), found[0].GetStoredAt().AsTime())
			return found[0]
		}
		require.Equal(t, statusStored, last().GetStatus())
		offeredAt := h.clock.Advance(time.Minute)
		h.inbox(t, "b")
		require.Equal(t, statusOffered, last().GetStatus())
		require.Equal(t, offeredAt, last().GetOfferedAt().AsTime())
		deadAt := h.clock.Advance(time.Minute)
		h.deadLetter(t, asked, "b", "the endpoint hung")
		h.deadLetter(t, asked, "b", "another subscription gave it up too")
		h.deadLetter(t, asked, caller.Operator, "the operator is no recipient")
		require.Equal(t, statusDead, last().GetStatus())
		require.Equal(t, deadAt, last().GetDeadLetteredAt().AsTime())
		require.Equal(t, "the endpoint hung", last().GetDeadLetterReason())
		readAt := h.clock.Advance(time.Minute)
		_, err := h.markInbox(as("b"), "b", asked.GetId())
		require.NoError(t, err)
		require.Equal(t, statusRead, last().GetStatus())
		require.Equal(t, readAt, last().GetReadAt().AsTime())
		require.NoError(t, h.db.Write(context.Background(), func(tx *database.Tx) error {
			return h.messaging.ForgetDeadLetters(tx, "b", h.key(t, channelID).IntentNo, h.placeOf(t, asked))
		}))
		require.Nil(t, last().GetDeadLetteredAt())
		require.Nil(t, last().DeadLetterReason)
		h.clock.Advance(time.Minute)
		first := h.reply(t, "b", channelID, asked.GetId(), "yes")
		h.clock.Advance(time.Minute)
		h.reply(t, "b", channelID, asked.GetId(), "and more")
		require.Equal(t, statusAnswered, last().GetStatus())
		require.Equal(t, first.GetCreatedAt().AsTime(), last().GetAnsweredAt().AsTime())
		require.Nil(t, last().GetExpiredAt())
	})
}

// A message to a role is its holders', those of now and those that did something with it.
func TestDeliveryToARole(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.explicit(t, "a", "b", "c")
		for _, agent := range []string{"a", "b", "c", "outside"} {
			h.register(t, agent, "judge")
		}
		asked := h.asks(t, "a", channelID, "role:judge")
		require.Equal(t, byRecipient{"b": statusStored, "c": statusStored}, h.statuses(t, asked))
		h.list(t, "b", &listRequest{ChannelId: channelID})
		h.flushOffers(t)
		h.register(t, "b", "clerk")
		h.deregister(t, "c")
		require.Equal(t, byRecipient{"b": statusOffered}, h.statuses(t, asked))
		h.register(t, "b", "judge")
		h.reply(t, "b", channelID, asked.GetId(), "")
		require.Equal(t, byRecipient{"b": statusAnswered}, h.statuses(t, asked))
	})
}

// A message to everyone is the listed members', and else of whoever did something with it.
func TestDeliveryToEveryone(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		members, open := h.explicit(t, "a", "b", "c"), h.open(t)
		told := h.say(t, "a", members, "")
		require.Equal(t, byRecipient{"b": statusStored, "c": statusStored}, h.statuses(t, told))
		said := h.send(t, "a", &sendRequest{ChannelId: open, ExpiresAt: h.in(time.Minute)})
		require.Empty(t, h.statuses(t, said))
		for _, agent := range []string{"a", "b", "c"} {
			h.list(t, agent, &listRequest{ChannelId: open})
		}
		_, err := h.tryRead(as("c"), open, said.GetId())
		require.NoError(t, err)
		h.flushOffers(t)
		require.Equal(t, byRecipient{"b": statusOffered, "c": statusRead}, h.statuses(t, said))
		h.clock.Advance(time.Hour)
		h.say(t, "a", open, "")
		h.list(t, "c", &listRequest{ChannelId: open})
		h.flushOffers(t)
		require.Equal(t, byRecipient{"b": statusExpired, "c": statusRead}, h.statuses(t, said))
		require.Equal(t, said.GetExpiresAt().AsTime(), h.deliveryTo(t, said, "b").GetExpiredAt().AsTime())
		require.Equal(t, h.deliveryTo(t, said, "c").GetReadAt().AsTime(), h.deliveryTo(t, said, "c").GetOfferedAt().AsTime(),
			"it was offered before it was read, whatever came later")
	})
}

// A request ends unanswered by time, with its channel, or with its addressee, swept or not.
func TestDeliveryOfWhatEnds(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		timed := h.send(t, "a", &sendRequest{ChannelId: channelID, To: ptr("b"), MessageType: ptr(request), ExpiresAt: h.in(time.Minute)})
		h.clock.Advance(time.Hour)
		for range 2 {
			require.Equal(t, timed.GetExpiresAt().AsTime(), h.deliveryTo(t, timed, "b").GetExpiredAt().AsTime())
			require.Equal(t, statusExpired, h.deliveryTo(t, timed, "b").GetStatus())
			h.sweep(t)
		}
		left := h.asks(t, "a", channelID, "c")
		h.register(t, "c", "")
		leftAt := h.clock.Advance(time.Minute)
		h.deregister(t, "c")
		require.Equal(t, leftAt, h.deliveryTo(t, left, "c").GetExpiredAt().AsTime())
		short := h.create(t, &createRequest{Options: &optionsInput{TtlSeconds: ptr(int64(60))}})
		lapsed := h.asks(t, "a", short, "b")
		h.clock.Advance(time.Hour)
		require.Equal(t, lapsed.GetCreatedAt().AsTime().Add(time.Minute), h.deliveryTo(t, lapsed, "b").GetExpiredAt().AsTime())
	})
}

// Only its sender and the operator are told; to others the message need not exist.
func TestDeliveriesAreTheSenders(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.create(t, &createRequest{Options: &optionsInput{MaxMessages: ptr(int64(2))}})
		asked := h.asks(t, "a", channelID, "b")
		for _, agent := range []string{"b", "stranger"} {
			_, err := h.tryDeliveries(as(agent), asked)
			faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		}
		_, err := h.tryDeliveries(as("a"), &wireMessage{ChannelId: channelID, Id: message.NewID()})
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		_, err = h.tryDeliveries(as("a"), &wireMessage{ChannelId: h.open(t), Id: asked.GetId()})
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		_, err = h.tryDeliveries(context.Background(), asked)
		faulttest.Require(t, err, fault.Unauthenticated, "UNAUTHENTICATED")
		for range 2 {
			h.say(t, "c", channelID, "")
		}
		for _, ctx := range []context.Context{as("a"), asOperator()} {
			_, err = h.tryDeliveries(ctx, asked)
			faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		}
		secluded := h.explicit(t, "a", "b")
		told := h.say(t, "a", secluded, "")
		h.removeMember(t, secluded, "a")
		_, err = h.tryDeliveries(as("a"), told)
		faulttest.Require(t, err, fault.Denied, "NOT_A_MEMBER")
	})
}

// A page has the first by name, whatever their traces are.
func TestDeliveriesComeInPages(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		var members []string
		for i := range pages.MaxEntries + 100 {
			members = append(members, fmt.Sprintf("m%05d", i))
		}
		channelID := h.explicit(t, append(members, "a")...)
		told := h.say(t, "a", channelID, "")
		for _, agent := range []string{members[7], members[pages.MaxEntries+7]} {
			_, err := h.tryRead(as(agent), channelID, told.GetId())
			require.NoError(t, err)
		}
		found := h.deliveries(t, told)
		require.Len(t, found, pages.MaxEntries)
		for i, one := range found {
			require.Equal(t, members[i], one.GetAgentId())
		}
		require.Equal(t, statusRead, found[7].GetStatus())
		cursor := pages.Cursor("message_deliveries", found[len(found)-1].GetAgentId())
		rest, err := h.messaging.ListMessageDeliveries(as("a"), &openintentv1.ListMessageDeliveriesRequest{
			ChannelId: channelID, MessageId: told.GetId(), Cursor: &cursor,
		})
		require.NoError(t, err)
		require.Len(t, rest.GetDeliveries(), 100)
		require.Equal(t, members[pages.MaxEntries], rest.GetDeliveries()[0].GetAgentId())
		require.Equal(t, statusRead, rest.GetDeliveries()[7].GetStatus())
		require.Nil(t, rest.NextCursor)
	})
}

// A page is full although many who joined later were handed only what came after the message.
func TestPagesOfDeliveriesPassOverWhoJoinedLater(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.create(t, &createRequest{
			MemberPolicy: ptr(openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT), Members: []string{"a", "y", "z"},
			Options: &optionsInput{History: ptr(openintentv1.ChannelHistory_CHANNEL_HISTORY_FROM_JOIN)},
		})
		told := h.say(t, "a", channelID, "")
		agents := []string{"y", "z"}
		for i := range 10 {
			agents = append(agents, fmt.Sprint("later-", i))
			h.addMember(t, channelID, agents[len(agents)-1])
		}
		h.say(t, "a", channelID, "")
		for _, agent := range agents {
			h.list(t, agent, &listRequest{ChannelId: channelID})
		}
		h.flushOffers(t)
		page, err := h.messaging.ListMessageDeliveries(as("a"), &openintentv1.ListMessageDeliveriesRequest{
			ChannelId: channelID, MessageId: told.GetId(), Limit: ptr(int32(1)),
		})
		require.NoError(t, err)
		require.Len(t, page.GetDeliveries(), 1)
		require.Equal(t, "y", page.GetDeliveries()[0].GetAgentId())
		require.Equal(t, statusOffered, page.GetDeliveries()[0].GetStatus())
		require.NotNil(t, page.NextCursor)
	})
}
