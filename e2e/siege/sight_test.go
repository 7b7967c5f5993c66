package siege

import (
	"bufio"
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
)

// sightKeys are each bound to the agent of the same name. Only some of them list roles.
const sightKeys = "ops,ann=ann,bob=bob;roles=reviewer,eve=eve,rev=rev;roles=reviewer|tester,carla=carla"

// besieged is a server with one intent of ann's.
type besieged struct {
	*harness.Server
	intent string
}

// eachBesieged runs an attack against a server on each engine.
func eachBesieged(t *testing.T, attack func(t *testing.T, b *besieged)) {
	t.Helper()
	databasetest.EachURL(t, func(t *testing.T, url string) {
		b := &besieged{Server: harness.StartProcess(t, harness.Options{URL: url, APIKeys: sightKeys})}
		intent, err := b.by("ann").Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "work"})
		require.NoError(t, err)
		b.intent = intent.GetId()
		attack(t, b)
	})
}

// by returns a caller that acts as an agent, with the agent's own key.
func (b *besieged) by(agent string) *harness.Caller { return b.With(agent, agent) }

func (b *besieged) channel(t *testing.T, creator string, members ...string) string {
	t.Helper()
	request := &openintentv1.CreateChannelRequest{IntentId: b.intent, Name: "talk", Members: members}
	if len(members) > 0 {
		request.MemberPolicy = openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT.Enum()
	}
	channel, err := b.by(creator).Channels.CreateChannel(t.Context(), request)
	require.NoError(t, err)
	return channel.GetId()
}

// send sends a message with a distinctive text; the message is a request when the text begins with "asked".
func (b *besieged) send(t *testing.T, sender, channel, to, text string) *openintentv1.Message {
	t.Helper()
	request := &openintentv1.SendMessageRequest{ChannelId: channel, Payload: said(text)}
	if to != "" {
		request.To = &to
	}
	if strings.HasPrefix(text, "asked") {
		request.MessageType = openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum()
	}
	message, err := b.by(sender).Messages.SendMessage(t.Context(), request)
	require.NoError(t, err)
	return message
}

func said(text string) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{"text": structpb.NewStringValue(text)}}
}

func textIn(m *openintentv1.Message) string {
	return m.GetPayload().GetFields()["text"].GetStringValue()
}

func register(t *testing.T, caller *harness.Caller, role string) error {
	t.Helper()
	_, err := caller.Agents.UpsertAgent(t.Context(), &openintentv1.RegisterAgentRequest{RoleId: &role})
	return err
}

// shown returns, by way of receiving, what an agent is shown of a channel from its beginning; nothing if refused.
func (b *besieged) shown(t *testing.T, agent, channel string) map[string][]string {
	t.Helper()
	c, shown := b.by(agent), make(map[string][]string)
	page, err := c.Messages.ListMessages(t.Context(), &openintentv1.ListMessagesRequest{ChannelId: channel})
	shown["the list"] = textsUnlessRefused(t, page.GetMessages(), err)
	for name, request := range map[string]*openintentv1.SubscribeRequest{
		"the channel's stream": {Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: channel}},
		"the intent's stream":  {Scope: &openintentv1.SubscribeRequest_IntentId{IntentId: b.intent}},
	} {
		request.AfterPosition = proto.Int64(0)
		shown[name] = drain(t, c, request)
	}
	shown["server-sent events"] = b.events(t, c, "/v1/subscribe/channels/"+channel+"?last_event_id=0")
	return shown
}

func textsUnlessRefused(t *testing.T, messages []*openintentv1.Message, err error) []string {
	t.Helper()
	if err != nil {
		require.Contains(t, []string{"FORBIDDEN", "NOT_A_MEMBER"}, harness.Reason(err), "%v", err)
	}
	texts := []string{}
	for _, m := range messages {
		texts = append(texts, textIn(m))
	}
	return texts
}

