package messaging

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/reading"
)

type threadRequest = openintentv1.GetThreadRequest

func (h *house) threadOf(ctx context.Context, t require.TestingT, m *wireMessage) *openintentv1.Thread {
	thread, err := h.messaging.GetThread(ctx, &threadRequest{ChannelId: m.GetChannelId(), MessageId: m.GetId()})
	require.NoError(t, err)
	return thread
}

func TestAThreadHasItsRootAndWhatIsUnderIt(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.say(t, "alice", id, "before")
		root := h.asks(t, "alice", id, "role:tester")
		h.register(t, "bob", "tester")
		answer := h.reply(t, "bob", id, root.GetId(), "answer")
		h.say(t, "bob", id, "between")
		below := h.send(t, "alice", under(id, answer.GetId(), "below"))
		named := under(id, root.GetId(), "named")
		named.MessageType, named.CorrelationId = response.Enum(), &root.Id
		h.send(t, "bob", named)
		inside := under(id, below.GetId(), "inside")
		inside.MessageType, inside.To = request.Enum(), ptr("bob")
		asked := h.send(t, "alice", inside)
		last := h.reply(t, "bob", id, asked.GetId(), "inside too")
		h.say(t, "alice", id, "after")

		for _, m := range []*wireMessage{root, answer, below, asked, last} {
			thread := h.threadOf(as("alice"), t, m)
			require.Equal(t, root.GetId(), thread.GetRoot().GetId())
			require.Equal(t, []string{"answer", "below", "named", "inside", "inside too"}, textsOf(thread.GetMessages()))
			require.Equal(t, []string{"alice", "bob"}, thread.GetParticipants())
			require.Equal(t, h.placeOf(t, last), thread.GetLastPosition())
			require.Nil(t, thread.NextCursor)
		}
		list := func(threadID string) []*wireMessage {
			return h.list(t, "alice", &listRequest{ChannelId: id, ThreadId: &threadID})
		}
		require.Len(t, list(root.GetId()), 6, "the root is in the list")
		require.Equal(t, root.GetId(), list(root.GetId())[0].GetId())
		for _, other := range []string{aMessageID, "nonsense", below.GetId(), asked.GetId(), answer.GetId(), h.say(t, "alice", h.open(t), "far").GetId()} {
			require.Empty(t, list(other))
		}
		alone := h.say(t, "alice", id, "alone")
		require.Equal(t, []string{"alone"}, textsOf(list(alone.GetId())))
		require.Empty(t, h.threadOf(as("bob"), t, alone).GetMessages())
	})
}

func TestAThreadShowsWhatItsViewerSees(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		private := h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("bob"), Payload: content("private")})
		public := h.send(t, "bob", under(id, private.GetId(), "public"))
		h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("bob"), ParentId: &public.Id, Payload: content("hidden")})
		for _, named := range []*wireMessage{private, public} {
			seen := h.threadOf(as("carol"), t, named)
			require.Nil(t, seen.GetRoot())
			require.Equal(t, []string{"public"}, textsOf(seen.GetMessages()))
			require.Equal(t, []string{"bob"}, seen.GetParticipants())
			require.Equal(t, h.placeOf(t, public), seen.GetLastPosition())
		}
		require.Equal(t, []string{"public"}, textsOf(h.list(t, "carol", &listRequest{ChannelId: id, ThreadId: &private.Id})))
		require.Len(t, h.threadOf(as("bob"), t, public).GetMessages(), 2)
		require.NotNil(t, h.threadOf(asOperator(), t, public).GetRoot())

		unseen := h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("bob"), Payload: content("unseen")})
		below := h.send(t, "bob", &sendRequest{ChannelId: id, To: ptr("alice"), ParentId: &unseen.Id, Payload: content("unseen too")})
		for _, messageID := range []string{unseen.GetId(), below.GetId(), aMessageID, "nonsense"} {
			_, err := h.messaging.GetThread(as("carol"), &threadRequest{ChannelId: id, MessageId: messageID})
			require.Error(t, err)
			faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		}
		require.Empty(t, h.list(t, "carol", &listRequest{ChannelId: id, ThreadId: &unseen.Id}))

		members := h.explicit(t, "alice")
		secret := h.say(t, "alice", members, "secret")
		_, err := h.messaging.GetThread(as("carol"), &threadRequest{ChannelId: members, MessageId: secret.GetId()})
		faulttest.Require(t, err, fault.Denied, "NOT_A_MEMBER")
	})
}

