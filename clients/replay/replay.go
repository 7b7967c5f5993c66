package replay

import (
	"context"
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

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
	// Progress is told now and then how many messages and annotations were read; nil tells nobody.
	Progress func(read int)
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
	reading := &reading{Clients: clients, progress: options.Progress, judging: newJudging(result, role, budgets)}
	if reading.progress == nil {
		reading.progress = func(int) {}
	}
	if who.GetOperator() {
		reading.received = &received{attention: clients.Attention, agent: result.Agent, role: role, begun: make(map[string]bool)}
	}
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

// batch is how many deliveries are judged together, and batchBytes how large they may be in all.
const (
	batch      = 1000
	batchBytes = 8 << 20
)

// reading reads a log and judges what it reads.
type reading struct {
	Clients
	// received tells what was for the agent; nil if the agent reads itself, which sees nothing else.
	received *received
	progress func(read int)
	*judging
}

// all reads the log to its end.
func (r *reading) all(ctx context.Context) error {
	beginning := int64(0)
	stream, err := r.Messages.Subscribe(ctx, &openintentv1.SubscribeRequest{
		Scope:         &openintentv1.SubscribeRequest_IntentId{IntentId: r.result.IntentID},
		AfterPosition: &beginning, EventTypes: read, Include: []string{"annotations"},
	})
	if err != nil {
		return err
	}
	var waiting []*openintentv1.SubscribeResponse
	for size, count := 0, 0; ; {
		delivery, err := stream.Recv()
		if err != nil {
			return err
		}
		waiting, size = append(waiting, delivery), size+proto.Size(delivery)
		if len(waiting) < batch && size < batchBytes && !delivery.GetCaughtUp() {
			continue
		}
		count += len(waiting)
		r.progress(count)
		if err := r.judgeAll(ctx, waiting); err != nil || delivery.GetCaughtUp() {
			return err
		}
		waiting, size = waiting[:0], 0
	}
}

// judgeAll takes over what follows each other in the log.
func (r *reading) judgeAll(ctx context.Context, deliveries []*openintentv1.SubscribeResponse) (err error) {
	var received []bool
	if r.received != nil {
		if received, err = r.received.of(ctx, deliveries); err != nil {
			return err
		}
	}
	for i, delivery := range deliveries {
		if a := delivery.GetAnnotation(); a != nil && a.GetAgentId() == r.result.Agent {
			r.disposals.annotated(a)
		}
		if delivery.GetMessage() == nil {
			continue
		}
		if err := r.message(delivery, received == nil || received[i]); err != nil {
			return err
		}
	}
	return nil
}

// message takes over one message: it counts as a turn, and the agent wrote it, or may have received it.
func (r *reading) message(delivery *openintentv1.SubscribeResponse, received bool) error {
	m, err := r.recorded.read(delivery)
	if err != nil {
		return err
	}
	if r.turns.braked(m) {
		m.Conversation = m.Conversation.WithBrake()
	}
	switch {
	case m.Sender == r.result.Agent:
		r.disposals.answered(m)
	case received:
		r.delivered(delivery, m)
	}
	return nil
}

// roleOf returns the role that an agent holds; empty for an agent without a record.
func roleOf(ctx context.Context, clients Clients, agent string) (string, error) {
	found, err := clients.Agents.GetAgent(ctx, &openintentv1.GetAgentRequest{AgentId: agent})
	if status.Code(err) == codes.NotFound {
		return "", nil
	}
	return found.GetRoleId(), err
}
