package messaging

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/writing"
)

// publishing is a document that says a text.
func publishing(channelID, kind, text string, replaces *string) *sendRequest {
	return &sendRequest{ChannelId: channelID, Kind: &kind, Payload: content(text), Document: ptr(true), Replaces: replaces}
}

// documents returns the texts of a channel's documents, as an agent sees them.
func (h *house) documents(t require.TestingT, agent, channelID string) []string {
	return textsOf(h.listed(t, agent, &listRequest{ChannelId: channelID, Documents: ptr(true)}))
}

func (h *house) listed(t require.TestingT, agent string, req *listRequest) []*wireMessage {
	page, err := h.messaging.ListMessages(as(agent), req)
	require.NoError(t, err)
	return page.GetMessages()
}

// The newest message of its kind is a document's content and outlives the messages after it. The one before it goes as any other.
func TestADocumentOutlivesWhatEvictsOthers(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.small(t, 2)
		first := h.send(t, "alice", publishing(id, "state", "first", nil))
		require.True(t, first.GetDocument())
		spec := h.send(t, "bob", publishing(id, "spec", "charter", nil))
		plain := h.send(t, "alice", &sendRequest{ChannelId: id, Kind: ptr("state"), Payload: content("no document")})
		require.Nil(t, plain.Document)
		for range 3 {
			h.say(t, "carol", id, "chatter")
		}
		h.removeEvicted(t, id)
		require.Equal(t, []string{"first", "charter"}, h.documents(t, "dave", id))
		require.Equal(t, []string{"charter"}, textsOf(h.listed(t, "dave", &listRequest{ChannelId: id, Documents: ptr(true), Kind: ptr("spec")})))
		require.False(t, h.exists(t, plain))

		second := h.send(t, "alice", publishing(id, "state", "second", &first.Id))
		require.Equal(t, []string{"charter", "second"}, h.documents(t, "dave", id))
		h.sweep(t)
		require.False(t, h.exists(t, first), "who is replaced after its eviction goes")
		require.True(t, h.exists(t, spec))

		third := h.send(t, "alice", publishing(id, "state", "third", &second.Id))
		require.True(t, h.exists(t, second), "who is replaced while it is listed stays until it is evicted")
		for range 3 {
			h.say(t, "carol", id, "chatter")
		}
		h.removeEvicted(t, id)
		require.False(t, h.exists(t, second))
		require.True(t, h.exists(t, third))
		another := caller.NewContext(t.Context(), caller.Caller{Agent: "alice", KeyID: "another", KeyRoles: []string{caller.AnyRole}})
		_, err := h.messaging.SendMessage(another, publishing(id, "state", "fourth", nil))
		require.NoError(t, err)
		require.Zero(t, h.rows(t, "documents", "made_by_key = 'another'"), "the key that began a document holds it")
		h.deleteChannel(t, id)
		h.sweep(t)
		require.Zero(t, h.rows(t, "documents", "1 = 1"))
	})
}

// Of several that replace the same content, one succeeds, and the others learn which message is there now.
func TestADocumentIsReplacedByOneAtATime(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		first := h.send(t, "alice", publishing(id, "state", "first", ptr("")))
		_, err := h.messaging.SendMessage(as("bob"), publishing(id, "state", "also first", ptr("")))
		changed := faulttest.Require(t, err, fault.PreconditionFailed, "DOCUMENT_CHANGED")
		require.Equal(t, first.GetId(), changed.Metadata["message_id"])

		var taking sync.WaitGroup
		won := make(chan string, 8)
		for i := range cap(won) {
			taking.Go(func() {
				m, err := h.messaging.SendMessage(as(fmt.Sprint("agent-", i)), publishing(id, "state", fmt.Sprint(i), &first.Id))
				if err == nil {
					won <- m.GetId()
					return
				}
				faulttest.Require(t, err, fault.PreconditionFailed, "DOCUMENT_CHANGED")
			})
		}
		taking.Wait()
		require.Len(t, won, 1)
		found := h.listed(t, "bob", &listRequest{ChannelId: id, Documents: ptr(true)})
		require.Len(t, found, 1)
		require.Equal(t, <-won, found[0].GetId())
		require.Len(t, h.list(t, "bob", &listRequest{ChannelId: id}), 2, "nothing of what was refused is stored")
	})
}

