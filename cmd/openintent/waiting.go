package main

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	openintentv1 "openintent/gen/openintent/v1"
)

// pointer names a message that waits, and nothing of what it says.
type pointer struct {
	Message string `json:"message"`
	Channel string `json:"channel"`
	Intent  string `json:"intent"`
	Policy  string `json:"policy"`
	Reason  string `json:"reason"`
	// Waiting is how many messages wait.
	Waiting int `json:"waiting"`
}

// json returns the pointer as one line.
func (p pointer) json() string {
	line, _ := json.Marshal(p) // texts and a number always encode
	return string(line)
}

// settings returns the pointer as settings of a command's environment. The agent is there for the commands of this program that it calls.
func (p pointer) settings(agent string) []string {
	return []string{
		"OPENINTENT_MESSAGE=" + p.Message, "OPENINTENT_CHANNEL=" + p.Channel, "OPENINTENT_INTENT=" + p.Intent,
		"OPENINTENT_POLICY=" + p.Policy, "OPENINTENT_REASON=" + p.Reason, "OPENINTENT_WAITING=" + strconv.Itoa(p.Waiting),
		"OPENINTENT_AGENT_ID=" + agent,
	}
}

// lookAgain bounds how long it takes to notice a change that no delivery announces, such as the end of a claim.
const lookAgain = 5 * time.Minute

// answerable are the policies of messages that an agent is woken for.
var answerable = []openintentv1.ResponsePolicy{
	openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND, openintentv1.ResponsePolicy_RESPONSE_POLICY_MAY_RESPOND,
}

// waitingInbox is what waits in an agent's inbox to be taken up.
type waitingInbox struct {
	connection grpc.ClientConnInterface
	// agent is the inbox's owner, once identify has found it.
	agent string
}

// beatEvery is how often the server hears of a wake that has nothing else to say.
const beatEvery = 10 * time.Second

// beat lets the server know that somebody can wake the agent, until the context ends. That a beat fails, the next look notices.
func (i *waitingInbox) beat(ctx context.Context, every time.Duration) {
	ticks := time.NewTicker(every)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			_, _ = openintentv1.NewAgentServiceClient(i.connection).WhoAmI(ctx, &openintentv1.WhoAmIRequest{})
		}
	}
}

// wakes is a connection whose calls say that they are those of a wake.
type wakes struct{ grpc.ClientConnInterface }

// wakeHeader marks the calls of a wake.
const wakeHeader = "x-openintent-wake"

// Invoke makes a call with one answer.
func (w wakes) Invoke(ctx context.Context, method string, request, response any, options ...grpc.CallOption) error {
	return w.ClientConnInterface.Invoke(metadata.AppendToOutgoingContext(ctx, wakeHeader, "1"), method, request, response, options...)
}

// NewStream begins a call with many answers.
func (w wakes) NewStream(
	ctx context.Context, description *grpc.StreamDesc, method string, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return w.ClientConnInterface.NewStream(metadata.AppendToOutgoingContext(ctx, wakeHeader, "1"), description, method, options...)
}

// identify finds the agent that the caller acts as.
func (i *waitingInbox) identify(ctx context.Context) error {
	known, err := openintentv1.NewAgentServiceClient(i.connection).WhoAmI(ctx, &openintentv1.WhoAmIRequest{})
	if err == nil && known.GetOperator() {
		return errNoAgent
	}
	i.agent = known.GetAgentId()
	return err
}

func (i *waitingInbox) messages() openintentv1.MessageServiceClient {
	return openintentv1.NewMessageServiceClient(i.connection)
}

// look returns what waits, oldest first: what the agent must or may answer and has neither been handed nor read or claimed. A page of the inbox is
// enough; what comes after it waits longer.
func (i *waitingInbox) look(ctx context.Context) ([]pointer, error) {
	request := &openintentv1.GetInboxRequest{
		AgentId: i.agent, Limit: new(int32(largestPage)), Include: []string{"attention"}, Policy: answerable, Unhanded: true,
	}
	page, err := i.messages().GetInbox(ctx, request)
	for err == nil && len(page.GetItems()) == 0 && page.NextCursor != nil { // the page had looked at enough messages
		request.Cursor = page.NextCursor
		page, err = i.messages().GetInbox(ctx, request)
	}
	if err != nil {
		return nil, err
	}
	var found []pointer
	for _, item := range page.GetItems() {
		if item.GetRead() || item.GetAttention().GetClaim().GetHolder() == i.agent {
			continue
		}
		found = append(found, pointer{
			Message: item.GetMessage().GetId(), Channel: item.GetMessage().GetChannelId(), Intent: item.GetIntentId(),
			Policy: word(item.GetAttention().GetPolicy()), Reason: item.GetAttention().GetReason(),
		})
	}
	for n := range found {
		found[n].Waiting = len(found)
	}
	return found, nil
}

// next waits until something waits, and returns it. It follows the agent before it looks, so nothing comes unnoticed in between.
func (i *waitingInbox) next(ctx context.Context) ([]pointer, error) {
	for {
		found, err := i.lookAndFollow(ctx)
		if err != nil || len(found) > 0 {
			return found, err
		}
	}
}

// lookAndFollow returns what waits. If there is nothing, it returns once something has come that may wait, or after lookAgain.
func (i *waitingInbox) lookAndFollow(ctx context.Context) ([]pointer, error) {
	following, cancel := context.WithTimeout(ctx, lookAgain)
	defer cancel()
	stream, err := i.messages().Subscribe(following, &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: i.agent}, Include: []string{"attention"},
	})
	if err != nil {
		return nil, err
	}
	if _, err = stream.Header(); err != nil {
		return nil, err
	}
	found, err := i.look(ctx)
	for err == nil && len(found) == 0 {
		delivery, lost := stream.Recv()
		switch policy := delivery.GetAttention().GetPolicy(); {
		case lost != nil && following.Err() != nil && ctx.Err() == nil:
			return nil, nil
		case lost != nil:
			return nil, lost
		case policy == answerable[0], policy == answerable[1]:
			return nil, nil
		}
	}
	return found, err
}
