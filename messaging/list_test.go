package messaging

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/message"
)

func TestListingAfterACursor(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		id := h.create(t, &createRequest{IntentId: intentID, Name: "one"})
		other := h.create(t, &createRequest{IntentId: intentID, Name: "two"})
		var sent []*wireMessage
		for i := range 6 {
			h.clock.Advance(time.Second)
			sent = append(sent, h.say(t, "alice", id, fmt.Sprint(i)))
		}
		elsewhere := h.say(t, "alice", other, "elsewhere")
		far := h.say(t, "alice", h.open(t), "far away")
		since := func(cursor string) []string {
			return textsOf(h.list(t, "bob", &listRequest{ChannelId: id, Since: &cursor}))
		}
		all := []string{"0", "1", "2", "3", "4", "5"}
		require.Equal(t, all, textsOf(h.list(t, "bob", &listRequest{ChannelId: id})))
		for i, m := range sent {
			require.Equal(t, all[i+1:], append([]string{}, since(m.GetId())...))
			at := m.GetCreatedAt().AsTime()
			require.Equal(t, all[i+1:], append([]string{}, since(at.Format(time.RFC3339Nano))...), "a time is exclusive")
			require.Equal(t, all[i:], since(at.Add(-time.Microsecond).Format(time.RFC3339Nano)))
			east := time.FixedZone("east", 2*60*60)
			require.Equal(t, all[i+1:], append([]string{}, since(at.In(east).Format(time.RFC3339Nano))...), "in any zone")
			require.Equal(t, all[i+1:], append([]string{}, since(at.Format("2006-01-02T15:04:05.999999"))...), "without one in UTC")
		}
		require.Equal(t, all, since("2001-01-01T00:00:00Z"))
		require.Empty(t, since("2101-01-01T00:00:00Z"))
		require.Equal(t, all, since(aMessageID), "a well-formed id that is not there goes on with the oldest retained")
		closed := h.create(t, &createRequest{
			IntentId: intentID, Name: "closed", MemberPolicy: ptr(openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT), Members: []string{"alice"},
		})
		unseen := h.say(t, "alice", closed, "not for bob")
		private := h.send(t, "alice", &sendRequest{ChannelId: other, To: ptr("carol"), Payload: content("not for bob either")})
		for _, m := range []*wireMessage{unseen, private} {
			require.Equal(t, all, since(m.GetId()), "an id that bob does not see elsewhere is like one that no message has")
			_, err := h.messaging.ListMessages(as("alice"), &listRequest{ChannelId: id, Since: &m.Id})
			faulttest.RequireBadField(t, err, "since")
		}
		for _, bad := range []string{elsewhere.GetId(), far.GetId(), "nonsense", "msg_", "msg_01", strings.ToLower(aMessageID),
			"2026-13-01T00:00:00Z", "12", id} {
			_, err := h.messaging.ListMessages(as("bob"), &listRequest{ChannelId: id, Since: &bad})
			require.Error(t, err, bad)
			faulttest.RequireBadField(t, err, "since")
		}
	})
}

func TestListingAfterAnEvictedMessage(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, &createRequest{Options: &optionsInput{MaxMessages: ptr(int64(2))}})
		first := h.say(t, "alice", id, "0")
		for i := range 4 {
			h.say(t, "alice", id, fmt.Sprint(i+1))
		}
		for range 2 {
			require.Equal(t, []string{"3", "4"}, textsOf(h.list(t, "bob", &listRequest{ChannelId: id, Since: &first.Id})))
			at := first.GetCreatedAt().AsTime().Format(time.RFC3339Nano)
			require.Equal(t, []string{"3", "4"}, textsOf(h.list(t, "bob", &listRequest{ChannelId: id, Since: &at})))
			h.removeEvicted(t, id)
		}
		require.Zero(t, h.rows(t, "messages", "id = ?", first.GetId()))
	})
}

func TestListingIsLimitedToTheNewestOrTheNext(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, &createRequest{Options: &optionsInput{MaxMessages: ptr(int64(5000))}})
		h.fill(t, id, "alice", 1203)
		texts := func(from, through int) []string {
			var texts []string
			for i := from; i <= through; i++ {
				texts = append(texts, fmt.Sprint(i))
			}
			return texts
		}
		require.Equal(t, texts(1201, 1203), textsOf(h.list(t, "bob", &listRequest{ChannelId: id, Limit: ptr(int32(3))})))
		require.Equal(t, texts(204, 1203), textsOf(h.list(t, "bob", &listRequest{ChannelId: id})), "1,000 without a limit")

		var walked []string
		for since := "2001-01-01T00:00:00Z"; ; {
			page, err := h.messaging.ListMessages(as("bob"), &listRequest{ChannelId: id, Since: &since, Limit: ptr(int32(600))})
			require.NoError(t, err)
			if len(page.GetMessages()) == 0 {
				require.Equal(t, since, page.GetNextSince())
				break
			}
			require.Equal(t, page.GetMessages()[len(page.GetMessages())-1].GetId(), page.GetNextSince())
			walked = append(walked, textsOf(page.GetMessages())...)
			since = page.GetNextSince()
		}
		require.Equal(t, texts(1, 1203), walked)
	})
}

