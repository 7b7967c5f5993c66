package messaging

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

func TestLosingAccessEndsAnIntentsStreamAtOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		bob, carol := h.followIntent(t, "bob", id), h.followIntent(t, "carol", id)
		h.admit(t, h.channel(t, id).GetIntentId(), "carol")
		faulttest.Require(t, bob.end(t), fault.Denied, "FORBIDDEN")
		h.say(t, "carol", id, "still")
		for said := carol.said(t, 1)[0]; said != "still"; said = carol.said(t, 1)[0] {
			require.Contains(t, said, "[access_", "the change is an event of the log")
		}
	})
}

// A stream ends when its caller's access runs out, though nothing is stored then.
func TestAccessThatRunsOutEndsAStream(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		_, err := h.intents.SetAccessControl(asOperator(), &openintentv1.SetAccessControlRequest{
			IntentId: h.channel(t, id).GetIntentId(), DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED,
			Entries: []*openintentv1.AccessEntryInput{{
				PrincipalId: "bob", Permission: openintentv1.Permission_PERMISSION_READ, ExpiresAt: h.in(20 * time.Millisecond),
			}},
		})
		require.NoError(t, err)
		ofIntent, ofChannel := h.followIntent(t, "bob", id), h.follow(t, "bob", id, nil)
		h.clock.Advance(20 * time.Millisecond)
		faulttest.Require(t, ofIntent.end(t), fault.Denied, "FORBIDDEN")
		faulttest.Require(t, ofChannel.end(t), fault.Denied, "FORBIDDEN")
	})
}

// A client that takes its time gets nothing any more once it may not, though it was read before.
func TestRightsInAnIntentAreThoseOfTheDelivery(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		open := h.open(t)
		intentID := h.channel(t, open).GetIntentId()
		secret := h.explicitIn(t, intentID, "secret", "alice", "bob")
		bob, watcher := h.followIntent(t, "bob", open), h.followIntent(t, "alice", open)
		h.say(t, "alice", open, "under way")
		h.fill(t, secret, "alice", 5)
		h.say(t, "alice", open, "last")
		require.Len(t, watcher.said(t, 7), 7)
		h.removeMember(t, secret, "bob")
		h.awaitSightOfIntent(t, open)
		require.Equal(t, []string{"under way", "last"}, bob.said(t, 2))
		h.addMember(t, secret, "bob")
		h.say(t, "alice", secret, "again")
		require.Equal(t, []string{"again"}, bob.said(t, 1), "what it missed is not made up for, but for open requests")
	})
}

// What lies before a cursor is judged by the rules of its delivery, also for who gains by them.
func TestRightsInAnIntentMayGrowBeforeTheDelivery(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		open := h.open(t)
		secret := h.explicitIn(t, h.channel(t, open).GetIntentId(), "secret", "alice")
		bob, watcher := h.followIntent(t, "bob", open), h.followIntent(t, "alice", open)
		h.say(t, "alice", open, "under way")
		h.say(t, "alice", secret, "a note")
		h.askFor(t, "alice", secret, "role:tester", "a question")
		h.say(t, "alice", open, "last")
		require.Len(t, watcher.said(t, 4), 4)
		h.register(t, "bob", "tester")
		h.addMember(t, secret, "bob")
		h.awaitSightOfIntent(t, open)
		require.Equal(t, []string{"under way", "a note", "a question", "last"}, bob.said(t, 4), "nothing is backfilled twice")
	})
}