// drain reads a stream until it has caught up, or is refused.
func drain(t *testing.T, c *harness.Caller, request *openintentv1.SubscribeRequest) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	stream, err := c.Messages.Subscribe(ctx, request)
	require.NoError(t, err)
	var messages []*openintentv1.Message
	for {
		delivery, err := stream.Recv()
		if err != nil || delivery.GetCaughtUp() {
			return textsUnlessRefused(t, messages, err)
		}
		if delivery.GetMessage() != nil {
			messages = append(messages, delivery.GetMessage())
		}
	}
}

// events reads server-sent events until they have caught up, or are refused.
func (b *besieged) events(t *testing.T, c *harness.Caller, path string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	request, err := c.Request(ctx, "GET", path, "")
	require.NoError(t, err)
	response, err := b.HTTP.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Contains(t, []int{http.StatusOK, http.StatusForbidden}, response.StatusCode)
	texts := []string{}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		_, rest, found := strings.Cut(strings.ReplaceAll(lines.Text(), `": "`, `":"`), `"text":"`)
		if found {
			text, _, _ := strings.Cut(rest, `"`)
			texts = append(texts, text)
		}
		if lines.Text() == ": caught up" {
			break
		}
	}
	return texts
}

// requireShown asserts that an agent is shown exactly these messages on every path.
func (b *besieged) requireShown(t *testing.T, agent, channel string, expected ...string) {
	t.Helper()
	shown := b.shown(t, agent, channel)
	for path, texts := range shown {
		require.Equal(t, append([]string{}, expected...), texts, "%s shows %s", path, agent)
	}
	figure(t, "%s is shown %d messages on each of %d paths", agent, len(expected), len(shown))
}

// requireHidden asserts that an agent can neither get nor acknowledge nor answer these messages.
func (b *besieged) requireHidden(t *testing.T, agent string, messages ...*openintentv1.Message) {
	t.Helper()
	c := b.by(agent)
	for _, m := range messages {
		place := &openintentv1.GetMessageRequest{ChannelId: m.GetChannelId(), MessageId: m.GetId()}
		_, err := c.Messages.GetMessage(t.Context(), place)
		require.Equal(t, "MESSAGE_NOT_FOUND", harness.Reason(err), "GET of %s", textIn(m))
		_, err = c.Messages.UpdateMessage(t.Context(), &openintentv1.UpdateMessageRequest{
			ChannelId: m.GetChannelId(), MessageId: m.GetId(), Status: openintentv1.MessageStatus_MESSAGE_STATUS_READ,
		})
		require.Equal(t, "MESSAGE_NOT_FOUND", harness.Reason(err), "marking %s", textIn(m))
		_, err = c.Messages.MarkInboxRead(t.Context(), &openintentv1.MarkInboxReadRequest{AgentId: agent, MessageIds: []string{m.GetId()}})
		require.Equal(t, "MESSAGE_NOT_FOUND", harness.Reason(err), "marking %s in the inbox", textIn(m))
		_, err = c.Attention.MarkSurfaced(t.Context(), &openintentv1.MarkSurfacedRequest{AgentId: agent, MessageIds: []string{m.GetId()}})
		require.Equal(t, "MESSAGE_NOT_FOUND", harness.Reason(err), "marking %s surfaced", textIn(m))
		_, err = c.Attention.GetAttention(t.Context(), &openintentv1.GetAttentionRequest{
			ChannelId: m.GetChannelId(), MessageId: m.GetId(),
		})
		require.Equal(t, "MESSAGE_NOT_FOUND", harness.Reason(err), "what %s asks", textIn(m))
		_, err = c.Attention.SetDisposition(t.Context(), &openintentv1.SetDispositionRequest{
			ChannelId: m.GetChannelId(), MessageId: m.GetId(), Disposition: "ignored",
		})
		require.Equal(t, "MESSAGE_NOT_FOUND", harness.Reason(err), "disposing of %s", textIn(m))
		_, err = c.Messages.ReplyMessage(t.Context(), &openintentv1.ReplyMessageRequest{
			ChannelId: m.GetChannelId(), MessageId: m.GetId(), Payload: said("mine"),
		})
		require.Equal(t, "MESSAGE_NOT_FOUND", harness.Reason(err), "answering %s", textIn(m))
		_, err = c.Messages.ListMessageDeliveries(t.Context(), &openintentv1.ListMessageDeliveriesRequest{
			ChannelId: m.GetChannelId(), MessageId: m.GetId(),
		})
		require.Equal(t, "MESSAGE_NOT_FOUND", harness.Reason(err), "the deliveries of %s", textIn(m))
		_, err = c.Messages.AwaitResponses(t.Context(), &openintentv1.AwaitResponsesRequest{
			ChannelId: m.GetChannelId(), MessageId: m.GetId(),
		})
		require.Equal(t, "MESSAGE_NOT_FOUND", harness.Reason(err), "the answers to %s", textIn(m))
	}
}

