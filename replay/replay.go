package replay

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/message"
)

// Clients make the calls that read a log. The calls carry the identity of the user who replays.
type Clients struct {
	Agents    openintentv1.AgentServiceClient
	Channels  openintentv1.ChannelServiceClient
	Messages  openintentv1.MessageServiceClient
	Attention openintentv1.AttentionServiceClient
}

// Options say what is replayed.
type Options struct {
	IntentID string
	// Agent is for whom; the caller itself if it is empty. Only the operator may name another.
	Agent string
	Rules Rules
}

var (
	// ErrAgentMissing means that the operator has not said for whom it replays.
	ErrAgentMissing = errors.New("the operator receives no intent's messages; say for which agent to replay")
	// ErrNotTheAgent means that somebody else than the operator replays for another agent.
	ErrNotTheAgent = errors.New("an agent replays for itself; only the operator replays for other agents")
)

// Run reads the log and judges it. It reads up to what was stored when it began.
func Run(ctx context.Context, clients Clients, options Options) (*Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the stream
	who, err := clients.Agents.WhoAmI(ctx, &openintentv1.WhoAmIRequest{})
	if err != nil {
		return nil, err
	}
	result := &Result{IntentID: options.IntentID, Agent: options.Agent, Rules: options.Rules}
	switch {
	case result.Agent == "" && who.GetOperator():
		return nil, ErrAgentMissing
	case result.Agent == "":
		result.Agent = who.GetAgentId()
	case result.Agent != who.GetAgentId() && !who.GetOperator():
		return nil, ErrNotTheAgent
	}
	role, err := roleOf(ctx, clients, result.Agent)
	if err != nil {
		return nil, err
	}
	budgets, err := budgetsOf(ctx, clients, options.IntentID)
	if err != nil {
		return nil, err
	}
	reading := &reading{Clients: clients, operator: who.GetOperator(), judging: newJudging(result, role, budgets)}
	if err := reading.all(ctx); err != nil {
		return nil, err
	}
	reading.end()
	return result, nil
}

// read are the entries of the log that a replay needs: messages, and what tells what became of them.
var read = []string{
	"channel_message", string(message.AnnotationDisposition), string(message.AnnotationReaction), string(message.AnnotationClaim),
	string(message.AnnotationClaimEnd),
}

// reading reads a log and judges what it reads.
type reading struct {
	Clients
	operator bool
	*judging
}

func (r *reading) all(ctx context.Context) error {
	beginning := int64(0)
	stream, err := r.Messages.Subscribe(ctx, &openintentv1.SubscribeRequest{
		Scope:         &openintentv1.SubscribeRequest_IntentId{IntentId: r.result.IntentID},
		AfterPosition: &beginning, EventTypes: read, Include: []string{"annotations"},
	})
	if err != nil {
		return err
	}
	for {
		delivery, err := stream.Recv()
		switch {
		case err != nil:
			return err
		case delivery.GetCaughtUp():
			return nil
		case delivery.GetAnnotation() != nil:
			if a := delivery.GetAnnotation(); a.GetAgentId() == r.result.Agent {
				r.disposals.annotated(a)
			}
		case delivery.GetMessage() != nil:
			if err := r.message(ctx, delivery); err != nil {
				return err
			}
		}
	}
}

// message takes over one message: it counts as a turn, the agent wrote it, or the agent received it.
func (r *reading) message(ctx context.Context, delivery *openintentv1.SubscribeResponse) error {
	m, err := r.recorded.read(delivery)
	if err != nil {
		return err
	}
	if r.turns.braked(m) {
		m.Conversation = m.Conversation.WithBrake()
	}
	if m.Sender == r.result.Agent {
		r.disposals.answered(m)
		return nil
	}
	receives, err := r.receives(ctx, m)
	if err == nil && receives {
		r.delivered(delivery, m)
	}
	return err
}

// receives tells whether a message of somebody else was for the agent. The agent itself sees nothing else; the operator asks the server.
func (r *reading) receives(ctx context.Context, m *message.Message) (bool, error) {
	if !r.operator {
		return true, nil
	}
	if message.IsAgent(m.Target) && m.Target != r.result.Agent {
		return false, nil
	}
	explained, err := r.Attention.GetAttention(ctx, &openintentv1.GetAttentionRequest{
		ChannelId: m.ChannelID, MessageId: m.ID, AgentId: &r.result.Agent,
	})
	if status.Code(err) == codes.NotFound {
		return false, nil // it was evicted meanwhile
	}
	if err != nil {
		return false, err
	}
	rules := explained.GetRules()
	return explained.Policy != nil || len(rules) > 0 && rules[len(rules)-1].GetRule() != "no_recipient", nil
}

// roleOf returns the role that an agent holds; empty for an agent without a record.
func roleOf(ctx context.Context, clients Clients, agent string) (string, error) {
	found, err := clients.Agents.GetAgent(ctx, &openintentv1.GetAgentRequest{AgentId: agent})
	if status.Code(err) == codes.NotFound {
		return "", nil
	}
	return found.GetRoleId(), err
}
