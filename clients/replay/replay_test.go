package replay

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
)

// listing lists channels, one on each page.
type listing struct {
	openintentv1.ChannelServiceClient

	channels []*openintentv1.Channel
}

func (l listing) ListChannels(
	_ context.Context, request *openintentv1.ListChannelsRequest, _ ...grpc.CallOption,
) (*openintentv1.ListChannelsResponse, error) {
	at := len(request.GetCursor())
	page := &openintentv1.ListChannelsResponse{Channels: l.channels[at : at+1]}
	if at+1 < len(l.channels) {
		page.NextCursor = new(request.GetCursor() + "x")
	}
	return page, nil
}

func TestBudgetsAreThoseOfAllPages(t *testing.T) {
	channel := func(id string, budget int64) *openintentv1.Channel {
		return &openintentv1.Channel{Id: id, Options: &openintentv1.ChannelOptions{TurnBudget: &budget}}
	}
	budgets, err := budgetsOf(t.Context(), Clients{Channels: listing{channels: []*openintentv1.Channel{
		channel("a", 2), channel("b", 0), channel("c", 20),
	}}}, "i")
	require.NoError(t, err)
	require.Equal(t, map[string]int{"a": 2, "b": 0, "c": 20}, budgets)
}

// Only what the agent itself did with a message counts. A message that must not be answered needs nothing done.
func TestWhatOthersDoDisposesOfNothing(t *testing.T) {
	rules := Today()
	r := &reading{judging: newJudging(&Result{Agent: "bob", Rules: rules}, "", nil)}
	to := func(id, target string) *openintentv1.SubscribeResponse {
		return &openintentv1.SubscribeResponse{Message: &openintentv1.Message{
			Id: id, ChannelId: "c", Sender: "ann", To: &target, MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST,
			CreatedAt: timestamppb.New(noon),
		}}
	}
	does := func(agent, id string) *openintentv1.SubscribeResponse {
		return &openintentv1.SubscribeResponse{Annotation: &openintentv1.Annotation{
			Type: "message_disposition", AgentId: agent, MessageId: id, Disposition: new("deferred"),
		}}
	}
	log := []*openintentv1.SubscribeResponse{to("m", "bob"), does("carol", "m"), to("n", "bob"), does("bob", "n")}
	require.NoError(t, r.judgeAll(t.Context(), log))
	r.end()
	require.Len(t, r.result.Messages, 2)
	require.Empty(t, r.result.Messages[0].Disposition)
	require.Equal(t, "deferred", r.result.Messages[1].Disposition)
	require.Equal(t, 1, r.result.Totals.NeverDisposed)
	require.False(t, (&Message{Policy: openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_NOT_RESPOND}).NeverDisposed())
}

// Of a log that the operator reads, only what the agent received is judged.
func TestWhatTheAgentDidNotReceiveIsNotJudged(t *testing.T) {
	known := &answering{got: map[string]bool{"m": true}}
	r := &reading{judging: newJudging(&Result{Agent: "bob", Rules: Today()}, "", nil)}
	r.received = &received{attention: known, agent: "bob", begun: make(map[string]bool)}
	var log []*openintentv1.SubscribeResponse
	for _, m := range []*openintentv1.Message{{Id: "m", ChannelId: "c"}, {Id: "n", ChannelId: "other"}} {
		m.Sender, m.To, m.CreatedAt = "ann", new("*"), timestamppb.New(noon)
		m.MessageType = openintentv1.MessageType_MESSAGE_TYPE_NOTIFY
		log = append(log, &openintentv1.SubscribeResponse{Message: m})
	}
	require.NoError(t, r.judgeAll(t.Context(), log))
	require.Len(t, r.result.Messages, 1)
	require.Equal(t, "m", r.result.Messages[0].ID)
}

// errAdmitted ends a replay that was admitted.
var errAdmitted = errors.New("the replay was admitted")

// knowing knows who calls.
type knowing struct {
	openintentv1.AgentServiceClient

	who *openintentv1.WhoAmIResponse
}

func (k knowing) WhoAmI(context.Context, *openintentv1.WhoAmIRequest, ...grpc.CallOption) (*openintentv1.WhoAmIResponse, error) {
	return k.who, nil
}

func (k knowing) GetAgent(context.Context, *openintentv1.GetAgentRequest, ...grpc.CallOption) (*openintentv1.Agent, error) {
	return nil, errAdmitted
}

func TestWhoReplaysForAnother(t *testing.T) {
	ann := &openintentv1.WhoAmIResponse{AgentId: "ann"}
	operator := &openintentv1.WhoAmIResponse{AgentId: "operator", Operator: true}
	for _, c := range []struct {
		who   *openintentv1.WhoAmIResponse
		agent string
		want  error
	}{
		{ann, "", errAdmitted},
		{ann, "ann", errAdmitted},
		{ann, "bob", ErrNotTheAgent},
		{operator, "", ErrAgentMissing},
		{operator, "bob", errAdmitted},
	} {
		_, err := Run(t.Context(), Clients{Agents: knowing{who: c.who}}, Options{IntentID: "i", Agent: c.agent, Rules: Today()})
		require.ErrorIs(t, err, c.want, "%v for %q", c.who, c.agent)
	}
}