func TestAThreadOutlivesItsRoot(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, &createRequest{Options: &optionsInput{MaxMessages: ptr(int64(2))}})
		root := h.say(t, "alice", id, "root")
		below := h.send(t, "bob", under(id, root.GetId(), "below"))
		last := h.send(t, "bob", under(id, below.GetId(), "last"))
		for range 2 {
			thread := h.threadOf(as("alice"), t, last)
			require.Nil(t, thread.GetRoot())
			require.Equal(t, []string{"below", "last"}, textsOf(thread.GetMessages()))
			require.Equal(t, thread.GetMessages(), h.threadOf(as("alice"), t, root).GetMessages(), "the thread's id still names it")
			require.Equal(t, []string{"below", "last"}, textsOf(h.list(t, "alice", &listRequest{ChannelId: id, ThreadId: &root.Id})))
			h.removeEvicted(t, id)
		}
		require.False(t, h.exists(t, root))
	})
}

func TestPagesOfAThread(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		root := h.say(t, "alice", id, "root")
		var all []string
		for i := range 150 {
			text := fmt.Sprint(i)
			m := under(id, root.GetId(), text)
			if i%3 == 0 {
				m.To = ptr("bob")
			} else {
				all = append(all, text)
			}
			h.send(t, "alice", m)
		}
		for _, limit := range []int32{1, 33, 50, 100, 1000} {
			var read []string
			req := &threadRequest{ChannelId: id, MessageId: root.GetId(), Limit: &limit}
			for pages := 1; ; pages++ {
				page, err := h.messaging.GetThread(as("carol"), req)
				require.NoError(t, err)
				require.Equal(t, root.GetId(), page.GetRoot().GetId())
				require.LessOrEqual(t, len(page.GetMessages()), int(limit))
				require.LessOrEqual(t, pages, len(all), "a page goes on after the one before")
				read = append(read, textsOf(page.GetMessages())...)
				if page.NextCursor == nil {
					require.Equal(t, (len(all)+int(limit)-1)/int(limit), pages, "no page is empty")
					break
				}
				req.Cursor = page.NextCursor
			}
			require.Equal(t, all, read)
		}
		_, err := h.messaging.GetThread(as("carol"), &threadRequest{ChannelId: id, MessageId: root.GetId(), Cursor: ptr("nonsense")})
		faulttest.RequireBadField(t, err, "cursor")

		newest := h.list(t, "carol", &listRequest{ChannelId: id, ThreadId: &root.Id, Limit: ptr(int32(3))})
		require.Equal(t, all[97:], textsOf(newest), "without a cursor, the newest")
		listed := []string{}
		req := &listRequest{ChannelId: id, ThreadId: &root.Id, Since: &root.Id, Limit: ptr(int32(30))}
		for {
			page := h.list(t, "carol", req)
			if len(page) == 0 {
				break
			}
			listed = append(listed, textsOf(page)...)
			req.Since = &page[len(page)-1].Id
		}
		require.Equal(t, all, listed)
	})
}

func TestAPageOfAThreadIsBoundedInBytes(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		large := strings.Repeat("x", 200<<10)
		root := h.say(t, "alice", id, large)
		for range 30 {
			h.send(t, "alice", under(id, root.GetId(), large))
		}
		read := 0
		req := &threadRequest{ChannelId: id, MessageId: root.GetId()}
		for {
			page, err := h.messaging.GetThread(as("bob"), req)
			require.NoError(t, err)
			require.Less(t, (len(page.GetMessages())+1)*len(large), reading.MaxPageBytes+1)
			read += len(page.GetMessages())
			if page.NextCursor == nil {
				break
			}
			req.Cursor = page.NextCursor
		}
		require.Equal(t, 30, read)
	})
}
