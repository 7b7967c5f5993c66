package conversation

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/obligation"
)

// oblige sends a request of alice with an obligation.
func (h *house) oblige(t require.TestingT, to string, change ...func(*openintentv1.SendMessageRequest)) *openintentv1.Message {
	request, subject := openintentv1.MessageType_MESSAGE_TYPE_REQUEST, "the lock"
	draft := &openintentv1.SendMessageRequest{
		ChannelId: h.channel, To: &to, MessageType: &request, Subject: &subject,
		Obligation: &openintentv1.Obligation{Blocks: openintentv1.Blocks_BLOCKS_HALTED, Delegate: ptr("dora")},
	}
	for _, one := range change {
		one(draft)
	}
	sent, err := h.talk.SendMessage(as("alice"), draft)
	require.NoError(t, err)
	return sent
}

// coordinate gives the intent a coordinator.
func (h *house) coordinate(t require.TestingT, agent string) {
	_, err := h.intents.CreateCoordinator(as("creator"), &openintentv1.CreateCoordinatorRequest{IntentId: &h.intent, AgentId: &agent})
	require.NoError(t, err)
}

// returns lets time pass and makes the steps that are due.
func (h *house) returns(t require.TestingT, after time.Duration) {
	h.clock.Advance(after)
	require.NoError(t, h.SweepObligations(context.Background()))
}

// toldOf returns what the server has said in the intent, as "recipient event", oldest first. A return also has its number.
func (h *house) toldOf(t require.TestingT) (lines []string) {
	for _, m := range h.toldIn(t) {
		lines = append(lines, toldLine(m))
	}
	return lines
}

// toldIn returns the server's own words in the intent, oldest first.
func (h *house) toldIn(t require.TestingT) []*openintentv1.Message {
	list, err := h.channels.ListChannels(asOperator(), &openintentv1.ListChannelsRequest{IntentId: h.intent})
	require.NoError(t, err)
	for _, channel := range list.GetChannels() {
		if channel.GetName() == channels.SystemName {
			page, err := h.talk.ListMessages(asOperator(), &openintentv1.ListMessagesRequest{ChannelId: channel.GetId()})
			require.NoError(t, err)
			return page.GetMessages()
		}
	}
	return nil
}

func toldLine(m *openintentv1.Message) string {
	line := m.GetTo() + " " + m.GetPayload().GetFields()["event"].GetStringValue()
	if number := m.GetPayload().GetFields()["number"].GetNumberValue(); number != 0 {
		line += fmt.Sprint(" ", number)
	}
	return line
}

// abandon ends the intent.
func (h *house) abandon(t require.TestingT) {
	intent, err := h.intents.GetIntent(as("creator"), &openintentv1.GetIntentRequest{IntentId: h.intent})
	require.NoError(t, err)
	_, err = h.intents.SetIntentStatus(as("creator"), &openintentv1.SetIntentStatusRequest{
		IntentId: h.intent, Status: openintentv1.IntentStatus_INTENT_STATUS_ABANDONED, ExpectedVersion: ptr(intent.GetVersion()),
	})
	require.NoError(t, err)
}

func (h *house) discharge(ctx context.Context, m *openintentv1.Message) (*openintentv1.Discharge, error) {
	return h.DischargeObligation(ctx, &openintentv1.DischargeObligationRequest{ChannelId: m.GetChannelId(), MessageId: m.GetId(), Note: ptr("enough")})
}

func (h *house) signal(t require.TestingT, agent string, m *openintentv1.Message, signal string) {
	_, err := h.AddReaction(as(agent), &openintentv1.AddReactionRequest{ChannelId: m.GetChannelId(), MessageId: m.GetId(), Signal: signal})
	require.NoError(t, err)
}

const step = obligation.Interval + time.Second