// A repeat under the same key gets the first answer, even though the document has changed by it.
func TestARepeatedDocumentIsTheSame(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		keyed := func() *sendRequest {
			req := publishing(id, "state", "first", ptr(""))
			req.IdempotencyKey = ptr("again")
			return req
		}
		first := h.send(t, "alice", keyed())
		again := h.send(t, "alice", keyed())
		require.Equal(t, first.GetId(), again.GetId())
		require.True(t, again.GetDocument())
		reread := keyed()
		reread.Replaces = &first.Id
		require.Equal(t, first.GetId(), h.send(t, "alice", reread).GetId(), "what it replaces is no part of the message")
		plain := keyed()
		plain.Document, plain.Replaces = nil, nil
		_, err := h.messaging.SendMessage(as("alice"), plain)
		faulttest.Require(t, err, fault.AlreadyExists, "IDEMPOTENCY_KEY_REUSED")
	})
}

func TestWhatIsNoDocumentIsRefused(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		for field, change := range map[string]func(*sendRequest){
			"kind":               func(r *sendRequest) { r.Kind = nil },
			"to":                 func(r *sendRequest) { r.To = ptr("bob") },
			"message_type":       func(r *sendRequest) { r.MessageType, r.To = ptr(request), ptr("bob") },
			"expires_at":         func(r *sendRequest) { r.ExpiresAt = h.in(time.Minute) },
			"expires_in_seconds": func(r *sendRequest) { r.ExpiresInSeconds = ptr(60.0) },
			"replaces":           func(r *sendRequest) { r.Document, r.Replaces = nil, ptr(aMessageID) },
		} {
			req := publishing(id, "state", "x", nil)
			change(req)
			_, err := h.messaging.SendMessage(as("alice"), req)
			faulttest.RequireBadField(t, err, field)
		}
		empty := publishing(id, "state", "x", nil)
		empty.Payload = nil
		_, err := h.messaging.SendMessage(as("alice"), empty)
		faulttest.RequireBadField(t, err, "payload")
		_, err = h.messaging.ListMessages(as("alice"), &listRequest{ChannelId: id, Documents: ptr(true), Limit: ptr(int32(1))})
		faulttest.RequireBadField(t, err, "documents")
	})
}

// Documents show nothing that a list would not: not what members who were added later may not see, and no deleted content.
func TestDocumentsAreSeenAsMessagesAre(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.explicit(t, "alice", "bob")
		spec := h.send(t, "alice", publishing(id, "spec", "for members", nil))
		_, err := h.messaging.ListMessages(as("carol"), &listRequest{ChannelId: id, Documents: ptr(true)})
		faulttest.Require(t, err, fault.Denied, "NOT_A_MEMBER")
		require.Equal(t, []string{"for members"}, h.documents(t, "bob", id))
		h.erase(t, "alice", spec)
		require.Empty(t, h.listed(t, "bob", &listRequest{ChannelId: id, Documents: ptr(true)}))
	})
}