// The cursor of a first empty page leads to everything that is sent afterwards.
func TestCursorOfAnEmptyPage(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("carol"), Payload: content("not for bob")})
		page, err := h.messaging.ListMessages(as("bob"), &listRequest{ChannelId: id})
		require.NoError(t, err)
		require.Empty(t, page.GetMessages())
		h.say(t, "alice", id, "0")
		h.say(t, "alice", id, "1")
		require.Equal(t, []string{"0", "1"}, textsOf(h.list(t, "bob", &listRequest{ChannelId: id, Since: page.NextSince})))
	})
}

func TestTimesAsCursors(t *testing.T) {
	for _, text := range []string{
		"2020-01-01T00:00:00Z", "2020-01-01T00:00:00", "2020-01-01t00:00:00z", "2020-01-01T02:00:00+02:00",
		"2020-01-01T02:00:00 02:00", "2020-01-01t02:00:00.000 02:00",
	} {
		at, err := parseTime(text)
		require.NoError(t, err, text)
		require.Equal(t, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), at, text)
	}
	for _, text := range []string{"", "2020-01-01", "2020-01-01 00:00:00Z", "2020-13-01T00:00:00Z", message.NewID()} {
		_, err := parseTime(text)
		require.Error(t, err, text)
	}
}

func TestListingByTypeAndCorrelation(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		one, two := h.asks(t, "alice", id, "bob"), h.asks(t, "alice", id, "bob")
		h.say(t, "bob", id, "thinking")
		answer := h.reply(t, "bob", id, one.GetId(), "yes")
		h.send(t, "bob", &sendRequest{ChannelId: id, MessageType: ptr(broadcast)})
		again := h.reply(t, "bob", id, one.GetId(), "still yes")
		require.Equal(t, []string{one.GetId(), two.GetId()},
			idsOf(h.list(t, "alice", &listRequest{ChannelId: id, MessageType: ptr(request)})))
		require.Equal(t, []string{answer.GetId(), again.GetId()},
			idsOf(h.list(t, "alice", &listRequest{ChannelId: id, CorrelationId: &one.Id})))
		require.Equal(t, []string{again.GetId()},
			idsOf(h.list(t, "alice", &listRequest{ChannelId: id, CorrelationId: &one.Id, Limit: ptr(int32(1))})))
		require.Equal(t, []string{again.GetId()},
			idsOf(h.list(t, "alice", &listRequest{ChannelId: id, CorrelationId: &one.Id, Since: &answer.Id})))
		require.Empty(t, h.list(t, "alice", &listRequest{ChannelId: id, CorrelationId: &two.Id}))
		require.Empty(t, h.list(t, "alice", &listRequest{ChannelId: id, CorrelationId: &one.Id, MessageType: ptr(notify)}))
		require.Empty(t, h.list(t, "carol", &listRequest{ChannelId: id, CorrelationId: &one.Id}), "not hers to see")
	})
}

func TestListingByRecipient(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.register(t, "bob", "tester")
		h.register(t, "carol", "writer")
		for _, to := range []string{"bob", "carol", "role:tester", "role:writer", "role:nobody", "*", ""} {
			req := &sendRequest{ChannelId: id, Payload: content("to " + to)}
			if to != "" {
				req.To = &to
			}
			h.send(t, "alice", req)
		}
		h.send(t, "bob", &sendRequest{ChannelId: id, Payload: content("from bob")})
		list := func(viewer, recipient string) []string {
			return textsOf(h.list(t, viewer, &listRequest{ChannelId: id, To: &recipient}))
		}
		require.Equal(t, []string{"to bob", "to role:tester", "to *", "to "}, list("bob", "bob"), "not what bob sent")
		require.Equal(t, []string{"to bob", "to role:tester", "to *", "to "}, list("alice", "bob"))
		require.Equal(t, []string{"to *", "to "}, list("carol", "bob"), "only what the caller may see itself")
		require.Equal(t, []string{"from bob"}, list("carol", "alice"))
		recipient := "carol"
		require.Equal(t, []string{"to carol", "to role:writer", "to *", "to ", "from bob"},
			textsOf(h.listIn(asOperator(), t, &listRequest{ChannelId: id, To: &recipient})))

		h.clock.Advance(time.Second)
		h.register(t, "bob", "writer")
		h.clock.Advance(time.Second)
		h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("role:writer"), Payload: content("to the writers")})
		for _, viewer := range []string{"bob", "alice"} {
			require.Equal(t, []string{"to bob", "to *", "to ", "to the writers"}, list(viewer, "bob"), "roles are those of now")
		}
		h.deregister(t, "bob")
		require.Equal(t, []string{"to bob", "to *", "to "}, list("bob", "bob")[:3], "an unregistered agent may message")
		require.NotContains(t, list("bob", "bob"), "to role:writer")
	})
}