// A role gained brings the open requests to it from behind the cursor, of all channels that the caller sees.
func TestGainedRoleBringsOpenRequestsOfAllChannels(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		one := h.open(t)
		intentID := h.channel(t, one).GetIntentId()
		two := h.create(t, &createRequest{IntentId: intentID, Name: "two", Options: &optionsInput{Audit: ptr(true)}})
		evicting := h.create(t, &createRequest{
			IntentId: intentID, Name: "evicting", Options: &optionsInput{MaxMessages: ptr(int64(1))},
		})
		secret := h.explicitIn(t, intentID, "secret", "alice")
		closing := h.create(t, &createRequest{IntentId: intentID, Name: "closing"})
		h.register(t, "tess", "tester")
		answered := h.askFor(t, "alice", one, "role:tester", "answered")
		h.reply(t, "tess", one, answered.GetId(), "")
		for _, id := range []string{two, evicting, secret, one, closing} {
			h.askFor(t, "alice", id, "role:tester", h.channel(t, id).GetName())
			h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("role:tester"), Payload: content("a note")})
		}
		h.closeChannel(t, closing)
		bob := h.followIntent(t, "bob", one)
		h.askFor(t, "alice", two, "role:tester", "while following")
		h.askFor(t, "alice", one, "role:other", "for another")
		h.say(t, "alice", one, "to all")
		d := bob.next(t)
		require.Equal(t, "to all", textOf(d.GetMessage()))
		h.register(t, "bob", "tester")
		for _, text := range []string{"two", "talk", "while following"} {
			b := bob.next(t)
			require.True(t, b.GetBackfill())
			require.Equal(t, text, textOf(b.GetMessage()))
			require.Equal(t, d.GetPosition(), b.GetPosition(), "a backfilled message carries the cursor reached before it")
			var logged string
			if b.GetMessage().GetChannelId() == two {
				logged = b.GetMessage().GetId()
			}
			require.Equal(t, logged, b.GetAuditEvent().GetPayload().GetFields()["message_id"].GetStringValue(),
				"an audited message brings its copy")
		}
		h.askFor(t, "alice", two, "role:tester", "after")
		h.register(t, "bob", "tester")
		require.Equal(t, []string{"after"}, bob.said(t, 1), "held on to, the role gains nothing anew")
		h.addMember(t, secret, "bob")
		require.Equal(t, []string{"<secret"}, bob.said(t, 1))
		h.register(t, "bob", "other")
		require.Equal(t, []string{"<for another"}, bob.said(t, 1))
	})
}

// Coming to take part in a channel, as a member or because everyone may, brings its open requests from behind the cursor;
// ceasing to ends what is seen of it, and not the stream.
func TestMembershipGainedAndLost(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		open := h.open(t)
		intentID := h.channel(t, open).GetIntentId()
		h.register(t, "bob", "tester")
		secret, other := h.explicitIn(t, intentID, "secret", "alice", "bob"), h.explicitIn(t, intentID, "other", "alice")
		h.askFor(t, "alice", secret, "bob", "before")
		h.removeMember(t, secret, "bob")
		bob, carol := h.followIntent(t, "bob", open), h.followIntent(t, "carol", open)
		h.askFor(t, "alice", secret, "role:tester", "to testers")
		h.askFor(t, "alice", other, "role:tester", "elsewhere")
		h.say(t, "alice", secret, "a note")
		h.say(t, "alice", open, "one")
		require.Equal(t, []string{"one"}, bob.said(t, 1))
		h.addMember(t, secret, "bob")
		require.Equal(t, []string{"<before", "<to testers"}, bob.said(t, 2))
		h.say(t, "alice", secret, "two")
		require.Equal(t, []string{"two"}, bob.said(t, 1))

		h.removeMember(t, secret, "bob")
		h.say(t, "alice", secret, "three")
		h.say(t, "alice", open, "four")
		require.Equal(t, []string{"four"}, bob.said(t, 1))

		_, err := h.channels.UpdateChannel(asOperator(), &openintentv1.UpdateChannelRequest{
			Channel: &openintentv1.Channel{
				Id: other, MemberPolicy: openintentv1.MemberPolicy_MEMBER_POLICY_INTENT,
			},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"member_policy"}},
		})
		require.NoError(t, err)
		h.say(t, "alice", other, "five") // what was asked there before stays with who was a member
		require.Equal(t, []string{"five"}, bob.said(t, 1))
		require.Equal(t, []string{"one", "four", "five"}, carol.said(t, 3), "nothing of that is for carol")

		h.register(t, "carol", "tester")
		h.addMember(t, secret, "carol")
		require.Equal(t, []string{"<to testers"}, carol.said(t, 1))
	})
}

// A departure ends memberships at once; being listed again after it brings what is open.
func TestDepartureEndsWhatIsSeenInAnIntent(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		open := h.open(t)
		secret := h.explicitIn(t, h.channel(t, open).GetIntentId(), "secret", "alice", "bob")
		h.register(t, "bob", "")
		h.clock.Advance(time.Second)
		bob := h.followIntent(t, "bob", open)
		h.say(t, "alice", secret, "one")
		require.Equal(t, []string{"one"}, bob.said(t, 1))
		h.deregister(t, "bob")
		h.askFor(t, "alice", secret, "role:tester", "two")
		h.say(t, "alice", open, "three")
		require.Equal(t, []string{"three"}, bob.said(t, 1))
		h.clock.Advance(time.Second)
		h.register(t, "bob", "tester")
		h.say(t, "alice", open, "four")
		require.Equal(t, []string{"four"}, bob.said(t, 1))
		h.addMember(t, secret, "bob")
		require.Equal(t, []string{"<two"}, bob.said(t, 1))
	})
}