// inbox returns the messages that wait in an agent's inbox.
func (b *besieged) inbox(t *testing.T, agent string) []string {
	t.Helper()
	box, err := b.by(agent).Messages.GetInbox(t.Context(), &openintentv1.GetInboxRequest{AgentId: agent})
	require.NoError(t, err)
	texts := []string{}
	for _, item := range box.GetItems() {
		texts = append(texts, textIn(item.GetMessage()))
	}
	return texts
}

// fetched returns the deliveries that wait in a durable subscription.
func fetched(t *testing.T, c *harness.Caller, id string) []string {
	t.Helper()
	page, err := c.Subscriptions.FetchDeliveries(t.Context(), &openintentv1.FetchDeliveriesRequest{SubscriptionId: id})
	require.NoError(t, err)
	texts := []string{}
	for _, d := range page.GetDeliveries() {
		if d.GetMessage() != nil {
			texts = append(texts, textIn(d.GetMessage()))
		}
	}
	return texts
}

// TestARoleGoesToWhoseKeyListsIt checks that an agent holds a role only if its key lists it or the operator gives it.
func TestARoleGoesToWhoseKeyListsIt(t *testing.T) {
	eachBesieged(t, func(t *testing.T, b *besieged) {
		for _, role := range []string{"reviewer", "*", "role:reviewer"} {
			require.Equal(t, "ROLE_NOT_ALLOWED", harness.Reason(register(t, b.by("eve"), role)), role)
			_, err := b.by("eve").Agents.RegisterAgent(t.Context(), &openintentv1.RegisterAgentRequest{RoleId: &role})
			require.Equal(t, "ROLE_NOT_ALLOWED", harness.Reason(err), role)
		}
		answer := b.by("eve").REST(t, "POST", "/v1/agents", `{"agent_id": "eve", "role_id": "reviewer"}`)
		require.Equal(t, 403, answer.Status, "%s", answer.Body)
		require.NoError(t, register(t, b.by("eve"), ""))
		answer = b.by("eve").REST(t, "POST", "/v1/agents/register", `{"role_id": "reviewer"}`)
		require.Equal(t, 403, answer.Status, "%s", answer.Body)
		named := b.With("ops", "eve") // an unbound key that names an agent is no operator
		require.Equal(t, "ROLE_NOT_ALLOWED", harness.Reason(register(t, named, "reviewer")))
		require.Equal(t, "ROLE_NOT_ALLOWED", harness.Reason(register(t, b.by("bob"), "tester")))
		require.NoError(t, register(t, b.by("bob"), "reviewer"))
		found, err := b.by("ann").Agents.GetAgent(t.Context(), &openintentv1.GetAgentRequest{AgentId: "eve"})
		require.NoError(t, err)
		require.Empty(t, found.GetRoleId())
	})
}

