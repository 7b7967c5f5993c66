package conversation

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/claim"
)

func TestAClaimIsHeldRenewedAndReleased(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob", "carol")
		asked := h.asks(t, one())
		got := h.claims(t, "bob", asked)
		require.Equal(t, asked, got.GetMessageId())
		require.Equal(t, "bob", got.GetHolder())
		require.Equal(t, h.clock.Now().Add(90*time.Second), got.GetExpiresAt().AsTime())

		_, err := h.claim("carol", asked, 0)
		refusal := faulttest.Require(t, err, fault.AlreadyExists, "CLAIMED")
		require.Equal(t, "bob", refusal.Metadata["holder"])
		require.Equal(t, got.GetExpiresAt().AsTime().Format("2006-01-02T15:04:05.000000Z"), refusal.Metadata["expires_at"])
		require.NotContains(t, refusal.Metadata, "fence")
		_, err = h.claim("bob", asked, 0)
		faulttest.Require(t, err, fault.AlreadyExists, "CLAIMED")
		_, err = h.claim("carol", asked, got.GetFence())
		faulttest.Require(t, err, fault.Conflict, "CLAIM_LOST")

		h.clock.Advance(time.Minute)
		renewed, err := h.claim("bob", asked, got.GetFence())
		require.NoError(t, err)
		require.Equal(t, got.GetFence(), renewed.GetFence())
		require.Equal(t, h.clock.Now().Add(90*time.Second), renewed.GetExpiresAt().AsTime())

		faulttest.Require(t, h.release("carol", asked, got.GetFence()), fault.Conflict, "CLAIM_LOST")
		for _, other := range []int64{got.GetFence() - 1, got.GetFence() + 1} { // another process of bob releases nothing of this one
			faulttest.Require(t, h.release("bob", asked, other), fault.Conflict, "CLAIM_LOST")
		}
		require.NoError(t, h.release("bob", asked, got.GetFence()))
		faulttest.Require(t, h.release("bob", asked, got.GetFence()), fault.Conflict, "CLAIM_LOST")
		require.Greater(t, h.claims(t, "carol", asked).GetFence(), got.GetFence())
		faulttest.Require(t, h.answer("bob", asked, got.GetFence()), fault.Conflict, "CLAIM_LOST")
		require.Equal(t, []string{"message_claimed bob", "claim_released bob released", "message_claimed carol"}, h.heard(t, asked))
	})
}

func TestOneAnswerByTheHolderOfTheClaim(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob", "carol")
		asked := h.asks(t, one())
		faulttest.Require(t, h.answer("bob", asked, 0), fault.Conflict, "CLAIM_REQUIRED")
		faulttest.Require(t, h.answer("bob", asked, 1), fault.Conflict, "CLAIM_LOST")
		got := h.claims(t, "bob", asked)
		faulttest.Require(t, h.answer("carol", asked, got.GetFence()), fault.Conflict, "CLAIM_LOST")
		require.NoError(t, h.answer("bob", asked, got.GetFence()))
		require.Zero(t, h.rows(t))
		for _, agent := range []string{"bob", "carol"} {
			faulttest.Require(t, h.answer(agent, asked, got.GetFence()), fault.Conflict, "ANSWERED")
			_, err := h.claim(agent, asked, 0)
			faulttest.Require(t, err, fault.Conflict, "ANSWERED")
		}
		require.Equal(t, []string{"message_claimed bob", "claim_released bob responded"}, h.heard(t, asked))

		response, byHand := openintentv1.MessageType_MESSAGE_TYPE_RESPONSE, h.asks(t, one())
		_, err := h.talk.SendMessage(as("bob"), &openintentv1.SendMessageRequest{
			ChannelId: h.channel, MessageType: &response, CorrelationId: &byHand,
		})
		faulttest.Require(t, err, fault.Conflict, "CLAIM_REQUIRED")
		fence := h.claims(t, "bob", byHand).GetFence()
		_, err = h.talk.SendMessage(as("bob"), &openintentv1.SendMessageRequest{
			ChannelId: h.channel, MessageType: &response, CorrelationId: &byHand, Fence: &fence,
		})
		require.NoError(t, err)
	})
}