func TestAnObligationReturnsAndIsEscalated(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.coordinate(t, "carla")
		asked := h.oblige(t, "bob")
		require.Equal(t, openintentv1.Blocks_BLOCKS_HALTED, asked.GetObligation().GetBlocks())
		h.returns(t, step-2*time.Second)
		require.Empty(t, h.toldOf(t), "an interval has to pass")
		require.NoError(t, h.answer("bob", asked.GetId(), 0))
		told := []string{"bob obligation_return 1", "bob obligation_return 2", "bob obligation_return 3", "carla obligation_overdue",
			"operator obligation_overdue"}
		for i := range told {
			h.returns(t, step)
			h.returns(t, 0)
			require.Equal(t, told[:i+1], h.toldOf(t), "each once, and an answer does not close it")
		}
		h.returns(t, 30*24*time.Hour)
		require.Equal(t, told, h.toldOf(t), "then it is silent")
		list, err := h.ListObligations(as("alice"), &openintentv1.ListObligationsRequest{
			AgentId: "alice", Side: openintentv1.ObligationSide_OBLIGATION_SIDE_OWED,
		})
		require.NoError(t, err)
		require.Len(t, list.GetMessages(), 1, "but open")
	})
}

// What was missed does not come all at once, and none is left out.
func TestALateReturnComesOnceAndTheOthersAfterIt(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.oblige(t, "bob")
		found := h.owedAt(t)
		h.returns(t, 24*time.Hour)
		require.NoError(t, h.lookAtObligation(t.Context(), found[0]), "another server, which has found the same step, makes none")
		h.returns(t, time.Minute)
		require.Equal(t, []string{"bob obligation_return 1"}, h.toldOf(t))
		h.returns(t, obligation.Interval)
		require.Equal(t, []string{"bob obligation_return 1", "bob obligation_return 2"}, h.toldOf(t))

		h.oblige(t, "carol")
		h.swept = 1
		h.returns(t, step)
		require.Len(t, h.toldOf(t), 3, "a run looks at so many obligations")
		h.returns(t, 0)
		require.ElementsMatch(t, []string{
			"bob obligation_return 1", "bob obligation_return 2", "bob obligation_return 3", "carol obligation_return 1",
		}, h.toldOf(t), "and the next one goes on")
	})
}

// A page of obligations holds so many bytes, and the next one goes on behind them.
func TestPagesOfObligationsAreBoundedInBytes(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		large, err := structpb.NewStruct(map[string]any{"text": strings.Repeat("x", 250_000)})
		require.NoError(t, err)
		var owed, found []string
		for range 14 {
			owed = append(owed, h.oblige(t, "bob", func(r *openintentv1.SendMessageRequest) { r.Payload = large }).GetId())
		}
		request := &openintentv1.ListObligationsRequest{AgentId: "bob"}
		pages := 0
		for more := true; more; pages++ {
			page, err := h.ListObligations(as("bob"), request)
			require.NoError(t, err)
			for _, m := range page.GetMessages() {
				found = append(found, m.GetId())
			}
			request.Cursor, more = page.NextCursor, page.NextCursor != nil
		}
		require.Equal(t, owed, found)
		require.Equal(t, 2, pages)
	})
}

// Without a coordinator the operator is told in its place, and not twice.
func TestTheOperatorStandsInForTheCoordinator(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.oblige(t, "bob")
		for range 6 {
			h.returns(t, step)
		}
		told := h.toldOf(t)
		require.Equal(t, []string{"operator obligation_overdue"}, told[3:])
	})
}