// TestALateHolderSeesNoHistory checks that an agent that takes a role late gets, on every path, only the open
// requests to the role and the messages that are sent afterwards.
func TestALateHolderSeesNoHistory(t *testing.T) {
	eachBesieged(t, func(t *testing.T, b *besieged) {
		channel := b.channel(t, "ann")
		require.NoError(t, register(t, b.by("rev"), "reviewer"))
		require.NoError(t, register(t, b.by("bob"), ""))
		durable := func(scope *openintentv1.CreateSubscriptionRequest) string {
			made, err := b.by("bob").Subscriptions.CreateSubscription(t.Context(), scope)
			require.NoError(t, err)
			return made.GetId()
		}
		wide, narrow := durable(&openintentv1.CreateSubscriptionRequest{}), durable(&openintentv1.CreateSubscriptionRequest{
			ChannelId: &channel,
		})
		secret := b.send(t, "ann", channel, "role:reviewer", "secret")
		answered := b.send(t, "ann", channel, "role:reviewer", "asked and answered")
		b.send(t, "ann", channel, "role:reviewer", "asked and open")
		_, err := b.by("rev").Messages.ReplyMessage(t.Context(), &openintentv1.ReplyMessageRequest{
			ChannelId: channel, MessageId: answered.GetId(), Payload: said("done"),
		})
		require.NoError(t, err)
		live, err := b.by("bob").Messages.Subscribe(t.Context(), &openintentv1.SubscribeRequest{
			Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: channel},
		})
		require.NoError(t, err)
		require.Empty(t, nextText(t, live), "a stream that begins now has caught up immediately")

		require.NoError(t, register(t, b.by("bob"), "reviewer"))
		require.Equal(t, "asked and open", nextText(t, live), "an open request arrives as backfill")
		b.requireShown(t, "bob", channel, "asked and open")
		b.requireHidden(t, "bob", secret, answered)
		require.Equal(t, []string{"asked and open"}, b.inbox(t, "bob"))
		later := durable(&openintentv1.CreateSubscriptionRequest{})

		b.send(t, "ann", channel, "role:reviewer", "later")
		require.Equal(t, "later", nextText(t, live))
		require.NoError(t, register(t, b.by("bob"), "reviewer"), "an agent that registers again keeps its time")
		b.requireShown(t, "bob", channel, "asked and open", "later")
		require.Equal(t, []string{"asked and open", "later"}, b.inbox(t, "bob"))
		require.Equal(t, []string{"asked and open", "later"}, fetched(t, b.by("bob"), wide))
		require.Equal(t, []string{"asked and open", "later"}, fetched(t, b.by("bob"), narrow))
		require.Equal(t, []string{"later"}, fetched(t, b.by("bob"), later))
		b.requireShown(t, "rev", channel, "secret", "asked and answered", "asked and open", "done", "later")

		_, err = b.by("bob").Agents.DeregisterAgent(t.Context(), &openintentv1.DeregisterAgentRequest{AgentId: "bob"})
		require.NoError(t, err)
		require.NoError(t, register(t, b.by("bob"), "reviewer"))
		b.requireShown(t, "bob", channel, "asked and open")
	})
}

// nextText returns the text of a stream's next message; "" for the mark that the stream has caught up.
func nextText(t *testing.T, stream grpc.ServerStreamingClient[openintentv1.SubscribeResponse]) string {
	t.Helper()
	delivery, err := stream.Recv()
	require.NoError(t, err)
	return textIn(delivery.GetMessage())
}

