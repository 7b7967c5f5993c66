package channels

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

func TestUpdateChangesOnlyWhatTheMaskNames(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		created := h.create(t, "alice", &createRequest{
			IntentId: intentID, Name: "n", Members: []string{"bob"}, MemberPolicy: ptr(explicit),
			Options: &optionsMessage{Audit: ptr(true), TtlSeconds: ptr(int64(60)), MaxMessages: ptr(int64(7))},
		})
		id := created.GetId()
		// Each request carries more than its mask names.
		full := &channelMessage{
			Id: id, Members: []string{"carol", "bob", "carol"},
			MemberPolicy: openintentv1.MemberPolicy_MEMBER_POLICY_INTENT,
			Options:      &optionsMessage{Audit: ptr(false), TtlSeconds: ptr(int64(90)), MaxMessages: ptr(int64(9)), TurnBudget: ptr(int64(0))},
			Status:       closed,
		}
		expected := created
		for _, step := range []struct {
			path string
			want func(*channelMessage)
		}{
			{"members", func(c *channelMessage) { c.Members = []string{"carol", "bob"} }},
			{"member_policy", func(c *channelMessage) { c.MemberPolicy = openintentv1.MemberPolicy_MEMBER_POLICY_INTENT }},
			{"options.audit", func(c *channelMessage) { c.Options.Audit = ptr(false) }},
			{"options.ttl_seconds", func(c *channelMessage) { c.Options.TtlSeconds = ptr(int64(90)) }},
			{"options.max_messages", func(c *channelMessage) { c.Options.MaxMessages = ptr(int64(9)) }},
			{"options.turn_budget", func(c *channelMessage) { c.Options.TurnBudget = ptr(int64(0)) }},
		} {
			answer, err := h.update(as("alice"), full, step.path)
			require.NoError(t, err)
			step.want(expected)
			require.Equal(t, expected.String(), answer.String(), step.path)
			require.Equal(t, expected.String(), h.get(t, id).String(), step.path)
		}

		// A field that is named but unset goes back to its default.
		for _, step := range []struct {
			path string
			want func(*channelMessage)
		}{
			{"options.ttl_seconds", func(c *channelMessage) { c.Options.TtlSeconds = nil }},
			{"options.max_messages", func(c *channelMessage) { c.Options.MaxMessages = ptr(int64(1000)) }},
			{"options.turn_budget", func(c *channelMessage) { c.Options.TurnBudget = ptr(int64(20)) }},
			{"members", func(c *channelMessage) { c.Members = nil }},
		} {
			answer, err := h.update(as("alice"), &channelMessage{Id: id}, step.path)
			require.NoError(t, err)
			step.want(expected)
			require.Equal(t, expected.String(), answer.String(), step.path)
		}
		answer, err := h.update(as("alice"), &channelMessage{Id: id, Options: &optionsMessage{Audit: ptr(true)}}, "options", "id")
		require.NoError(t, err)
		require.True(t, answer.GetOptions().GetAudit())
		_, err = h.update(as("alice"), &channelMessage{Id: id}, "options")
		require.NoError(t, err)
		require.False(t, h.get(t, id).GetOptions().GetAudit())

		// Several changes in one request, including the closing, which comes last.
		var closedAs int64
		h.channels.OnClosing(func(_ *database.Tx, _ *intents.Head, closed []*Rules, _ time.Time) error {
			closedAs = closed[0].MaxMessages
			return nil
		})
		answer, err = h.update(as("alice"), full, "members", "options.max_messages", "status")
		require.NoError(t, err)
		require.Equal(t, []string{"carol", "bob"}, answer.GetMembers())
		require.EqualValues(t, 9, answer.GetOptions().GetMaxMessages())
		require.Equal(t, closed, answer.GetStatus())
		require.EqualValues(t, 9, closedAs)
	})
}