// A page ends at 3 MiB: after a cursor it leaves out the newest, without one the oldest.
func TestPagesAreBoundedInBytes(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		large := strings.Repeat("x", 200<<10)
		var sent []string
		for range 20 {
			sent = append(sent, h.say(t, "alice", id, large).GetId())
		}
		const fit = (3 << 20) / (200<<10 + 13)
		require.Equal(t, 15, fit)
		newest := h.list(t, "bob", &listRequest{ChannelId: id})
		require.Equal(t, sent[20-fit:], idsOf(newest))
		since := "2001-01-01T00:00:00Z"
		oldest := h.list(t, "bob", &listRequest{ChannelId: id, Since: &since})
		require.Equal(t, sent[:fit], idsOf(oldest))
		require.Equal(t, sent[fit:], idsOf(h.list(t, "bob", &listRequest{ChannelId: id, Since: &oldest[fit-1].Id})))
	})
}

func TestAMessageLargerThanAPageIsAPage(t *testing.T) {
	roomy := func(_ *configOfDatabase, cfg *Config) { cfg.MaxPayloadBytes = 5 << 20 }
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		one := h.say(t, "alice", id, strings.Repeat("x", 4<<20))
		two := h.say(t, "alice", id, strings.Repeat("y", 4<<20))
		require.Equal(t, []string{two.GetId()}, idsOf(h.list(t, "bob", &listRequest{ChannelId: id})))
		since := "2001-01-01T00:00:00Z"
		require.Equal(t, []string{one.GetId()}, idsOf(h.list(t, "bob", &listRequest{ChannelId: id, Since: &since})))
	}, roomy)
}

func TestEachSeesItsOwn(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.explicit(t, "alice", "bob", "carol")
		h.register(t, "carol", "tester")
		direct := h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("bob")})
		toRole := h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("role:tester")})
		toAll := h.say(t, "alice", id, "")
		for _, row := range []struct {
			agent string
			sees  []*wireMessage
		}{
			{"alice", []*wireMessage{direct, toRole, toAll}},
			{"bob", []*wireMessage{direct, toAll}},
			{"carol", []*wireMessage{toRole, toAll}},
		} {
			require.Equal(t, idsOf(row.sees), idsOf(h.list(t, row.agent, &listRequest{ChannelId: id})), row.agent)
			for _, m := range []*wireMessage{direct, toRole, toAll} {
				_, err := h.tryGet(as(row.agent), id, m.GetId())
				if h.sees(t, row.agent, m) {
					require.NoError(t, err, row.agent)
				} else {
					faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
				}
			}
		}
		require.Len(t, h.listIn(asOperator(), t, &listRequest{ChannelId: id}), 3)
		for _, stranger := range []string{"dave", "creator"} {
			_, err := h.messaging.ListMessages(as(stranger), &listRequest{ChannelId: id})
			faulttest.Require(t, err, fault.Denied, "NOT_A_MEMBER")
			_, err = h.tryGet(as(stranger), id, toAll.GetId())
			faulttest.Require(t, err, fault.Denied, "NOT_A_MEMBER")
		}
		h.admit(t, h.channel(t, id).GetIntentId(), "bob")
		_, err := h.messaging.ListMessages(as("alice"), &listRequest{ChannelId: id})
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
		_, err = h.tryGet(as("alice"), id, direct.GetId())
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
		require.Len(t, h.list(t, "bob", &listRequest{ChannelId: id}), 2, "a sender without access still has its recipients")

		h.removeMember(t, id, "bob")
		_, err = h.messaging.ListMessages(as("bob"), &listRequest{ChannelId: id})
		faulttest.Require(t, err, fault.Denied, "NOT_A_MEMBER")
	})
}

func TestGetKnowsOnlyTheChannelsMessages(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id, other := h.open(t), h.open(t)
		m := h.say(t, "alice", other, "")
		for _, absent := range []string{m.GetId(), aMessageID, "nonsense", ""} {
			_, err := h.tryGet(as("alice"), id, absent)
			faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		}
		_, err := h.tryGet(as("alice"), "chan_01ARZ3NDEKTSV4RRFFQ69G5FAV", m.GetId())
		faulttest.Require(t, err, fault.NotFound, "CHANNEL_NOT_FOUND")
	})
}

// A list finds kinds as they were sent, whatever the database has to write them down.
func TestListsOfKindsWithUnusualCharacters(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		kinds := []string{"note", "Note", "not", `a "note"`, `a\note`, "<note> & more", "notiz für später", "100% _note_", `","kind":"note`}
		for _, kind := range kinds {
			h.send(t, "alice", &sendRequest{ChannelId: id, Kind: &kind, Payload: content(kind)})
		}
		h.send(t, "alice", &sendRequest{ChannelId: id, Payload: content("none")})
		for _, kind := range kinds {
			require.Equal(t, []string{kind}, textsOf(h.listed(t, "bob", &listRequest{ChannelId: id, Kind: &kind})))
		}
		require.Empty(t, h.listed(t, "bob", &listRequest{ChannelId: id, Kind: ptr("no")}))
	})
}
