package e2e

import (
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"pgregory.net/rapid"

	"openintent/e2e/model"
	openintentv1 "openintent/gen/openintent/v1"
)

var channelNames = []string{"plan", "data", "review", "talk"}

func (y *history) drawMembers(t *rapid.T, least int) []string {
	members := make([]string, least+below(t, "further members", 4))
	for i := range members {
		members[i] = y.drawAgent(t, "member")
	}
	return members
}

func drawTTL(t *rapid.T) time.Duration {
	return pick(t, "ttl", []time.Duration{0, 0, 5 * time.Second, time.Minute})
}

// drawMax draws how many messages a channel lists; at times so few that messages are evicted.
func drawMax(t *rapid.T) int {
	return pick(t, "max messages", []int{1000, 1000, 3, 5})
}

func seconds(d time.Duration) *int64 {
	if d == 0 {
		return nil
	}
	return proto.Int64(int64(d / time.Second))
}

func policy(explicit bool) openintentv1.MemberPolicy {
	if explicit {
		return openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT
	}
	return openintentv1.MemberPolicy_MEMBER_POLICY_INTENT
}

func shownHistory(fromJoin bool) openintentv1.ChannelHistory {
	if fromJoin {
		return openintentv1.ChannelHistory_CHANNEL_HISTORY_FROM_JOIN
	}
	return openintentv1.ChannelHistory_CHANNEL_HISTORY_ALL
}

func (y *history) createChannel(t *rapid.T) {
	caller, createdBy := y.drawActing(t)
	wanted := model.Channel{
		Intent: y.drawIntent(t), Name: pick(t, "name", channelNames),
		Members: y.drawMembers(t, 0), Explicit: sometimes(t, "explicit"), Audit: sometimes(t, "audit"),
		FromJoin: sometimes(t, "from join"), TTL: drawTTL(t), Max: drawMax(t),
	}
	if sometimes(t, "of a task") {
		wanted.Task = taskOf(wanted.Intent)
		if seldom(t, "a task that is none") {
			wanted.Task = "task_01HXYZ00000000000000000000"
		}
	}
	c, expected := y.world.Create(caller, createdBy, wanted)
	created, err := y.as(caller).Channels.CreateChannel(y.ctx, &openintentv1.CreateChannelRequest{
		IntentId: wanted.Intent.ID, Name: wanted.Name, Members: wanted.Members,
		MemberPolicy: policy(wanted.Explicit).Enum(), TaskId: given(wanted.Task), CreatedBy: given(createdBy),
		Options: &openintentv1.ChannelOptions{
			Audit: &wanted.Audit, TtlSeconds: seconds(wanted.TTL), MaxMessages: proto.Int64(int64(wanted.Max)),
			History: shownHistory(wanted.FromJoin).Enum(),
		},
	})
	if y.came(t, "create channel", expected, err) {
		near(t, "the channel's creation", y.world.Now, created.GetCreatedAt())
		c.Created(created.GetId(), created.GetCreatedAt().AsTime())
		y.sameChannel(t, c, created)
		y.watch(t, c)
	}
	y.wrote()
}

// drawManager draws the agent that tries to manage a channel: mostly one that may.
func (y *history) drawManager(t *rapid.T, c *model.Channel) string {
	if sometimes(t, "the creator") && c.Creator != model.System {
		return c.Creator
	}
	return y.drawCaller(t)
}

func (y *history) updateChannel(t *rapid.T) {
	c := y.drawChannel(t)
	caller := y.drawManager(t, c)
	members, explicit, audit := y.drawMembers(t, 0), sometimes(t, "explicit"), sometimes(t, "audit")
	ttl, most, fromJoin := drawTTL(t), drawMax(t), sometimes(t, "from join")
	fields := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
		"members", "member_policy", "options.audit", "options.ttl_seconds", "options.max_messages", "options.history",
	}), 1, 6, rapid.ID).Draw(t, "fields")
	var change model.Change
	for _, field := range fields {
		switch field {
		case "members":
			change.Members = &members
		case "member_policy":
			change.Explicit = &explicit
		case "options.audit":
			change.Audit = &audit
		case "options.ttl_seconds":
			change.TTL = &ttl
		case "options.max_messages":
			change.Max = &most
		case "options.history":
			change.FromJoin = &fromJoin
		}
	}
	wanted := &openintentv1.Channel{
		Id: c.ID, Members: members, MemberPolicy: policy(explicit), Options: &openintentv1.ChannelOptions{
			Audit: &audit, TtlSeconds: seconds(ttl), MaxMessages: proto.Int64(int64(most)),
			History: shownHistory(fromJoin).Enum(),
		},
	}
	if change.Close = seldom(t, "close too"); change.Close {
		wanted.Status, fields = openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED, append(fields, "status")
	}
	y.update(t, "update channel", caller, c, change, wanted, fields)
}