func TestUpdateRefusesBadMasks(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, "alice", &createRequest{IntentId: h.intent(t, "alice"), Name: "n"}).GetId()
		before := h.get(t, id).String()
		for _, c := range []struct {
			field   string
			channel *channelMessage
			paths   []string
		}{
			{"update_mask", &channelMessage{}, nil},
			{"update_mask", &channelMessage{}, []string{""}},
			{"update_mask", &channelMessage{}, []string{"id"}},
			{"name", &channelMessage{Name: "m"}, []string{"name"}},
			{"created_by", &channelMessage{CreatedBy: "bob"}, []string{"members", "created_by"}},
			{"closed_at", &channelMessage{}, []string{"closed_at"}},
			{"message_count", &channelMessage{}, []string{"message_count"}},
			{"intent_id", &channelMessage{}, []string{"intent_id"}},
			{"task_id", &channelMessage{}, []string{"task_id"}},
			{"*", &channelMessage{}, []string{"*"}},
			{"options.colour", &channelMessage{}, []string{"options.colour"}},
			{"options", &channelMessage{Options: &optionsMessage{}}, []string{"options"}},
			{"members[0]", &channelMessage{Members: []string{"system"}}, []string{"members"}},
			{"options.ttl_seconds", &channelMessage{Options: &optionsMessage{TtlSeconds: ptr(int64(0))}}, []string{"options.ttl_seconds"}},
			{"options.max_messages", &channelMessage{Options: &optionsMessage{MaxMessages: ptr(int64(-1))}}, []string{"options"}},
			{"options.turn_budget", &channelMessage{Options: &optionsMessage{TurnBudget: ptr(int64(1))}}, []string{"options"}},
			{"member_policy", &channelMessage{}, []string{"member_policy"}},
			{"member_policy", &channelMessage{Members: []string{"bob"}}, []string{"members", "member_policy"}},
			{"status", &channelMessage{}, []string{"status"}},
			{"status", &channelMessage{Status: open}, []string{"status"}},
			{"status", &channelMessage{Status: open, Members: []string{"bob"}}, []string{"status", "members"}},
		} {
			c.channel.Id = id
			_, err := h.update(as("alice"), c.channel, c.paths...)
			faulttest.RequireBadField(t, err, c.field)
		}
		require.Equal(t, before, h.get(t, id).String())
	})
}

func TestLoweringMaxMessagesRaisesTheFloorAtOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, "alice", &createRequest{IntentId: h.intent(t, "alice"), Name: "n"}).GetId()
		for range 10 {
			h.message(t, id)
		}
		set := func(bound int64) Count {
			channel, err := h.update(as("alice"), &channelMessage{Id: id, Options: &optionsMessage{MaxMessages: &bound}}, "options.max_messages")
			require.NoError(t, err)
			require.EqualValues(t, 10, channel.GetMessageCount(), "the count includes all messages ever sent")
			var count Count
			h.write(t, id, func(tx *database.Tx, _ *intents.Head, key Key) (err error) {
				count, err = LoadCount(tx, key)
				return err
			})
			return count
		}
		var raised []Key
		h.channels.OnFloorRaised(func(_ *database.Tx, key Key) error {
			raised = append(raised, key)
			return nil
		})
		require.EqualValues(t, 0, set(10).Floor)
		require.Empty(t, raised)
		require.EqualValues(t, 6, set(4).Floor)
		require.Equal(t, []Key{h.stored(t, id).Key}, raised)
		require.EqualValues(t, 6, set(100).Floor, "evicted messages do not come back")
		require.EqualValues(t, 9, set(1).Floor)
		require.Equal(t, h.get(t, id).GetLastMessageAt().AsTime(), set(1).LastMessageAt)
		require.Len(t, raised, 2)
	})
}

func TestAFloorHookThatFailsUndoesTheChange(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, "alice", &createRequest{IntentId: h.intent(t, "alice"), Name: "n"}).GetId()
		h.message(t, id)
		h.message(t, id)
		h.channels.OnFloorRaised(func(*database.Tx, Key) error {
			return fault.New(fault.Unavailable, "STOP", "The test stops here.")
		})
		_, err := h.update(as("alice"), &channelMessage{Id: id, Options: &optionsMessage{MaxMessages: ptr(int64(1))}}, "options.max_messages")
		faulttest.Require(t, err, fault.Unavailable, "STOP")
		require.EqualValues(t, 1000, h.get(t, id).GetOptions().GetMaxMessages())
	})
}

func TestWhoManagesAChannel(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		id := h.create(t, "bob", &createRequest{IntentId: intentID, Name: "n", Members: []string{"member"}}).GetId()
		calls := map[string]func(agent string) error{
			"update": func(agent string) error {
				_, err := h.update(as(agent), &channelMessage{Id: id, Members: []string{"member"}}, "members")
				return err
			},
			"add":    func(agent string) error { _, err := h.addMembers(as(agent), id, "member"); return err },
			"remove": func(agent string) error { _, err := h.removeMember(as(agent), id, "nobody"); return err },
		}
		refused := func(agent string, level string) {
			for name, call := range calls {
				metadata := faulttest.Require(t, call(agent), fault.Denied, "FORBIDDEN").Metadata
				require.Equal(t, level, metadata["current_permission"], name)
			}
			faulttest.Require(t, h.deleteChannel(as(agent), id), fault.Denied, "FORBIDDEN")
		}
		// Without a list everybody may write, but that does not extend to managing channels, and neither does creating the intent.
		refused("member", "write")
		refused("alice", "admin")
		for name, call := range calls {
			require.NoError(t, call("bob"), name)
		}

		// A coordinator manages channels as long as its heartbeats arrive.
		_, err := h.intents.CreateCoordinator(as("alice"), &openintentv1.CreateCoordinatorRequest{
			AgentId: ptr("chief"), IntentId: &intentID, HeartbeatIntervalSeconds: ptr(int32(60)),
		})
		require.NoError(t, err)
		for name, call := range calls {
			require.NoError(t, call("chief"), name)
		}
		h.clock.Advance(121 * time.Second)
		refused("chief", "write")

		// A creator that has lost its access no longer manages the channel.
		h.closeAccess(t, intentID)
		refused("bob", "none")
		refused("admin", "admin")
		_, err = h.addMembers(asOperator(), id, "by-operator")
		require.NoError(t, err)
		require.Equal(t, []string{"member", "by-operator"}, h.get(t, id).GetMembers())
		require.NoError(t, h.deleteChannel(asOperator(), id))
	})
}

