package messaging

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/internal/jsonvalue"
	"openintent/messaging/writing"
)

// notify lets the server say these words to their agents in the intent of a channel, in one transaction for each group.
func (h *house) notify(t require.TestingT, intentID string, groups ...[]writing.Notice) {
	require.NoError(t, h.db.Write(asOperator(), func(tx *database.Tx) error {
		intentNo, err := h.intents.Resolve(tx, intentID)
		if err != nil {
			return err
		}
		heads, err := intents.Lock(tx, intentNo)
		if err != nil {
			return err
		}
		for _, group := range groups {
			if err := h.messaging.Notify(tx, heads.Get(intentNo), group...); err != nil {
				return err
			}
		}
		return nil
	}))
}

func saying(to, text string) writing.Notice {
	var payload jsonvalue.Builder
	return writing.Notice{To: to, Payload: payload.String("text", text).Object()}
}

// system returns the intent's channels named _system.
func (h *house) system(t require.TestingT, intentID string) (found []*openintentv1.Channel) {
	listed, err := h.channels.ListChannels(asOperator(), &openintentv1.ListChannelsRequest{IntentId: intentID})
	require.NoError(t, err)
	for _, channel := range listed.GetChannels() {
		if channel.GetName() == channels.SystemName {
			found = append(found, channel)
		}
	}
	return found
}

func TestTheServersWordsReachWhomTheyAreFor(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		h.notify(t, intentID, []writing.Notice{saying("bob", "one"), saying("carol", "two")}, []writing.Notice{saying("bob", "three")})
		h.notify(t, intentID, []writing.Notice{saying("bob", "four")})
		found := h.system(t, intentID)
		require.Len(t, found, 1)
		require.Equal(t, caller.System, found[0].GetCreatedBy())
		require.EqualValues(t, 4, found[0].GetMessageCount())
		id := found[0].GetId()
		require.Equal(t, []string{"one", "three", "four"}, textsOf(h.listIn(as("bob"), t, &listRequest{ChannelId: id})))
		require.Equal(t, []string{"two"}, textsOf(h.listIn(as("carol"), t, &listRequest{ChannelId: id})))
		require.Empty(t, h.listIn(as("eve"), t, &listRequest{ChannelId: id}), "others read nothing of it")
		for _, m := range h.listIn(asOperator(), t, &listRequest{ChannelId: id}) {
			require.Equal(t, caller.System, m.GetSender())
			require.Equal(t, notify, m.GetMessageType())
		}
		inbox, err := h.messaging.GetInbox(as("carol"), &openintentv1.GetInboxRequest{AgentId: "carol"})
		require.NoError(t, err)
		require.Len(t, inbox.GetItems(), 1)
	})
}

func TestAWaitingInboxHearsTheServer(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		waiting := h.awaitInbox(as("dora"), t, "dora")
		h.notify(t, intentID, []writing.Notice{saying("dora", "one")})
		require.Len(t, received(t, waiting), 1)
	})
}

func TestNobodyElseWritesInTheSystemChannelOrChangesIt(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		h.notify(t, intentID, []writing.Notice{saying("bob", "one")})
		id := h.system(t, intentID)[0].GetId()
		for _, by := range []string{"alice", "bob", "eve", caller.Operator} {
			ctx := as(by)
			if by == caller.Operator {
				ctx = asOperator()
			}
			_, err := h.messaging.SendMessage(ctx, &sendRequest{ChannelId: id, To: ptr("carol")})
			faulttest.Require(t, err, fault.Denied, "CHANNEL_RESERVED")
			_, err = h.messaging.SendMessageByName(ctx, &openintentv1.SendMessageByNameRequest{IntentId: intentID, Name: "_system"})
			faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD")
			_, err = h.channels.CreateChannel(ctx, &createRequest{IntentId: intentID, Name: "_system"})
			faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD")
			_, err = h.channels.DeleteChannel(ctx, &openintentv1.DeleteChannelRequest{ChannelId: id})
			faulttest.Require(t, err, fault.Denied, "CHANNEL_RESERVED")
			_, err = h.channels.AddChannelMembers(ctx, &openintentv1.AddChannelMembersRequest{ChannelId: id, Members: []string{"zoe"}})
			faulttest.Require(t, err, fault.Denied, "CHANNEL_RESERVED")
			_, err = h.channels.RemoveChannelMember(ctx, &openintentv1.RemoveChannelMemberRequest{ChannelId: id, AgentId: "bob"})
			faulttest.Require(t, err, fault.Denied, "CHANNEL_RESERVED")
			_, err = h.channels.UpdateChannel(ctx, &openintentv1.UpdateChannelRequest{
				Channel:    &openintentv1.Channel{Id: id, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED},
				UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"status"}},
			})
			faulttest.Require(t, err, fault.Denied, "CHANNEL_RESERVED")
		}
		require.EqualValues(t, 1, h.system(t, intentID)[0].GetMessageCount())
	})
}

func TestTheSystemChannelEndsWithItsIntent(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID, untouched := h.intent(t), h.intent(t)
		h.notify(t, intentID, []writing.Notice{saying("bob", "one")})
		for _, id := range []string{intentID, untouched} {
			h.setStatus(t, id, openintentv1.IntentStatus_INTENT_STATUS_COMPLETED)
			h.notify(t, id, []writing.Notice{saying("bob", "too late")})
		}
		require.Empty(t, h.system(t, untouched))
		found := h.system(t, intentID)[0]
		require.Equal(t, openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED, found.GetStatus())
		require.EqualValues(t, 1, found.GetMessageCount())
		h.clock.Advance(48 * time.Hour)
		h.sweep(t)
		require.Zero(t, h.rows(t, "messages", "sender = 'system'"), "it is purged with the others")
	})
}

// Somebody may have made a channel of the name before the server reserved it.
func TestAnEarlierChannelOfTheNameIsClosed(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		earlier := h.create(t, &createRequest{IntentId: intentID, Name: "mine"})
		require.NoError(t, h.db.Write(asOperator(), func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{SQL: "UPDATE channels SET name = '_system' WHERE id = ?", Args: []any{earlier}})
		}))
		h.notify(t, intentID, []writing.Notice{saying("bob", "one")})
		require.Len(t, h.system(t, intentID), 2)
		require.Equal(t, openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED, h.channel(t, earlier).GetStatus())
		h.deleteChannel(t, earlier)
		require.Len(t, h.system(t, intentID), 1)
	})
}

func TestOneAgentsNoticesDoNotPushOutThoseOfOthers(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		bounded := func(text string) writing.Notice {
			notice := saying("bob", text)
			notice.HourlyAtMost = 3
			return notice
		}
		h.notify(t, intentID, []writing.Notice{saying("carol", "hers")})
		h.notify(t, intentID, []writing.Notice{bounded("1"), bounded("2")})
		h.notify(t, intentID, []writing.Notice{bounded("3"), bounded("4"), saying("bob", "without a bound")}, []writing.Notice{bounded("5")})
		id := h.system(t, intentID)[0].GetId()
		require.Equal(t, []string{"1", "2", "3", "without a bound"}, textsOf(h.listIn(as("bob"), t, &listRequest{ChannelId: id})))
		require.Equal(t, []string{"hers"}, textsOf(h.listIn(as("carol"), t, &listRequest{ChannelId: id})))
		h.clock.Advance(time.Hour + time.Second)
		h.notify(t, intentID, []writing.Notice{bounded("6")})
		require.Len(t, h.listIn(as("bob"), t, &listRequest{ChannelId: id}), 5, "an hour later it is told again")
	})
}