// TestAnOpenedChannelKeepsWhatWasSaidBefore checks that messages from before an explicit channel was opened stay
// visible only to those who were members then.
func TestAnOpenedChannelKeepsWhatWasSaidBefore(t *testing.T) {
	eachBesieged(t, func(t *testing.T, b *besieged) {
		channel := b.channel(t, "ann", "ann", "bob", "rev")
		_, err := b.by("ann").Coordinators.CreateCoordinator(t.Context(), &openintentv1.CreateCoordinatorRequest{
			IntentId: &b.intent, AgentId: proto.String("carla"),
		})
		require.NoError(t, err)
		require.NoError(t, register(t, b.by("rev"), "reviewer"))
		before := []*openintentv1.Message{
			b.send(t, "ann", channel, "", "to all members"),
			b.send(t, "ann", channel, "bob", "to bob"),
			b.send(t, "bob", channel, "role:reviewer", "asked of a reviewer"),
		}
		for _, agent := range []string{"eve", "carla"} {
			b.requireRefused(t, agent, channel)
		}
		open := &openintentv1.UpdateChannelRequest{
			Channel:    &openintentv1.Channel{Id: channel, MemberPolicy: openintentv1.MemberPolicy_MEMBER_POLICY_INTENT},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"member_policy"}},
		}
		_, err = b.by("eve").Channels.UpdateChannel(t.Context(), open)
		require.Equal(t, "FORBIDDEN", harness.Reason(err))
		_, err = b.by("carla").Channels.UpdateChannel(t.Context(), open)
		require.NoError(t, err)

		for _, agent := range []string{"eve", "carla"} {
			b.requireShown(t, agent, channel)
			b.requireHidden(t, agent, before...)
			require.Empty(t, b.inbox(t, agent))
		}
		b.send(t, "bob", channel, "", "after")
		for _, agent := range []string{"eve", "carla"} {
			b.requireShown(t, agent, channel, "after")
		}
		b.requireShown(t, "bob", channel, "to all members", "to bob", "asked of a reviewer", "after")
		b.requireShown(t, "rev", channel, "to all members", "asked of a reviewer", "after")
	})
}

// requireRefused asserts that an agent takes no part in a channel, and sees nothing of it on the intent's stream.
func (b *besieged) requireRefused(t *testing.T, agent, channel string) {
	t.Helper()
	for path, texts := range b.shown(t, agent, channel) {
		require.Empty(t, texts, path)
	}
	_, err := b.by(agent).Messages.ListMessages(t.Context(), &openintentv1.ListMessagesRequest{ChannelId: channel})
	require.Equal(t, "NOT_A_MEMBER", harness.Reason(err))
}

// TestAMemberSeesWhatIsSentFromItsJoiningOn checks that a member that joins a channel with `history: from_join` sees
// nothing from before it joined, whether or not it is added again.
func TestAMemberSeesWhatIsSentFromItsJoiningOn(t *testing.T) {
	eachBesieged(t, func(t *testing.T, b *besieged) {
		made, err := b.by("ann").Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{
			IntentId: b.intent, Name: "talk", Members: []string{"ann", "rev"},
			MemberPolicy: openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT.Enum(),
			Options:      &openintentv1.ChannelOptions{History: openintentv1.ChannelHistory_CHANNEL_HISTORY_FROM_JOIN.Enum()},
		})
		require.NoError(t, err)
		channel := made.GetId()
		add := func() {
			_, err := b.by("ann").Channels.AddChannelMembers(t.Context(), &openintentv1.AddChannelMembersRequest{
				ChannelId: channel, Members: []string{"bob"},
			})
			require.NoError(t, err)
		}
		require.NoError(t, register(t, b.by("bob"), "reviewer"))
		earlier := []*openintentv1.Message{
			b.send(t, "ann", channel, "", "before"), b.send(t, "ann", channel, "role:reviewer", "asked before"),
		}
		add()
		b.requireHidden(t, "bob", earlier...)
		seen := b.send(t, "ann", channel, "", "between")
		b.requireShown(t, "bob", channel, "between")
		_, err = b.by("ann").Channels.RemoveChannelMember(t.Context(), &openintentv1.RemoveChannelMemberRequest{ChannelId: channel, AgentId: "bob"})
		require.NoError(t, err)
		add()
		b.requireHidden(t, "bob", slices.Concat(earlier, []*openintentv1.Message{seen})...)
		b.send(t, "ann", channel, "", "after")
		b.requireShown(t, "bob", channel, "after")
		b.requireShown(t, "rev", channel, "before", "between", "after")
		_, err = b.by("ann").Channels.UpdateChannel(t.Context(), &openintentv1.UpdateChannelRequest{
			Channel:    &openintentv1.Channel{Id: channel},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"options.history"}},
		})
		require.NoError(t, err)
		b.requireShown(t, "bob", channel, "before", "asked before", "between", "after")
	})
}