// A frozen holder wakes up after its claim has expired. Its answer counts as long as nobody has taken its place.
func TestALateAnswer(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob", "carol")
		for _, swept := range []bool{false, true} {
			untaken, taken := h.asks(t, one()), h.asks(t, one())
			late, lost := h.claims(t, "bob", untaken).GetFence(), h.claims(t, "bob", taken).GetFence()
			h.clock.Advance(91 * time.Second)
			if swept {
				h.sweep(t)
				require.Equal(t, []string{"message_claimed bob", "claim_released bob expired"}, h.heard(t, untaken))
			}
			_, err := h.claim("bob", untaken, late)
			faulttest.Require(t, err, fault.Conflict, "CLAIM_LOST") // it cannot be renewed
			faulttest.Require(t, h.release("bob", untaken, late), fault.Conflict, "CLAIM_LOST")
			next := h.claims(t, "carol", taken).GetFence()
			require.NoError(t, h.answer("bob", untaken, late))
			ended := map[bool]string{false: "responded", true: "expired"}[swept]
			require.Equal(t, []string{"message_claimed bob", "claim_released bob " + ended}, h.heard(t, untaken), "it ends once")
			faulttest.Require(t, h.answer("bob", taken, lost), fault.Conflict, "CLAIM_LOST")
			require.NoError(t, h.answer("carol", taken, next))
			require.Equal(t, []string{"message_claimed bob", "claim_released bob expired", "message_claimed carol",
				"claim_released carol responded"}, h.heard(t, taken))
		}
		require.Zero(t, h.rows(t))
	})
}

func TestAQuorumTakesSoManyAnswers(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob", "carol", "dave", "eve")
		asked := h.asks(t, quorum(2))
		bob := h.claims(t, "bob", asked)
		h.clock.Advance(time.Second)
		h.claims(t, "carol", asked)
		_, err := h.claim("dave", asked, 0)
		refusal := faulttest.Require(t, err, fault.AlreadyExists, "CLAIMED")
		require.Equal(t, "bob", refusal.Metadata["holder"], "the claim that ends first")
		require.NoError(t, h.answer("bob", asked, bob.GetFence()))
		faulttest.Require(t, h.answer("bob", asked, bob.GetFence()), fault.Conflict, "ANSWERED")
		_, err = h.claim("bob", asked, 0)
		faulttest.Require(t, err, fault.Conflict, "ANSWERED")
		_, err = h.claim("dave", asked, 0)
		faulttest.Require(t, err, fault.AlreadyExists, "CLAIMED")

		inbox := func(agent string) int {
			seen, err := h.talk.GetInbox(as(agent), &openintentv1.GetInboxRequest{AgentId: agent})
			require.NoError(t, err)
			return len(seen.GetItems())
		}
		require.Equal(t, []int{0, 1, 1}, []int{inbox("bob"), inbox("carol"), inbox("dave")}, "who has answered is done")

		h.clock.Advance(2 * time.Minute)
		dave := h.claims(t, "dave", asked) // carol's claim is over
		faulttest.Require(t, h.answer("carol", asked, 1), fault.Conflict, "CLAIM_LOST")
		require.NoError(t, h.answer("dave", asked, dave.GetFence()))
		faulttest.Require(t, h.answer("eve", asked, 0), fault.Conflict, "ANSWERED")
		require.Equal(t, []int{0, 0, 0, 0}, []int{inbox("bob"), inbox("carol"), inbox("dave"), inbox("eve")})
		require.Zero(t, h.rows(t))

		answers, err := h.talk.AwaitResponses(as("alice"), &openintentv1.AwaitResponsesRequest{ChannelId: h.channel, MessageId: asked})
		require.NoError(t, err)
		require.Len(t, answers.GetResponses(), 2)
		h.clock.Advance(time.Second)
		h.hire(t, "frank") // takes the role too late
		_, err = h.claim("frank", asked, 0)
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
	})
}

// A quorum with too few answers at its deadline expires, and takes no more.
func TestAQuorumExpires(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob", "carol")
		asked := h.asksWithin(t, quorum(2), time.Minute)
		bob, carol := h.claims(t, "bob", asked), h.claims(t, "carol", asked)
		require.Equal(t, h.clock.Now().Add(time.Minute), carol.GetExpiresAt().AsTime(), "never beyond the deadline")
		require.NoError(t, h.answer("bob", asked, bob.GetFence()))
		h.clock.Advance(time.Minute)
		faulttest.Require(t, h.answer("carol", asked, carol.GetFence()), fault.Conflict, "MESSAGE_EXPIRED")
		_, err := h.claim("carol", asked, carol.GetFence())
		faulttest.Require(t, err, fault.Conflict, "MESSAGE_EXPIRED")
		require.NoError(t, h.talk.Sweep(t.Context()))
		h.sweep(t)
		require.Zero(t, h.rows(t))
		got, err := h.talk.GetMessage(as("alice"), &openintentv1.GetMessageRequest{ChannelId: h.channel, MessageId: asked})
		require.NoError(t, err)
		require.Equal(t, openintentv1.MessageStatus_MESSAGE_STATUS_EXPIRED, got.GetStatus())
		require.Equal(t, "claim_released carol message_ended", h.heard(t, asked)[3])
	})
}

