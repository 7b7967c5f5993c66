package invites

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"openintent/agents"
	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/keys"
	"openintent/tasks"
)

// house is a channel of alice, with what invites need.
type house struct {
	*Service
	clock   *databasetest.Clock
	channel string
}

func eachHouse(t *testing.T, run func(t *testing.T, h *house)) {
	t.Helper()
	databasetest.EachURL(t, func(t *testing.T, url string) {
		clock := databasetest.NewClock()
		db := databasetest.Open(t, database.Config{URL: url, Clock: clock.Now})
		rooms := intents.New(intents.Config{DB: db})
		h := &house{clock: clock, Service: open(db, rooms)}
		active := openintentv1.IntentStatus_INTENT_STATUS_ACTIVE
		intent, err := rooms.CreateIntent(alice(""), &openintentv1.CreateIntentRequest{Title: "guests", Status: &active})
		require.NoError(t, err)
		channel, err := h.channels.CreateChannel(alice(""), &openintentv1.CreateChannelRequest{IntentId: intent.GetId(), Name: "guests"})
		require.NoError(t, err)
		h.channel = channel.GetId()
		run(t, h)
	})
}

// open is the room of a server that has just started.
func open(db *database.DB, rooms *intents.Service) *Service {
	work := tasks.New(tasks.Config{DB: db, Intents: rooms})
	return New(Config{
		DB: db, Keys: keys.New(keys.Config{DB: db}), Channels: channels.New(channels.Config{DB: db, Intents: rooms, Tasks: work}),
	})
}

// alice calls with a key.
func alice(key string) context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: "alice", KeyID: key})
}

func operator() context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: caller.Operator, IsOperator: true, KeyID: "0123456789abcdef"})
}

// invite makes an invite for two guests with one of alice's keys, and returns it as a server remembers it from then on.
func (h *house) invite(t *testing.T, key string) *keys.Key {
	t.Helper()
	issued, err := h.CreateInvite(alice(key), &openintentv1.CreateInviteRequest{ChannelId: h.channel, MaxAgents: proto.Int32(2)})
	require.NoError(t, err)
	live, _, err := h.keys.Live(t.Context())
	require.NoError(t, err)
	for _, key := range live {
		if key.ID == issued.GetInvite().GetId() {
			return key
		}
	}
	require.Fail(t, "the invite is not live")
	return nil
}

func (h *house) members(t *testing.T) []string {
	t.Helper()
	channel, err := h.channels.GetChannel(operator(), &openintentv1.GetChannelRequest{ChannelId: h.channel})
	require.NoError(t, err)
	return channel.GetMembers()
}

// A server remembers invites. What has become of one meanwhile counts, for guests that come.
func TestAStaleCopyOfAnInviteLetsNobodyIn(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		made, err := h.keys.CreateKey(operator(), &openintentv1.CreateKeyRequest{Agents: []string{"alice"}})
		require.NoError(t, err)
		key := made.GetKey().GetId()
		for name, end := range map[string]func(invite *keys.Key) error{
			"revoked": func(invite *keys.Key) error {
				_, err := h.RevokeInvite(alice(key), &openintentv1.RevokeInviteRequest{ChannelId: h.channel, InviteId: invite.ID})
				return err
			},
			"revoked as a key": func(invite *keys.Key) error {
				_, err := h.keys.RevokeKey(operator(), &openintentv1.RevokeKeyRequest{KeyId: invite.ID})
				return err
			},
			"expired": func(*keys.Key) error {
				h.clock.Advance(8 * 24 * time.Hour)
				return nil
			},
		} {
			invite := h.invite(t, key)
			require.NoError(t, end(invite))
			require.ErrorIs(t, h.Join(t.Context(), invite, "guest-1"), ErrEnded, name)
			require.Empty(t, h.members(t), name)
		}
		invite := h.invite(t, key)
		_, err = h.keys.RevokeKey(operator(), &openintentv1.RevokeKeyRequest{KeyId: key})
		require.NoError(t, err)
		require.ErrorIs(t, h.Join(t.Context(), invite, "guest-1"), ErrEnded, "the key of its maker has ended")
		require.Empty(t, h.members(t))
	})
}

func TestAStaleCopyOfAnInviteHasNoPlaceLeft(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		invite := h.invite(t, "")
		require.NoError(t, h.Join(t.Context(), invite, "guest-1"))
		require.NoError(t, h.Join(t.Context(), invite, "guest-2"))
		require.NoError(t, h.Join(t.Context(), invite, "guest-1"), "it has come before")
		err := h.Join(t.Context(), invite, "guest-3")
		require.Equal(t, "INVITE_USED_UP", fault.From(err).Reason)
		require.Equal(t, []string{"guest-1", "guest-2"}, h.members(t))
	})
}

