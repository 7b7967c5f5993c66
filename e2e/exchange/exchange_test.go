package exchange

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

func refusalOf(answer *openintentv1.NumberedAnswer) error {
	return status.FromProto(answer.GetRefusal()).Err()
}

// Each kind of request means what its own call means: the same answer, and the same refusals with the same details.
func TestARequestMeansWhatItsCallMeans(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		p := newPlace(t, h)
		alone, together := h.As("alice"), h.Exchanging(t).As("alice")
		bob := h.As("bob")
		closed, err := alone.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{IntentId: p.intent, Name: "closed"})
		require.NoError(t, err)
		closes := alone.REST(t, "PATCH", "/v1/channels/"+closed.GetId(), `{"status":"closed"}`)
		require.Equal(t, 200, closes.Status, string(closes.Body))
		note := func(words string) *openintentv1.Message {
			m, err := bob.Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{ChannelId: p.channels[0], Payload: text(words)})
			require.NoError(t, err)
			return m
		}
		request := func() *openintentv1.Message {
			m, err := bob.Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{
				ChannelId: p.channels[0], Payload: text("?"), MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(), To: proto.String("alice"),
			})
			require.NoError(t, err)
			return m
		}
		named := note("somebody reacts").GetId()
		for what, call := range map[string]func(ctx context.Context, c *harness.Caller) (proto.Message, error){
			"a send": func(ctx context.Context, c *harness.Caller) (proto.Message, error) {
				return c.Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{
					ChannelId: p.channels[0], Payload: text("a"), Metadata: text("b"), Subject: proto.String("s"),
				})
			},
			"a send without a payload": func(ctx context.Context, c *harness.Caller) (proto.Message, error) {
				return c.Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{ChannelId: p.channels[0]})
			},
			"a send of U+0000": func(ctx context.Context, c *harness.Caller) (proto.Message, error) {
				return c.Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{ChannelId: p.channels[0], Payload: text("a\x00b")})
			},
			"a send to a closed channel": func(ctx context.Context, c *harness.Caller) (proto.Message, error) {
				return c.Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{ChannelId: closed.GetId(), Payload: text("a")})
			},
			"a send as somebody else": func(ctx context.Context, c *harness.Caller) (proto.Message, error) {
				return c.Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{
					ChannelId: p.channels[0], Payload: text("a"), Sender: proto.String("bob"),
				})
			},
			"a repeated send": func(ctx context.Context, c *harness.Caller) (proto.Message, error) {
				return c.Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{
					ChannelId: p.channels[0], Payload: text("once"), IdempotencyKey: proto.String("the same"),
				})
			},
			"a send by name": func(ctx context.Context, c *harness.Caller) (proto.Message, error) {
				return c.Messages.SendMessageByName(ctx, &openintentv1.SendMessageByNameRequest{IntentId: p.intent, Name: "news", Payload: text("a")})
			},
			"a reply": func(ctx context.Context, c *harness.Caller) (proto.Message, error) {
				return c.Messages.ReplyMessage(ctx, &openintentv1.ReplyMessageRequest{
					ChannelId: p.channels[0], MessageId: request().GetId(), Payload: text("!"),
				})
			},
			"a reply to nothing": func(ctx context.Context, c *harness.Caller) (proto.Message, error) {
				return c.Messages.ReplyMessage(ctx, &openintentv1.ReplyMessageRequest{ChannelId: p.channels[0], MessageId: "msg_none", Payload: text("!")})
			},
			"an ask that nobody answers": func(ctx context.Context, c *harness.Caller) (proto.Message, error) {
				return c.Messages.Ask(ctx, &openintentv1.AskRequest{
					ChannelId: p.channels[0], To: "bob", Payload: text("?"), TimeoutSeconds: proto.Float64(0.05),
				})
			},
			"a reaction": func(ctx context.Context, c *harness.Caller) (proto.Message, error) {
				return c.Reactions.AddReaction(ctx, &openintentv1.AddReactionRequest{ChannelId: p.channels[0], MessageId: named, Signal: "agree"})
			},
			"a reaction without a signal": func(ctx context.Context, c *harness.Caller) (proto.Message, error) {
				return c.Reactions.AddReaction(ctx, &openintentv1.AddReactionRequest{ChannelId: p.channels[0], MessageId: named})
			},
			"an acknowledgement of nothing": func(ctx context.Context, c *harness.Caller) (proto.Message, error) {
				return c.Subscriptions.AcknowledgeDeliveries(ctx, &openintentv1.AcknowledgeDeliveriesRequest{SubscriptionId: "sub_none", Numbers: []int64{1}})
			},
		} {
			wanted, refused := call(t.Context(), alone)
			got, refusedToo := call(t.Context(), together)
			require.Equal(t, 1, p.streams(t), "made on a stream")
			require.Equal(t, harness.Code(refused), harness.Code(refusedToo), what)
			require.Equal(t, harness.Reason(refused), harness.Reason(refusedToo), what)
			require.Len(t, status.Convert(refusedToo).Details(), len(status.Convert(refused).Details()), what)
			if refused == nil {
				require.Equal(t, shape(wanted), shape(got), what)
			}
		}
	})
}