func TestSignalsMoveTheSteps(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.coordinate(t, "carla")
		put := h.oblige(t, "bob")
		h.signal(t, "bob", put, "working")
		h.signal(t, "bob", put, "queued")
		h.returns(t, step)
		require.Empty(t, h.toldOf(t))
		h.returns(t, step)
		require.Equal(t, []string{"bob obligation_return 1"}, h.toldOf(t), "once in total")
		_, err := h.discharge(as("alice"), put)
		require.NoError(t, err)

		refused := h.oblige(t, "eric")
		h.signal(t, "eric", refused, "declined")
		h.signal(t, "eric", refused, "blocked")
		require.Equal(t, []string{"carla obligation_declined"}, h.toldOf(t)[1:])
		h.returns(t, step)
		require.Equal(t, []string{"operator obligation_overdue"}, h.toldOf(t)[2:])

		asked := h.oblige(t, "frank")
		h.signal(t, "frank", asked, "unclear")
		for range 4 {
			h.returns(t, step)
		}
		require.Len(t, h.toldOf(t), 3, "it waits for the author")
		_, err = h.talk.SendMessage(as("alice"), &openintentv1.SendMessageRequest{ChannelId: h.channel, ParentId: ptr(asked.GetId())})
		require.NoError(t, err)
		h.returns(t, step)
		require.Equal(t, []string{"frank obligation_return 1"}, h.toldOf(t)[3:])
	})
}

// A signal that was taken away and is set again counts as the first time.
func TestASignalThatIsSetAgainCounts(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		asked := h.oblige(t, "bob")
		h.signal(t, "bob", asked, "unclear")
		_, err := h.RemoveReaction(as("bob"), &openintentv1.RemoveReactionRequest{
			ChannelId: h.channel, MessageId: asked.GetId(), Signal: "unclear",
		})
		require.NoError(t, err)
		h.signal(t, "bob", asked, "unclear")
		for range 3 {
			h.returns(t, step)
		}
		require.Empty(t, h.toldOf(t))
	})
}

// Whoever declines is heard until the coordinator has been told, also after the last return.
func TestDeclinedAfterTheLastReturn(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.coordinate(t, "carla")
		asked := h.oblige(t, "bob")
		for range 3 {
			h.returns(t, step)
		}
		h.signal(t, "bob", asked, "declined")
		h.signal(t, "bob", asked, "blocked")
		require.Equal(t, []string{"carla obligation_declined"}, h.toldOf(t)[3:])
		h.returns(t, step)
		require.Equal(t, []string{"operator obligation_overdue"}, h.toldOf(t)[4:])
	})
}

// Nobody else's signals count: not those of the author, and not those of a bystander.
func TestOnlyTheSignalsOfThoseWhoOweCount(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		asked := h.oblige(t, "bob")
		h.signal(t, "alice", asked, "unclear")
		h.returns(t, step)
		require.Equal(t, []string{"bob obligation_return 1"}, h.toldOf(t))
	})
}

func TestWhoMayDischarge(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		asked := h.oblige(t, "bob")
		_, err := h.discharge(as("bob"), asked)
		faulttest.Require(t, err, fault.Denied, "NOT_THE_AUTHOR")
		_, err = h.discharge(as("eve"), asked)
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		first, err := h.discharge(as("dora"), asked)
		require.NoError(t, err, "the delegate need not see it")
		require.Equal(t, "dora", first.GetAgentId())
		h.clock.Advance(time.Minute)
		again, err := h.discharge(as("alice"), asked)
		require.NoError(t, err)
		require.Equal(t, first.String(), again.String(), "a repeat gives what the first one gave")
		h.returns(t, 24*time.Hour)
		require.Empty(t, h.toldOf(t))
		plain := h.oblige(t, "bob", func(r *openintentv1.SendMessageRequest) { r.Obligation = nil })
		_, err = h.discharge(as("alice"), plain)
		faulttest.Require(t, err, fault.Conflict, "NO_OBLIGATION")
		_, err = h.discharge(asOperator(), h.oblige(t, "bob"))
		require.NoError(t, err)
	})
}