// However long a renewal asks for, the claim ends with its message.
func TestARenewedClaimDoesNotOutlastItsMessage(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob")
		asked := h.asksWithin(t, one(), time.Minute)
		ends := h.clock.Now().Add(time.Minute)
		renewed, err := h.ClaimMessage(as("bob"), &openintentv1.ClaimMessageRequest{
			ChannelId: h.channel, MessageId: asked, Fence: ptr(h.claims(t, "bob", asked).GetFence()), TtlSeconds: ptr(int32(3600)),
		})
		require.NoError(t, err)
		require.Equal(t, ends, renewed.GetExpiresAt().AsTime())
	})
}

// Without an exact number of answers a claim refuses no reply.
func TestClaimsThatOnlyTell(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob", "carol")
		asked := h.asks(t, nil)
		h.claims(t, "bob", asked)
		require.NoError(t, h.answer("carol", asked, 0))
		require.NoError(t, h.answer("bob", asked, 0))
		h.sweep(t)
		require.Equal(t, []string{"message_claimed bob", "claim_released bob responded"}, h.heard(t, asked))

		note, err := h.talk.SendMessage(as("alice"), &openintentv1.SendMessageRequest{ChannelId: h.channel})
		require.NoError(t, err)
		fence := h.claims(t, "alice", note.GetId()).GetFence()
		_, err = h.claim("bob", note.GetId(), 0)
		faulttest.Require(t, err, fault.AlreadyExists, "CLAIMED")
		require.NoError(t, h.release("alice", note.GetId(), fence))
		_, err = h.claim("alice", asked, 0)
		faulttest.Require(t, err, fault.Denied, "OWN_REQUEST")

		answers, err := h.talk.AwaitResponses(as("alice"), &openintentv1.AwaitResponsesRequest{ChannelId: h.channel, MessageId: asked})
		require.NoError(t, err)
		_, err = h.claim("alice", answers.GetResponses()[0].GetId(), 0)
		faulttest.Require(t, err, fault.Invalid, "NOT_THE_ROOT")
	})
}

// One agent gives one answer, if one is wanted, and needs no claim for it.
func TestOneAnswerOfOneAgent(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for _, wanted := range []*structpb.Value{one(), quorum(1)} {
			direct := h.asksBob(t, wanted)
			require.NoError(t, h.answer("bob", direct, 0))
			faulttest.Require(t, h.answer("bob", direct, 0), fault.Conflict, "ANSWERED")
			_, err := h.claim("bob", direct, 0)
			faulttest.Require(t, err, fault.Conflict, "ANSWERED")
			_, err = h.claim("carol", direct, 0)
			faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")

			claimed := h.asksBob(t, wanted)
			h.claims(t, "bob", claimed)
			require.NoError(t, h.answer("bob", claimed, 0), "its claim only tells others that bob works on it")
			faulttest.Require(t, h.answer("bob", claimed, 0), fault.Conflict, "ANSWERED")
			require.Equal(t, []string{"message_claimed bob", "claim_released bob responded"}, h.heard(t, claimed))
		}
		anyNumber := h.asksBob(t, nil)
		require.NoError(t, h.answer("bob", anyNumber, 0))
		require.NoError(t, h.answer("bob", anyNumber, 0))
		require.Zero(t, h.rows(t))
	})
}

// A repeated answer is the first one, also when the request has its answer.
func TestARepeatedAnswerOfOneAgent(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		answer := &openintentv1.ReplyMessageRequest{ChannelId: h.channel, MessageId: h.asksBob(t, one()), IdempotencyKey: new("k")}
		first, err := h.talk.ReplyMessage(as("bob"), answer)
		require.NoError(t, err)
		again, err := h.talk.ReplyMessage(as("bob"), answer)
		require.NoError(t, err)
		require.Equal(t, first.GetId(), again.GetId())
		answer.IdempotencyKey = new("another")
		_, err = h.talk.ReplyMessage(as("bob"), answer)
		faulttest.Require(t, err, fault.Conflict, "ANSWERED")
	})
}

// Nobody gets a claim that ends as soon as it is made.
func TestWhatIsOverIsNotClaimed(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob", "carol")
		asked := h.asks(t, nil)
		require.NoError(t, h.answer("bob", asked, 0))
		_, err := h.claim("bob", asked, 0)
		faulttest.Require(t, err, fault.Conflict, "ANSWERED")
		h.claims(t, "carol", asked)

		note := h.note(t)
		for _, id := range []string{asked, note} {
			_, err := h.talk.DeleteMessage(as("alice"), &openintentv1.DeleteMessageRequest{ChannelId: h.channel, MessageId: id})
			require.NoError(t, err)
			_, err = h.claim("carol", id, 0)
			faulttest.Require(t, err, fault.Conflict, "MESSAGE_DELETED")
		}
		require.Equal(t, 1, h.rows(t), "nothing but carol's first claim")
	})
}