// shape is what two answers to the same call have in common: everything but ids and times.
func shape(m proto.Message) string {
	stored, ok := m.(*openintentv1.Message)
	if !ok {
		return fmt.Sprint(proto.Size(m) > 0)
	}
	same := proto.CloneOf(stored)
	same.Id, same.CreatedAt, same.CorrelationId, same.ChannelId = "", nil, nil, ""
	return fmt.Sprint(same)
}

// Messages on one channel are stored in the order of their requests, refused ones aside, also when they come again on another exchange.
func TestMessagesAreStoredInTheOrderOfTheirRequests(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		p := newPlace(t, h)
		l := p.open(t, h.As("alice"))
		var requests []*openintentv1.NumberedRequest
		wanted := make(map[int][]string)
		for n := range 600 {
			words := fmt.Sprint("message ", n)
			request := p.send(int64(n+1), n%2, words)
			if n%7 == 3 {
				request.GetSend().Sender = proto.String("bob")
			} else {
				wanted[n%2] = append(wanted[n%2], words)
			}
			requests = append(requests, request)
		}
		for first := 0; first < len(requests); first += 50 {
			l.put(requests[first : first+50]...)
			if first >= 150 { // so that fewer than 256 are under way
				for n := first - 149; n <= first-100; n++ {
					l.answer(int64(n))
				}
			}
		}
		for n := range requests {
			if answer := l.answer(int64(n + 1)); n%7 == 3 {
				require.Equal(t, "SENDER_MISMATCH", l.reason(int64(n+1)))
			} else {
				require.NotEmpty(t, answer.GetMessage().GetId(), answer)
				require.Nil(t, answer.GetMessage().GetPayload(), "the client has it")
			}
		}
		require.NoError(t, l.stream.CloseSend())
		require.ErrorIs(t, l.end(), io.EOF)
		for channel := range p.channels {
			require.Equal(t, wanted[channel], p.words(t, channel))
		}

		again := p.open(t, h.As("alice"))
		again.put(requests[400:450]...)
		for n := 400; n < 450; n++ {
			require.Equal(t, l.answered[int64(n+1)].GetMessage().GetId(), again.answer(int64(n+1)).GetMessage().GetId())
		}
		for channel := range p.channels {
			require.Len(t, p.words(t, channel), len(wanted[channel]))
		}
	})
}

// Only what says no request at all ends a stream; everything else is one request's refusal.
func TestNumbersRise(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		p := newPlace(t, h)
		for name, row := range map[string]struct {
			numbers []int64
			field   string
		}{
			"a number twice":      {[]int64{1, 1}, "requests.number"},
			"a number that falls": {[]int64{5, 4}, "requests.number"},
			"no number":           {[]int64{0}, "requests.number"},
			"too many together":   {make([]int64, 65), "requests"},
		} {
			l := p.open(t, h.As("alice"))
			var requests []*openintentv1.NumberedRequest
			for _, number := range row.numbers {
				requests = append(requests, p.send(number, 0, name))
			}
			l.put(requests...)
			err := l.end()
			require.Equal(t, codes.InvalidArgument, harness.Code(err), "%s: %v", name, err)
			require.ErrorContains(t, err, row.field, name)
		}
		l := p.open(t, h.As("alice"))
		l.put(&openintentv1.NumberedRequest{Number: 7})
		require.Equal(t, codes.InvalidArgument, harness.Code(refusalOf(l.answer(7))))
		l.put(p.send(9, 0, "still here"))
		require.NotEmpty(t, l.answer(9).GetMessage().GetId())
		require.NoError(t, l.stream.Send(&openintentv1.ExchangeRequest{Cancelled: []int64{7, 9, 4711, -1}}), "harmless")
		l.put(p.send(10, 0, "still here, too"))
		require.NotEmpty(t, l.answer(10).GetMessage().GetId())
	})
}