func TestNamingADelegateShowsItNothing(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		asked := h.oblige(t, "bob")
		for _, side := range []openintentv1.ObligationSide{0, 1, 2} {
			list, err := h.ListObligations(as("dora"), &openintentv1.ListObligationsRequest{AgentId: "dora", Side: side})
			require.NoError(t, err)
			require.Empty(t, list.GetMessages())
		}
		_, err := h.talk.GetMessage(as("dora"), &openintentv1.GetMessageRequest{ChannelId: h.channel, MessageId: asked.GetId()})
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		_, err = h.ListObligations(as("dora"), &openintentv1.ListObligationsRequest{AgentId: "bob"})
		require.Error(t, err)
	})
}

// A return has nothing of the content, and leads to the request.
func TestAReturnIsAKnock(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		asked := h.oblige(t, "bob")
		_, err := h.talk.SendMessage(as("bob"), &openintentv1.SendMessageRequest{ChannelId: h.channel}) // alice is no stranger then
		require.NoError(t, err)
		reason := func() (reasons []string) {
			page, err := h.talk.GetInbox(as("bob"), &openintentv1.GetInboxRequest{AgentId: "bob", Include: []string{"attention"}})
			require.NoError(t, err)
			for _, item := range page.GetItems() {
				block := item.GetAttention()
				reasons = append(reasons, block.GetReason())
				if block.GetReason() == "obligation_return" {
					require.Equal(t, openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND, block.GetPolicy())
					require.Equal(t, "alice", block.GetKnock().GetFrom())
					require.Equal(t, "desk", block.GetKnock().GetWhere())
					require.Equal(t, "the lock", block.GetKnock().GetTopic())
					require.Equal(t, "/v1/channels/"+h.channel+"/messages/"+asked.GetId(), block.GetKnock().GetPullWith())
				}
			}
			return reasons
		}
		require.Equal(t, []string{"obligation"}, reason())
		h.returns(t, step)
		require.Equal(t, []string{"obligation", "obligation_return"}, reason())
		require.NotContains(t, h.toldIn(t)[0].String(), "the lock", "so a deletion takes the subject along")
		_, err = h.discharge(as("alice"), asked)
		require.NoError(t, err)
		require.Equal(t, []string{"direct_request", "direct_notify"}, reason(), "nothing must be answered any more")
	})
}

// The server sends the reminder, and it is the author of the request who may be a stranger.
func TestAReturnHasNoWordsOfAStranger(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		asked := h.oblige(t, "bob")
		h.returns(t, step)
		page, err := h.talk.GetInbox(as("bob"), &openintentv1.GetInboxRequest{AgentId: "bob", Include: []string{"attention"}})
		require.NoError(t, err)
		knock := page.GetItems()[1].GetAttention().GetKnock()
		require.Equal(t, "alice", knock.GetFrom())
		require.Equal(t, h.channel, knock.GetWhere())
		require.Equal(t, "request in "+h.channel, knock.GetTopic())
		require.Equal(t, "/v1/channels/"+h.channel+"/messages/"+asked.GetId(), knock.GetPullWith())
	})
}

// An agent that no longer sees the request is not reminded of it.
func TestAReturnGoesOnlyToWhoSeesTheRequest(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob", "eric")
		policy := openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT
		closed, err := h.channels.CreateChannel(as("alice"), &openintentv1.CreateChannelRequest{
			IntentId: h.intent, Name: "closed", MemberPolicy: &policy, Members: []string{"alice", "bob", "gina"},
		})
		require.NoError(t, err)
		h.oblige(t, "role:worker", func(r *openintentv1.SendMessageRequest) { r.ChannelId = closed.GetId() })
		h.oblige(t, "gina", func(r *openintentv1.SendMessageRequest) { r.ChannelId = closed.GetId() })
		_, err = h.channels.RemoveChannelMember(as("alice"), &openintentv1.RemoveChannelMemberRequest{ChannelId: closed.GetId(), AgentId: "gina"})
		require.NoError(t, err)
		h.returns(t, step)
		require.Equal(t, []string{"bob obligation_return 1"}, h.toldOf(t))
	})
}