// Who manages a channel ends its invites, and no keys.
func TestAKeyIsNotRevokedAsAnInvite(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		made, err := h.keys.CreateKey(operator(), &openintentv1.CreateKeyRequest{Agents: []string{"bob"}})
		require.NoError(t, err)
		_, err = h.RevokeInvite(alice(""), &openintentv1.RevokeInviteRequest{ChannelId: h.channel, InviteId: made.GetKey().GetId()})
		require.Equal(t, "INVITE_NOT_FOUND", fault.From(err).Reason)
		_, err = h.UpdateInvite(alice(""), &openintentv1.UpdateInviteRequest{ChannelId: h.channel, InviteId: made.GetKey().GetId()})
		require.Equal(t, "INVITE_NOT_FOUND", fault.From(err).Reason)
		key, err := h.keys.GetKey(operator(), &openintentv1.GetKeyRequest{KeyId: made.GetKey().GetId()})
		require.NoError(t, err)
		require.Equal(t, openintentv1.KeyStatus_KEY_STATUS_ACTIVE, key.GetStatus())
	})
}

// An invite takes room from the key that stands for it, also from one that takes it over.
func TestAnInviteThatIsTakenOverNeedsRoom(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		invite := func(key string) (string, error) {
			issued, err := h.CreateInvite(alice(key), &openintentv1.CreateInviteRequest{ChannelId: h.channel, MaxAgents: proto.Int32(600)})
			return issued.GetInvite().GetId(), err
		}
		first, err := invite("one")
		require.NoError(t, err)
		_, err = invite("another")
		require.NoError(t, err)
		_, err = h.UpdateInvite(alice("another"), &openintentv1.UpdateInviteRequest{ChannelId: h.channel, InviteId: first})
		require.Equal(t, "TOO_MANY_INVITES", fault.From(err).Reason)
		_, err = h.UpdateInvite(alice("one"), &openintentv1.UpdateInviteRequest{ChannelId: h.channel, InviteId: first})
		require.NoError(t, err, "it is its own already")
	})
}

// The manager of a channel lists its invites page by page, and no invites of other channels.
func TestInvitesAreListedByTheirChannel(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		channel, err := h.channels.GetChannel(operator(), &openintentv1.GetChannelRequest{ChannelId: h.channel})
		require.NoError(t, err)
		here, made := h.channel, []string{h.invite(t, "").ID, h.invite(t, "").ID}
		other, err := h.channels.CreateChannel(alice(""), &openintentv1.CreateChannelRequest{IntentId: channel.GetIntentId(), Name: "others"})
		require.NoError(t, err)
		h.channel = other.GetId()
		h.invite(t, "")
		issued, err := h.CreateInvite(alice(""), &openintentv1.CreateInviteRequest{
			ChannelId: here, Label: "for a friend", Agents: []string{"guest-b"}, MaxAgents: proto.Int32(3), ReadOnly: true,
		})
		require.NoError(t, err)
		live, _, err := h.keys.Live(t.Context())
		require.NoError(t, err)
		at := slices.IndexFunc(live, func(key *keys.Key) bool { return key.ID == issued.GetInvite().GetId() })
		require.NoError(t, h.Join(t.Context(), live[at], "guest-a"))

		request := &openintentv1.ListInvitesRequest{ChannelId: here, Limit: proto.Int32(2)}
		var listed []*openintentv1.Invite
		for more := true; more; more = request.Cursor != nil {
			page, err := h.ListInvites(alice(""), request)
			require.NoError(t, err)
			listed, request.Cursor = append(listed, page.GetInvites()...), page.NextCursor
		}
		ids := make(map[string]*openintentv1.Invite)
		for _, invite := range listed {
			ids[invite.GetId()] = invite
		}
		require.Len(t, listed, 3)
		require.ElementsMatch(t, append(made, issued.GetInvite().GetId()), slices.Collect(maps.Keys(ids)))
		shown := ids[issued.GetInvite().GetId()]
		require.Equal(t, []any{"for a friend", here, "alice", []string{"guest-a"}, []string{"guest-b"}, int32(3), true}, []any{
			shown.GetLabel(), shown.GetChannelId(), shown.GetCreatedBy(), shown.GetAgents(), shown.GetExpectedAgents(), shown.GetMaxAgents(), shown.GetReadOnly(),
		})
		_, err = h.ListInvites(caller.NewContext(t.Context(), caller.Caller{Agent: "mallory"}), &openintentv1.ListInvitesRequest{ChannelId: here})
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
	})
}

// Making an invite, and taking one over, counts against the quota of the key as a message does.
func TestInvitesCountAsMessages(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		used := caller.NewQuota(caller.Rates{BytesPerSecond: 1})
		require.NoError(t, used.Take(1000))
		ctx := caller.NewContext(t.Context(), caller.Caller{Agent: "alice", KeyID: "another", Quota: used})
		_, err := h.CreateInvite(ctx, &openintentv1.CreateInviteRequest{ChannelId: h.channel})
		faulttest.Require(t, err, fault.Quota, "QUOTA_EXCEEDED")
		_, err = h.UpdateInvite(ctx, &openintentv1.UpdateInviteRequest{ChannelId: h.channel, InviteId: h.invite(t, "one").ID})
		faulttest.Require(t, err, fault.Quota, "QUOTA_EXCEEDED")
	})
}

