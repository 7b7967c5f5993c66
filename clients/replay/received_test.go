package replay

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
)

// answering answers as a server does that knows who received what.
type answering struct {
	openintentv1.AttentionServiceClient

	got   map[string]bool
	gone  map[string]bool
	fail  error
	asked atomic.Int64
}

func (a *answering) GetAttention(
	_ context.Context, request *openintentv1.GetAttentionRequest, _ ...grpc.CallOption,
) (*openintentv1.GetAttentionResponse, error) {
	a.asked.Add(1)
	switch {
	case a.fail != nil:
		return nil, a.fail
	case a.gone[request.GetMessageId()]:
		return nil, status.Error(codes.NotFound, "there is no such message")
	case a.got[request.GetMessageId()]:
		return &openintentv1.GetAttentionResponse{Policy: openintentv1.ResponsePolicy_RESPONSE_POLICY_MAY_RESPOND.Enum()}, nil
	}
	return &openintentv1.GetAttentionResponse{Rules: []*openintentv1.AttentionRule{{Rule: "no_recipient"}}}, nil
}

// A history has four channels: the agent is on the first from the beginning, and on the next two from some place on. It takes its role at
// another place.
func history(random *rand.Rand, count int) ([]*openintentv1.SubscribeResponse, *answering) {
	known := &answering{got: make(map[string]bool), gone: make(map[string]bool)}
	begins := []int{0, random.IntN(count), random.IntN(count), count}
	took := random.IntN(count)
	log := make([]*openintentv1.SubscribeResponse, count)
	for i := range log {
		channel := random.IntN(len(begins))
		m := &openintentv1.Message{
			Id: fmt.Sprintf("msg_%d", i), ChannelId: fmt.Sprintf("chan_%d", channel), Sender: "alice",
			To:          new([]string{"*", "bob", "carol", "role:builder", "role:other"}[random.IntN(5)]),
			MessageType: openintentv1.MessageType_MESSAGE_TYPE_NOTIFY,
		}
		if random.IntN(3) == 0 {
			m.MessageType = openintentv1.MessageType_MESSAGE_TYPE_REQUEST
		}
		on := i >= begins[channel]
		switch m.GetTo() {
		case "*", "bob":
			known.got[m.GetId()] = on
		case "role:builder":
			// Of what came before it took the role, it has read some, and some were open requests.
			read, open := random.IntN(4) == 0, m.GetMessageType() == openintentv1.MessageType_MESSAGE_TYPE_REQUEST && random.IntN(2) == 0
			known.got[m.GetId()] = on && (i >= took || read || open)
			if read && on {
				m.ReadAt = timestamppb.New(noon)
			}
		}
		log[i] = &openintentv1.SubscribeResponse{Message: m}
		if random.IntN(10) == 0 {
			log[i] = &openintentv1.SubscribeResponse{Annotation: &openintentv1.Annotation{AgentId: "bob"}}
		}
	}
	return log, known
}

// What the operator's replay finds out by few questions is what the server would say of each message.
func TestWhatAnAgentReceivedIsFoundByFewQuestions(t *testing.T) {
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 1))
		log, known := history(random, 6000)
		r := &received{attention: known, agent: "bob", role: "builder", begun: make(map[string]bool)}
		for from := 0; from < len(log); {
			next := min(from+1+random.IntN(1000), len(log))
			of, err := r.of(t.Context(), log[from:next])
			require.NoError(t, err)
			for i, delivery := range log[from:next] {
				require.Equal(t, known.got[delivery.GetMessage().GetId()], of[i], "seed %d, place %d", seed, from+i)
			}
			from = next
		}
	}
}

// An agent that is on all channels and has its role costs questions about the first messages alone.
func TestALongLogCostsFewQuestions(t *testing.T) {
	known := &answering{got: make(map[string]bool)}
	r := &received{attention: known, agent: "bob", role: "builder", begun: make(map[string]bool)}
	for page := range 100 {
		log := make([]*openintentv1.SubscribeResponse, 100)
		for i := range log {
			m := &openintentv1.Message{
				Id: fmt.Sprintf("msg_%d_%d", page, i), ChannelId: fmt.Sprintf("chan_%d", i%4), Sender: "alice",
				To: new([]string{"*", "role:builder"}[i/4%2]), MessageType: openintentv1.MessageType_MESSAGE_TYPE_NOTIFY,
			}
			known.got[m.GetId()], log[i] = true, &openintentv1.SubscribeResponse{Message: m}
		}
		_, err := r.of(t.Context(), log)
		require.NoError(t, err)
	}
	require.LessOrEqual(t, known.asked.Load(), int64(100), "of 10,000 messages")
}

// What was removed between reading and asking says nothing of what stands before it.
func TestAMessageThatIsGoneTellsNothingOfOthers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	log, known := history(random, 500)
	for _, delivery := range log {
		if id := delivery.GetMessage().GetId(); random.IntN(3) == 0 {
			known.gone[id] = true
		}
	}
	r := &received{attention: known, agent: "bob", begun: make(map[string]bool)}
	of, err := r.of(t.Context(), log)
	require.NoError(t, err)
	for i, delivery := range log {
		if m := delivery.GetMessage(); !known.gone[m.GetId()] && (m.GetTo() == "*" || m.GetTo() == "bob") {
			require.Equal(t, known.got[m.GetId()], of[i], "place %d", i)
		}
	}
}

func TestAQuestionThatFailsEndsTheReplay(t *testing.T) {
	log, known := history(rand.New(rand.NewPCG(1, 3)), 1000)
	known.fail = errors.New("the server is away")
	r := &received{attention: known, agent: "bob", role: "builder", begun: make(map[string]bool)}
	_, err := r.of(t.Context(), log)
	require.ErrorIs(t, err, known.fail)
}