// An author cannot make the server talk without end.
func TestAnAuthorHasSoManyOpenObligations(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		var last *openintentv1.Message
		for range obligation.MaxOpen {
			last = h.oblige(t, "bob")
		}
		request := openintentv1.MessageType_MESSAGE_TYPE_REQUEST
		draft := &openintentv1.SendMessageRequest{
			ChannelId: h.channel, To: ptr("bob"), MessageType: &request, Obligation: &openintentv1.Obligation{},
		}
		_, err := h.talk.SendMessage(as("alice"), draft)
		faulttest.Require(t, err, fault.Quota, "TOO_MANY_OBLIGATIONS")
		_, err = h.talk.SendMessageByName(as("alice"), &openintentv1.SendMessageByNameRequest{
			IntentId: h.intent, Name: "new", To: draft.To, MessageType: &request, Obligation: draft.GetObligation(),
		})
		faulttest.Require(t, err, fault.Quota, "TOO_MANY_OBLIGATIONS")
		there, err := h.channels.ListChannels(asOperator(), &openintentv1.ListChannelsRequest{IntentId: h.intent})
		require.NoError(t, err)
		for _, channel := range there.GetChannels() {
			require.NotEqual(t, "new", channel.GetName(), "a refused message makes no channel")
		}
		_, err = h.talk.SendMessage(as("carol"), draft)
		require.NoError(t, err, "others have their own")
		_, err = h.discharge(as("alice"), last)
		require.NoError(t, err)
		_, err = h.talk.SendMessage(as("alice"), draft)
		require.NoError(t, err)
		notice := openintentv1.MessageType_MESSAGE_TYPE_NOTIFY
		draft.MessageType = &notice
		_, err = h.talk.SendMessage(as("alice"), draft)
		faulttest.RequireBadField(t, err, "obligation")

		h.abandon(t)
		listed := h.toldIn(t)[0].GetPayload().GetFields()
		require.Equal(t, obligation.MaxOpen+1, int(listed["count"].GetNumberValue()), "all of them count")
		require.Len(t, listed["obligations"].GetListValue().GetValues(), listedAtEnd, "and the first ones are listed")
	})
}

// However many hold the role, a return goes to so many of them.
func TestAReturnGoesToTheFirstHoldersOfARole(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		var names []string
		for i := range returnedTo + 1 {
			names = append(names, fmt.Sprintf("worker-%03d", i))
		}
		h.hire(t, names...)
		h.oblige(t, "role:worker")
		h.returns(t, step)
		var told []string
		for _, m := range h.toldIn(t) {
			told = append(told, m.GetTo())
		}
		require.ElementsMatch(t, names[:returnedTo], told)
	})
}

func TestBothSidesListTheirObligationsInPages(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "alice", "bob")
		var all []string
		for i := range 5 {
			to := []string{"bob", "role:worker"}[i%2]
			all = append(all, h.oblige(t, to).GetId())
		}
		h.oblige(t, "eric")
		listed := func(agent string, side openintentv1.ObligationSide) (ids []string) {
			req := &openintentv1.ListObligationsRequest{AgentId: agent, Side: side, Limit: ptr(int32(2))}
			for {
				page, err := h.ListObligations(as(agent), req)
				require.NoError(t, err)
				for _, m := range page.GetMessages() {
					ids = append(ids, m.GetId())
				}
				if req.Cursor = page.NextCursor; page.NextCursor == nil {
					return ids
				}
			}
		}
		require.Equal(t, all, listed("bob", openintentv1.ObligationSide_OBLIGATION_SIDE_OWES))
		require.Len(t, listed("alice", openintentv1.ObligationSide_OBLIGATION_SIDE_OWED), 6)
		require.Empty(t, listed("alice", openintentv1.ObligationSide_OBLIGATION_SIDE_OWES), "nobody owes itself, whatever its role")
		require.Len(t, listed("eric", 0), 1)
	})
}
