package mcp

import (
	"fmt"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// intent makes an intent of an agent's, and returns its id. With a policy it has an access list.
func (a *agent) intent(t *testing.T, title string, policy *openintentv1.AccessPolicy) string {
	t.Helper()
	made, err := a.direct.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{
		Title: title, Description: new("What " + title + " is for."), DefaultPolicy: policy,
	})
	require.NoError(t, err)
	return made.GetId()
}

// open opens a channel, and returns its id. With members it is a channel of members.
func (a *agent) open(t *testing.T, intent, name string, members ...string) string {
	t.Helper()
	request := &openintentv1.CreateChannelRequest{IntentId: intent, Name: name, Members: members}
	if len(members) > 0 {
		request.MemberPolicy = openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT.Enum()
	}
	made, err := a.direct.Channels.CreateChannel(t.Context(), request)
	require.NoError(t, err)
	return made.GetId()
}

// tell sends a text to everyone on a channel, past the door, and returns the message's id.
func (a *agent) tell(t *testing.T, channel, words string) string {
	t.Helper()
	return a.post(t, &openintentv1.SendMessageRequest{ChannelId: channel, Payload: textPayload(t, words)})
}

// named returns the channels in an answer by their names, in order, with their intents' ids.
func named(t *testing.T, answer object) (names []string, byName map[string]object) {
	t.Helper()
	byName = make(map[string]object)
	for _, intent := range list(t, answer, "intents") {
		for _, channel := range list(t, intent, "channels") {
			name := text(t, channel, "name")
			names, byName[name] = append(names, name), channel
			channel["intent"], channel["title"] = intent["id"], intent["title"]
		}
	}
	return names, byName
}

func TestChannelsAreListedByIntent(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.join(t, "ann"), h.join(t, "bob")
		report, hidden := ann.intent(t, "Report", nil), bob.intent(t, "Hidden", openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED.Enum())
		bob.open(t, hidden, "secret room")
		general, board := ann.open(t, report, "General"), ann.open(t, report, "board", "ann")
		ann.tell(t, general, "hello")

		answer, line := ann.call(t, "channels", nil)
		names, byName := named(t, answer)
		require.Equal(t, []string{"General", "board"}, names)
		require.NotContains(t, line, "secret room")
		require.Equal(t, general, byName["General"]["id"])
		require.EqualValues(t, 1, byName["General"]["messages"])
		require.NotEmpty(t, byName["General"]["last"])
		require.NotContains(t, byName["General"], "members")
		require.Equal(t, "explicit", byName["board"]["members"])
		require.Equal(t, report, byName["board"]["intent"])
		require.Equal(t, "Report", byName["board"]["title"])
		require.Equal(t, board, byName["board"]["id"])

		for query, want := range map[string][]string{"gENE": {"General"}, "REPORT": {"General", "board"}, "nowhere": nil} {
			answer, _ = ann.call(t, "channels", arguments{"query": query})
			names, _ = named(t, answer)
			require.Equal(t, want, names, query)
		}
		answer, _ = ann.call(t, "channels", arguments{"intent": report, "query": "board"})
		names, _ = named(t, answer)
		require.Equal(t, []string{"board"}, names)
		require.Equal(t, "FORBIDDEN", ann.refused(t, "channels", arguments{"intent": hidden}).Refused)
		require.Equal(t, "INVALID_FIELD", ann.refused(t, "channels", arguments{"cursor": "nonsense"}).Refused)
	})
}

// Pages hold every channel once, whether intents have many of them or one.
func TestAllChannelsAreOnThePages(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann := h.join(t, "ann")
		var want []string
		for i := range 23 {
			intent := ann.intent(t, fmt.Sprint("I", i), nil)
			for j := range 1 + i%3*9 {
				want = append(want, fmt.Sprint(i, " ", j))
				ann.open(t, intent, want[len(want)-1])
			}
		}
		var got []string
		given := arguments{}
		for given["cursor"] != "" {
			answer, line := ann.call(t, "channels", given)
			require.Less(t, len(line), 3000)
			names, _ := named(t, answer)
			got = append(got, names...)
			given["cursor"], _ = answer["cursor"].(string)
		}
		require.Equal(t, want, got)

		answer, _ := ann.call(t, "whoami", nil)
		require.Len(t, list(t, answer, "intents"), 10)
		require.Equal(t, true, answer["more_intents"])
		page, err := ann.ListResources(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, page.Resources, 21, "the inbox and a page of intents")
		rest, err := ann.ListResources(t.Context(), &sdk.ListResourcesParams{Cursor: page.NextCursor})
		require.NoError(t, err)
		require.Len(t, rest.Resources, 3, "the other intents alone")
		require.Empty(t, rest.NextCursor)
	})
}

// A guest sees the channel that its invite is for, and nothing else.
func TestAGuestSeesItsChannel(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann := h.join(t, "ann")
		closed := ann.intent(t, "Secret title", openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED.Enum())
		room := ann.open(t, closed, "room")
		ann.open(t, closed, "other")
		ann.tell(t, room, "hello")
		invite, err := ann.direct.Invites.CreateInvite(t.Context(), &openintentv1.CreateInviteRequest{ChannelId: room})
		require.NoError(t, err)
		guest := h.connect(t, invite.GetSecret(), "guest-zoe", newest, nil)

		answer, line := guest.call(t, "channels", nil)
		names, byName := named(t, answer)
		require.Equal(t, []string{"room"}, names)
		require.Equal(t, room, byName["room"]["id"])
		require.NotContains(t, line, "Secret title")
		answer, line = guest.call(t, "join", arguments{"url": "https://example.org/v1/channels/" + room + "#" + invite.GetSecret()})
		require.Equal(t, room, answer["channel"])
		require.NotContains(t, line, "Secret title")
		require.NotContains(t, line, invite.GetSecret())
		_, line = guest.call(t, "status", arguments{"state": "visiting"})
		require.Contains(t, line, "visiting")
	})
}