func TestAuditNeedsWriteAccess(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		h.closeAccess(t, intentID)
		id := h.create(t, "reader", &createRequest{IntentId: intentID, Name: "n"}).GetId()
		_, err := h.update(as("reader"), &channelMessage{Id: id, Options: &optionsMessage{Audit: ptr(true)}}, "options.audit")
		metadata := faulttest.Require(t, err, fault.Denied, "FORBIDDEN").Metadata
		require.Equal(t, "write", metadata["required_permission"])
		_, err = h.update(as("reader"), &channelMessage{Id: id, Options: &optionsMessage{Audit: ptr(false)}}, "options.audit")
		require.NoError(t, err)
		_, err = h.update(asOperator(), &channelMessage{Id: id, Options: &optionsMessage{Audit: ptr(true)}}, "options.audit")
		require.NoError(t, err)
		require.True(t, h.get(t, id).GetOptions().GetAudit())
	})
}

// On an intent that is open to everyone, a stranger may write too, but nobody gave it write access.
func TestAuditNeedsWriteAccessThatSomebodyGave(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		audited := &optionsMessage{Audit: ptr(true)}
		id := h.create(t, "stranger", &createRequest{IntentId: intentID, Name: "n"}).GetId()
		audit := func() error {
			_, err := h.update(as("stranger"), &channelMessage{Id: id, Options: audited}, "options.audit")
			return err
		}
		faulttest.Require(t, audit(), fault.Denied, "FORBIDDEN")
		_, err := h.channels.CreateChannel(as("stranger"), &createRequest{IntentId: intentID, Name: "m", Options: audited})
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
		require.Len(t, h.list(t, intentID, nil), 1)
		_, err = h.intents.AssignAgent(as("alice"), &openintentv1.AssignAgentRequest{IntentId: intentID, AgentId: "stranger"})
		require.NoError(t, err)
		require.NoError(t, audit())
	})
}

// This test tries every change after every way to close a channel.
func TestClosedChannelsTakeNoChangeButClosingAndDeletion(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		for name, end := range map[string]func(t *testing.T, intentID, id string){
			"closed by its creator": func(t *testing.T, _, id string) {
				_, err := h.closeChannel(as("alice"), id)
				require.NoError(t, err)
			},
			"lapsed, not swept": func(*testing.T, string, string) { h.clock.Advance(time.Minute) },
			"lapsed and swept": func(t *testing.T, _, _ string) {
				h.clock.Advance(time.Minute)
				require.NoError(t, h.channels.Sweep(t.Context()))
			},
			"its intent completed": func(t *testing.T, intentID, _ string) {
				require.NoError(t, h.setIntentStatus(t, intentID, openintentv1.IntentStatus_INTENT_STATUS_COMPLETED))
			},
		} {
			t.Run(name, func(t *testing.T) {
				intentID := h.intent(t, "alice")
				id := h.create(t, "alice", &createRequest{
					IntentId: intentID, Name: "n", Members: []string{"bob"}, Options: &optionsMessage{TtlSeconds: ptr(int64(60))},
				}).GetId()
				end(t, intentID, id)
				before := h.get(t, id)
				require.Equal(t, closed, before.GetStatus())

				for path, change := range map[string]*channelMessage{
					"members":              {Id: id},
					"member_policy":        {Id: id, MemberPolicy: explicit},
					"options.audit":        {Id: id, Options: &optionsMessage{Audit: ptr(true)}},
					"options.ttl_seconds":  {Id: id},
					"options.max_messages": {Id: id},
					"status":               {Id: id, Status: open},
				} {
					_, err := h.update(as("alice"), change, path)
					require.ErrorIs(t, err, ErrChannelClosed, path)
					faulttest.Require(t, err, fault.Conflict, "CHANNEL_CLOSED")
				}
				_, err := h.update(as("alice"), &channelMessage{Id: id, Status: closed}, "status", "members")
				faulttest.Require(t, err, fault.Conflict, "CHANNEL_CLOSED")
				_, err = h.addMembers(as("alice"), id, "carol")
				faulttest.Require(t, err, fault.Conflict, "CHANNEL_CLOSED")
				_, err = h.removeMember(as("alice"), id, "bob")
				faulttest.Require(t, err, fault.Conflict, "CHANNEL_CLOSED")

				h.clock.Advance(time.Hour)
				for range 2 {
					again, err := h.closeChannel(as("alice"), id)
					require.NoError(t, err)
					require.Equal(t, before.String(), again.String(), "closing again changes nothing")
				}
				require.Equal(t, before.GetClosedAt().AsTime(), h.stored(t, id).ClosedAt)
				require.NoError(t, h.deleteChannel(as("alice"), id))
			})
		}
	})
}