// Only what stands in this intent counts: neither a claim that is over and keeps its place, nor a claim in another intent.
func TestAnAgentHoldsSoManyClaimsInAnIntent(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob", "carol")
		other := h.channel
		h.open(t)
		h.claims(t, "bob", h.asks(t, one()))
		h.clock.Advance(2 * time.Minute)
		h.sweep(t)
		require.Equal(t, 1, h.rows(t), "it is over, and keeps its place")
		here := h.channel
		h.channel = other
		h.claims(t, "bob", h.note(t))
		h.channel = here
		first := h.note(t)
		fence := h.claims(t, "bob", first).GetFence()
		h.copyClaim(t, first, claim.MaxHeld-2)

		h.claims(t, "bob", h.note(t))
		one := h.note(t)
		_, err := h.claim("bob", one, 0)
		faulttest.Require(t, err, fault.Quota, "TOO_MANY_CLAIMS")
		require.NoError(t, h.release("bob", first, fence))
		h.claims(t, "bob", one)
		h.claims(t, "carol", h.note(t))
	})
}

// A claim counts in the caller's quota as a message does, because it takes a place in the log.
func TestAClaimTakesOfTheQuota(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob")
		asked := h.asks(t, one())
		spent := caller.NewQuota(caller.Rates{BytesPerSecond: 1})
		require.NoError(t, spent.Take(100_000)) // which keeps the key waiting for a day
		_, err := h.ClaimMessage(
			caller.NewContext(t.Context(), caller.Caller{Agent: "bob", KeyID: "key", Quota: spent}),
			&openintentv1.ClaimMessageRequest{ChannelId: h.channel, MessageId: asked},
		)
		faulttest.Require(t, err, fault.Quota, "QUOTA_EXCEEDED")
		require.Zero(t, h.rows(t))
	})
}

// copyClaim stores the claim on a message so many times more, each on another message that nobody looks at.
func (h *house) copyClaim(t *testing.T, messageID string, times int) {
	t.Helper()
	require.NoError(t, h.db.Write(context.Background(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL: "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO claims (intent_no, channel_no," +
				" message_position, message_id, agent_id, fence, claim_key, expires_at, ended, due_at, epoch) SELECT intent_no, channel_no," +
				" message_position + 1000000 + i, message_id, agent_id, fence + i, claim_key, expires_at, ended, due_at, epoch" +
				" FROM claims, n WHERE message_id = ?",
			Args: []any{times, messageID},
		})
	}))
}

func TestARepeatedClaim(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob", "carol")
		asked := h.asks(t, one())
		try := func(agent, key string) (*openintentv1.Claim, error) {
			return h.ClaimMessage(as(agent), &openintentv1.ClaimMessageRequest{
				ChannelId: h.channel, MessageId: asked, IdempotencyKey: &key,
			})
		}
		first, err := try("bob", "k")
		require.NoError(t, err)
		again, err := try("bob", "k")
		require.NoError(t, err)
		require.Equal(t, first.GetFence(), again.GetFence())
		require.Equal(t, first.GetExpiresAt().AsTime(), again.GetExpiresAt().AsTime())
		_, err = try("bob", "another")
		faulttest.Require(t, err, fault.AlreadyExists, "CLAIMED")
		_, err = try("carol", "k")
		faulttest.Require(t, err, fault.AlreadyExists, "CLAIMED")
		require.Len(t, h.heard(t, asked), 1)
		h.clock.Advance(2 * time.Minute)
		anew, err := try("bob", "k")
		require.NoError(t, err)
		require.Greater(t, anew.GetFence(), first.GetFence())
	})
}

// AskAll with a quorum waits for that many answers, unless it says otherwise.
func TestAskAllGathersAQuorum(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob", "carol", "dave")
		patience := 600.0
		gathered := make(chan *openintentv1.AskAllResponse, 1)
		go func() {
			all, err := h.talk.AskAll(as("alice"), &openintentv1.AskAllRequest{
				ChannelId: h.channel, To: "role:worker", Collect: quorum(2), TimeoutSeconds: &patience,
			})
			assert.NoError(t, err)
			gathered <- all
		}()
		var asked string
		require.Eventually(t, func() bool {
			seen, err := h.talk.GetInbox(as("bob"), &openintentv1.GetInboxRequest{AgentId: "bob"})
			for _, item := range seen.GetItems() {
				asked = item.GetMessage().GetId()
			}
			return err == nil && asked != ""
		}, time.Minute, time.Millisecond)
		for _, agent := range []string{"bob", "carol"} {
			require.NoError(t, h.answer(agent, asked, h.claims(t, agent, asked).GetFence()))
		}
		require.Len(t, (<-gathered).GetResponses(), 2)
	})
}