// endChannel closes a channel, deletes it, or closes a closed one again.
func (y *history) endChannel(t *rapid.T) {
	c := y.drawChannel(t)
	caller := y.drawManager(t, c)
	if sometimes(t, "close") {
		y.closeChannel(t, caller, c)
		return
	}
	expected := y.world.Delete(caller, c)
	_, err := y.as(caller).Channels.DeleteChannel(y.ctx, &openintentv1.DeleteChannelRequest{ChannelId: c.ID})
	y.came(t, "delete channel", expected, err)
	y.wrote()
	y.check(t, c)
}

func (y *history) closeChannel(t *rapid.T, caller string, c *model.Channel) {
	y.update(t, "close channel", caller, c, model.Change{Close: true},
		&openintentv1.Channel{Id: c.ID, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED}, []string{"status"})
}

func (y *history) update(
	t *rapid.T, operation, caller string, c *model.Channel, change model.Change, wanted *openintentv1.Channel, fields []string,
) {
	expected := y.world.Update(caller, c, change)
	updated, err := y.as(caller).Channels.UpdateChannel(y.ctx, &openintentv1.UpdateChannelRequest{
		Channel: wanted, UpdateMask: &fieldmaskpb.FieldMask{Paths: fields},
	})
	if y.came(t, operation, expected, err) {
		y.sameChannel(t, c, updated)
	}
	y.wrote()
	y.check(t, c)
}

// changeMembers adds members or removes one.
func (y *history) changeMembers(t *rapid.T) {
	c := y.drawChannel(t)
	caller, names := y.drawManager(t, c), y.drawMembers(t, 1)
	operation, remove := "add members", sometimes(t, "remove")
	var expected model.Outcome
	var updated *openintentv1.Channel
	var err error
	if remove {
		operation, expected = "remove member", y.world.RemoveMember(caller, c, names[0])
		updated, err = y.as(caller).Channels.RemoveChannelMember(y.ctx, &openintentv1.RemoveChannelMemberRequest{
			ChannelId: c.ID, AgentId: names[0],
		})
	} else {
		expected = y.world.AddMembers(caller, c, names)
		updated, err = y.as(caller).Channels.AddChannelMembers(y.ctx, &openintentv1.AddChannelMembersRequest{
			ChannelId: c.ID, Members: names,
		})
	}
	if y.came(t, operation, expected, err) {
		y.sameChannel(t, c, updated)
	}
	y.wrote()
	y.check(t, c)
}

func (y *history) getChannel(t *rapid.T) {
	caller, c := y.drawCaller(t), y.drawChannel(t)
	expected := y.world.Visible(caller, c)
	got, err := y.as(caller).Channels.GetChannel(y.ctx, &openintentv1.GetChannelRequest{ChannelId: c.ID})
	if y.came(t, "get channel", expected, err) {
		y.sameChannel(t, c, got)
	}
}

var channelStatuses = map[string]openintentv1.ChannelStatus{
	"open":   openintentv1.ChannelStatus_CHANNEL_STATUS_OPEN,
	"closed": openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED,
}

func (y *history) listChannels(t *rapid.T) {
	status := pick(t, "status", []string{"", "open", "closed"})
	y.compareChannels(t, y.drawCaller(t), y.drawIntent(t), status)
}

func (y *history) compareChannels(t *rapid.T, caller string, intent *model.Intent, status string) {
	request := &openintentv1.ListChannelsRequest{IntentId: intent.ID}
	if status != "" {
		request.Status = channelStatuses[status].Enum()
	}
	expected, outcome := y.world.List(caller, intent, status)
	got, err := y.as(caller).Channels.ListChannels(y.ctx, request)
	if !y.came(t, "list channels", outcome, err) {
		return
	}
	require.Len(t, got.GetChannels(), len(expected))
	for i, c := range expected {
		require.Equal(t, c.ID, got.GetChannels()[i].GetId(), "open ones come first, each group oldest first")
		y.sameChannel(t, c, got.GetChannels()[i])
	}
}

// sameChannel compares a channel with the model's.
func (y *history) sameChannel(t *rapid.T, expected *model.Channel, got *openintentv1.Channel) {
	channel := &openintentv1.Channel{
		Id: expected.ID, IntentId: expected.Intent.ID, TaskId: given(expected.Task), Name: expected.Name,
		CreatedBy: expected.Creator, Members: expected.Members, MemberPolicy: policy(expected.Explicit),
		Options: &openintentv1.ChannelOptions{
			Audit: &expected.Audit, TtlSeconds: seconds(expected.TTL), MaxMessages: proto.Int64(int64(expected.Max)),
			History: shownHistory(expected.FromJoin).Enum(), TurnBudget: proto.Int64(20),
		},
		Status:       channelStatuses["closed"],
		CreatedAt:    got.GetCreatedAt(), // the server's choice
		ClosedAt:     got.GetClosedAt(),  // compared below
		MessageCount: int64(len(expected.Sent)),
	}
	if expected.Open() {
		channel.Status = channelStatuses["open"]
	}
	if n := len(expected.Sent); n > 0 {
		channel.LastMessageAt = stamp(expected.Sent[n-1].CreatedAt)
	}
	require.True(t, proto.Equal(channel, got), "the channel is\n%v, the model says\n%v", got, channel)
	near(t, "the closing", expected.ClosedAt, got.GetClosedAt())
}