func TestDeletedChannelsAreAbsent(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		id := h.create(t, "alice", &createRequest{IntentId: intentID, Name: "n", Members: []string{"bob"}}).GetId()
		var deleted []Key
		h.channels.OnDeleting(func(_ *database.Tx, _ *intents.Head, key Key) error {
			deleted = append(deleted, key)
			return nil
		})
		last := h.message(t, id)
		key := h.stored(t, id).Key
		require.NoError(t, h.deleteChannel(as("alice"), id))
		require.Equal(t, []Key{key}, deleted)
		closings := h.takeClosings()
		require.Len(t, closings, 1)
		require.Equal(t, []string{id}, closings[0].ids)
		require.True(t, closings[0].at.After(last))

		_, err := h.channels.GetChannel(as("alice"), &openintentv1.GetChannelRequest{ChannelId: id})
		require.ErrorIs(t, err, ErrChannelNotFound)
		faulttest.Require(t, err, fault.NotFound, "CHANNEL_NOT_FOUND")
		_, err = h.closeChannel(as("alice"), id)
		require.ErrorIs(t, err, ErrChannelNotFound)
		_, err = h.addMembers(as("alice"), id, "carol")
		require.ErrorIs(t, err, ErrChannelNotFound)
		require.ErrorIs(t, h.deleteChannel(as("alice"), id), ErrChannelNotFound)
		require.Empty(t, h.list(t, intentID, nil))
		listing(t, h, "bob")

		// The rows stay until the messages are removed; after that a room without a cached key finds nothing.
		require.True(t, h.stored(t, id).Deleted)
		h.write(t, id, func(tx *database.Tx, _ *intents.Head, key Key) error { return h.channels.Remove(tx, key) })
		for _, room := range []*Service{h.channels, h.replica()} {
			_, err = room.GetChannel(asOperator(), &openintentv1.GetChannelRequest{ChannelId: id})
			require.ErrorIs(t, err, ErrChannelNotFound)
		}
	})
}

func TestAHookThatFailsUndoesTheDeletion(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, "alice", &createRequest{IntentId: h.intent(t, "alice"), Name: "n", Members: []string{"bob"}}).GetId()
		before := h.get(t, id).String()
		h.takeChanges()
		stop := fault.New(fault.Unavailable, "STOP", "The test stops here.")
		h.channels.OnDeleting(func(*database.Tx, *intents.Head, Key) error { return stop })
		require.ErrorIs(t, h.deleteChannel(as("alice"), id), stop)
		require.Equal(t, before, h.get(t, id).String())
		require.Empty(t, h.takeChanges())
	})
}

func TestReadingNeedsAccessToTheIntent(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		channel := h.create(t, "alice", &createRequest{IntentId: intentID, Name: "n", MemberPolicy: ptr(explicit)})
		h.closeAccess(t, intentID)
		get := &openintentv1.GetChannelRequest{ChannelId: channel.GetId()}
		list := &openintentv1.ListChannelsRequest{IntentId: intentID}

		// Every reader of the intent sees the channel's metadata, member or not.
		seen, err := h.channels.GetChannel(as("reader"), get)
		require.NoError(t, err)
		require.Equal(t, channel.String(), seen.String())
		listed, err := h.channels.ListChannels(as("reader"), list)
		require.NoError(t, err)
		require.Equal(t, []string{channel.GetId()}, ids(listed.GetChannels()))

		_, err = h.channels.GetChannel(as("stranger"), get)
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
		_, err = h.channels.ListChannels(as("stranger"), list)
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
		_, err = h.channels.ListChannels(as("alice"), &openintentv1.ListChannelsRequest{IntentId: "none\x00"})
		faulttest.Require(t, err, fault.NotFound, "INTENT_NOT_FOUND")
		for _, id := range []string{"", "chan_", "none", "chan_01HXYZ", "chan_01HXYZ\x00", "chan_01ARZ3NDEKTSV4RRFFQ69G5FAV"} {
			_, err = h.channels.GetChannel(as("alice"), &openintentv1.GetChannelRequest{ChannelId: id})
			require.ErrorIs(t, err, ErrChannelNotFound, "%q", id)
		}
	})
}