// Who does not manage a channel takes only some of the places for documents, and a deletion gives its place back.
func TestDocumentsHavePlaces(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		refused := func(agent, kind string) {
			t.Helper()
			_, err := h.messaging.SendMessage(as(agent), publishing(id, kind, "x", nil))
			faulttest.Require(t, err, fault.Quota, "TOO_MANY_DOCUMENTS")
		}
		for i := range writing.MaxDocumentsOfOthers {
			h.send(t, "bob", publishing(id, fmt.Sprint("bob-", i), "x", nil))
		}
		refused("bob", "one more")
		refused("carol", "hers")
		h.send(t, "carol", publishing(id, "bob-0", "anybody changes what there is", nil))
		for i := range writing.MaxDocuments - writing.MaxDocumentsOfOthers {
			h.send(t, "creator", publishing(id, fmt.Sprint("creator-", i), "x", nil))
		}
		refused("creator", "one more")
		h.erase(t, "creator", h.listed(t, "creator", &listRequest{ChannelId: id, Documents: ptr(true), Kind: ptr("bob-1")})[0])
		h.send(t, "creator", publishing(id, "one more", "x", ptr("")))
		refused("bob", "bob-1")
	})
}

// A channel with an address always has places for the charter and the state.
func TestAChannelsOwnDocumentsHavePlaces(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, &createRequest{Dictatable: true})
		for i := range writing.MaxDocumentsOfOthers {
			h.send(t, "bob", publishing(id, fmt.Sprint("bob-", i), "x", nil))
		}
		for i := range 2 {
			h.send(t, "creator", publishing(id, fmt.Sprint("creator-", i), "x", nil))
		}
		_, err := h.messaging.SendMessage(as("creator"), publishing(id, "one more", "x", nil))
		faulttest.Require(t, err, fault.Quota, "TOO_MANY_DOCUMENTS")
		h.send(t, "bob", publishing(id, "state", "x", nil))
		h.send(t, "bob", publishing(id, "spec", "x", nil))
		require.Len(t, h.documents(t, "bob", id), writing.MaxDocuments)
	})
}

// A document that was evicted can be deleted, and is gone then.
func TestAnEvictedDocumentIsDeleted(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.small(t, 2)
		state := h.send(t, "alice", publishing(id, "state", "secret", nil))
		for range 3 {
			h.say(t, "carol", id, "chatter")
		}
		h.removeEvicted(t, id)
		h.erase(t, "alice", state)
		require.Empty(t, h.documents(t, "alice", id))
		h.sweep(t)
		require.False(t, h.exists(t, state))
		h.send(t, "bob", publishing(id, "state", "anew", ptr("")))
	})
}

// A page ends at as many bytes as its caller asks for, and can leave out what messages say.
func TestAPageOfSoManyBytes(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		for i := range 4 {
			h.send(t, "alice", &sendRequest{ChannelId: id, Payload: content(fmt.Sprint(i, strings.Repeat("x", 1000)))})
		}
		require.Len(t, h.list(t, "bob", &listRequest{ChannelId: id, MaxBytes: ptr(int32(2500))}), 2)
		newest := h.listed(t, "bob", &listRequest{ChannelId: id, MaxBytes: ptr(int32(1)), WithoutContents: ptr(true)})
		require.Len(t, newest, 1, "the first one is there whatever its size")
		require.Nil(t, newest[0].GetPayload())
		require.Equal(t, "alice", newest[0].GetSender())
		h.send(t, "alice", publishing(id, "spec", "charter", nil))
		spec := h.listed(t, "bob", &listRequest{ChannelId: id, Documents: ptr(true), WithoutContents: ptr(true)})
		require.Len(t, spec, 1)
		require.Nil(t, spec[0].GetPayload())
	})
}

func TestAListOfOneKind(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		for i := range 4 {
			h.send(t, "alice", &sendRequest{ChannelId: id, Kind: ptr([]string{"status", "log"}[i%2]), Payload: content(fmt.Sprint(i))})
			h.say(t, "alice", id, "plain")
		}
		require.Equal(t, []string{"0", "2"}, textsOf(h.listed(t, "bob", &listRequest{ChannelId: id, Kind: ptr("status")})))
		require.Equal(t, []string{"3"}, textsOf(h.listed(t, "bob", &listRequest{ChannelId: id, Kind: ptr("log"), Limit: ptr(int32(1))})))
		require.Empty(t, h.listed(t, "bob", &listRequest{ChannelId: id, Kind: ptr("state")}))
	})
}