// An ask is answered when its answer comes, and others go on meanwhile. A cancelled ask is answered at once, and its request stays open.
func TestAsksWaitAndAreCancelled(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		p := newPlace(t, h)
		l := p.open(t, h.As("alice"))
		l.put(p.ask(1, "bob"), p.ask(2, "bob"), p.send(3, 0, "between"))
		require.NotEmpty(t, l.answer(3).GetMessage().GetId())
		require.NoError(t, l.stream.Send(&openintentv1.ExchangeRequest{Cancelled: []int64{1}}))
		require.Equal(t, codes.Canceled, harness.Code(refusalOf(l.answer(1))))
		require.Nil(t, l.answered[2])

		bob := h.As("bob")
		inbox, err := bob.Messages.GetInbox(t.Context(), &openintentv1.GetInboxRequest{})
		require.NoError(t, err)
		var open []string
		for _, entry := range inbox.GetItems() {
			if m := entry.GetMessage(); m.GetMessageType() == openintentv1.MessageType_MESSAGE_TYPE_REQUEST {
				open = append(open, m.GetId())
			}
		}
		require.Len(t, open, 2, "the cancelled one is open, too")
		for _, id := range open {
			_, err := bob.Messages.ReplyMessage(t.Context(), &openintentv1.ReplyMessageRequest{ChannelId: p.channels[0], MessageId: id, Payload: text("!")})
			require.NoError(t, err)
		}
		answer := l.answer(2).GetMessage()
		require.Equal(t, "bob", answer.GetSender())
		require.Equal(t, "!", answer.GetPayload().GetFields()["text"].GetStringValue(), "it comes whole")
	})
}

// A server that stops answers all that it has taken up: asks with its reason.
func TestAStopAnswersWhatWasTakenUp(t *testing.T) {
	harness.EachProcess(t, func(t *testing.T, h *harness.Server) {
		p := newPlace(t, h)
		l := p.open(t, h.As("alice"))
		l.put(p.ask(1, "bob"), p.send(2, 0, "before"))
		require.NotEmpty(t, l.answer(2).GetMessage().GetId())
		require.NoError(t, h.Stop())
		err := l.end()
		require.Equal(t, codes.Unavailable, harness.Code(err), err)
		require.Equal(t, "SERVER_STOPPING", harness.Reason(err))
		require.Equal(t, "SERVER_STOPPING", l.reason(1))
	})
}

// Many large answers that a client does not read yet come whole when it reads them.
func TestUnreadAnswersComeWhole(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		const asks = 40
		p := newPlace(t, h)
		l := p.open(t, h.As("alice"))
		for n := range int64(asks) {
			l.put(p.ask(n+1, "bob"))
		}
		bob := h.As("bob")
		var open []*openintentv1.InboxItem
		require.Eventually(t, func() bool {
			inbox, err := bob.Messages.GetInbox(t.Context(), &openintentv1.GetInboxRequest{Limit: proto.Int32(asks)})
			require.NoError(t, err)
			open = inbox.GetItems()
			return len(open) == asks
		}, harness.Patience, checkEvery)
		large := strings.Repeat("x", 200<<10) // together twice as much as the server keeps
		for _, item := range open {
			_, err := bob.Messages.ReplyMessage(t.Context(), &openintentv1.ReplyMessageRequest{
				ChannelId: p.channels[0], MessageId: item.GetMessage().GetId(), Payload: text(large),
			})
			require.NoError(t, err)
		}
		for n := range int64(asks) {
			require.Equal(t, large, l.answer(n + 1).GetMessage().GetPayload().GetFields()["text"].GetStringValue())
		}
	})
}

// A stream whose key ends answers what it has taken up, and then ends with the same reason.
func TestTheEndOfAKeyEndsItsExchanges(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		p := newPlace(t, h)
		made, err := h.Operator().Keys.CreateKey(t.Context(), &openintentv1.CreateKeyRequest{Label: "an agent", Agents: []string{"alice"}})
		require.NoError(t, err)
		l := p.open(t, h.With(made.GetSecret(), "alice"))
		l.put(p.ask(1, "bob"), p.send(2, 0, "before"))
		require.NotEmpty(t, l.answer(2).GetMessage().GetId())
		_, err = h.Operator().Keys.RevokeKey(t.Context(), &openintentv1.RevokeKeyRequest{KeyId: made.GetKey().GetId()})
		require.NoError(t, err)
		err = l.end()
		require.Equal(t, "API_KEY_REMOVED", harness.Reason(err), err)
		require.Equal(t, "API_KEY_REMOVED", l.reason(1))
	})
}

// A key that may only read begins no exchange, and headers that mean one call mean none on an exchange.
func TestTheHeadersOfAnExchangeAreItsIdentityAlone(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		p := newPlace(t, h)
		made, err := h.Operator().Keys.CreateKey(t.Context(), &openintentv1.CreateKeyRequest{Label: "an agent", Agents: []string{"alice"}, ReadOnly: true})
		require.NoError(t, err)
		require.Equal(t, "KEY_READ_ONLY", harness.Reason(p.open(t, h.With(made.GetSecret(), "alice")).end()))
		require.Equal(t, "API_KEY_UNKNOWN", harness.Reason(p.open(t, h.With("nope", "alice")).end()))

		l := p.open(t, h.As("alice"))
		first, second := p.send(1, 0, "one"), p.send(2, 0, "two")
		l.put(first, second)
		require.NotEqual(t, l.answer(1).GetMessage().GetId(), l.answer(2).GetMessage().GetId())
		require.NoError(t, l.stream.CloseSend())
		require.ErrorIs(t, l.end(), io.EOF)
	})
}