// Names of guests were free once. Who registered under such a name then stays the only one with it.
func TestAGuestDoesNotTakeTheNameOfARegisteredAgent(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		_, err := agents.New(agents.Config{DB: h.db}).RegisterAgent(operator(), &openintentv1.RegisterAgentRequest{AgentId: proto.String("old")})
		require.NoError(t, err)
		require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{SQL: "UPDATE agents SET agent_id = 'guest-old' WHERE agent_id = 'old'"})
		}))
		err = h.Join(t.Context(), h.invite(t, ""), "guest-old")
		require.Equal(t, "AGENT_NAME_TAKEN", fault.From(err).Reason)
		require.Empty(t, h.members(t))
	})
}

// The sweep takes guests off the list whose invite ended without this room: by its time, or because the operator revoked it as a key.
func TestTheSweepTakesGuestsOfEndedInvitesOffTheList(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		revoked, expires, stays := h.invite(t, ""), h.invite(t, ""), h.invite(t, "")
		for n, invite := range []*keys.Key{revoked, expires, stays} {
			require.NoError(t, h.Join(t.Context(), invite, "guest-"+string(rune('a'+n))))
		}
		_, err := h.keys.RevokeKey(operator(), &openintentv1.RevokeKeyRequest{KeyId: revoked.ID})
		require.NoError(t, err)
		require.Equal(t, []string{"guest-a", "guest-b", "guest-c"}, h.members(t))
		var before [][]string
		h.keys.OnChanged(func(context.Context) { before = append(before, h.members(t)) })
		require.NoError(t, h.Sweep(t.Context()))
		require.Equal(t, []string{"guest-b", "guest-c"}, h.members(t))
		require.Equal(t, [][]string{{"guest-a", "guest-b", "guest-c"}}, before, "the server ends a guest's streams while it is still a member")
		_, err = h.RevokeInvite(alice(""), &openintentv1.RevokeInviteRequest{ChannelId: h.channel, InviteId: stays.ID})
		require.NoError(t, err)
		require.Equal(t, []string{"guest-b", "guest-c"}, before[1], "so it does when the channel's manager revokes an invite")
		require.Equal(t, []string{"guest-b"}, h.members(t))
		h.clock.Advance(8 * 24 * time.Hour)
		require.NoError(t, h.Sweep(t.Context()))
		require.Empty(t, h.members(t))
		require.NoError(t, h.db.Read(t.Context(), func(tx *database.Tx) error {
			ended, err := keys.EndedInvites(tx, 1)
			require.Empty(t, ended, "invites that are swept take no place from others in the next sweep")
			return err
		}))
	})
}

// A channel that is gone has no members, and keeps the sweep of a server that never knew it from no other channel.
func TestTheSweepGoesOnAfterAChannelThatIsGone(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		gone := h.channel
		channel, err := h.channels.GetChannel(operator(), &openintentv1.GetChannelRequest{ChannelId: gone})
		require.NoError(t, err)
		other, err := h.channels.CreateChannel(alice(""), &openintentv1.CreateChannelRequest{IntentId: channel.GetIntentId(), Name: "others"})
		require.NoError(t, err)
		for guest, in := range map[string]string{"guest-1": gone, "guest-2": other.GetId()} {
			h.channel = in
			invite := h.invite(t, "")
			require.NoError(t, h.Join(t.Context(), invite, guest))
			_, err := h.keys.RevokeKey(operator(), &openintentv1.RevokeKeyRequest{KeyId: invite.ID})
			require.NoError(t, err)
		}
		_, err = h.channels.DeleteChannel(alice(""), &openintentv1.DeleteChannelRequest{ChannelId: gone})
		require.NoError(t, err)
		key, _ := h.channels.Located(gone)
		require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error { return h.channels.Remove(tx, key) }))
		h.channel = other.GetId()
		require.Equal(t, []string{"guest-2"}, h.members(t))
		require.NoError(t, open(h.db, intents.New(intents.Config{DB: h.db})).Sweep(t.Context()))
		require.Empty(t, h.members(t))
	})
}

// A guest calls with its invite again and again. That does not make it a member again once the channel's manager has removed it.
func TestARemovedGuestStaysRemoved(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		invite := h.invite(t, "")
		for _, guest := range []string{"guest-1", "guest-2"} {
			require.NoError(t, h.Join(t.Context(), invite, guest))
		}
		_, err := h.channels.RemoveChannelMember(alice(""), &openintentv1.RemoveChannelMemberRequest{ChannelId: h.channel, AgentId: "guest-1"})
		require.NoError(t, err)
		require.NoError(t, h.Join(t.Context(), invite, "guest-1"))
		require.Equal(t, []string{"guest-2"}, h.members(t))
	})
}

func TestNobodyComesIntoAClosedChannel(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		invite := h.invite(t, "")
		_, err := h.channels.UpdateChannel(alice(""), &openintentv1.UpdateChannelRequest{
			Channel:    &openintentv1.Channel{Id: h.channel, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"status"}},
		})
		require.NoError(t, err)
		require.Equal(t, "CHANNEL_CLOSED", fault.From(h.Join(t.Context(), invite, "guest-1")).Reason)
		require.Empty(t, h.members(t))
	})
}
