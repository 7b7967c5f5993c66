package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// secret is part of everything that a stranger may not see.
const secret = "the-secret-of-ann"

// den is what belongs to ann and bob alone: an intent with a closed list, and a channel of members on an open one.
type den struct {
	closed, room, message, lease string
	open, board, posted, direct  string
}

func (h *house) den(t *testing.T) den {
	t.Helper()
	ann := h.join(t, "ann")
	var d den
	d.closed = ann.intent(t, secret, openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED.Enum())
	d.room = ann.open(t, d.closed, secret+" room")
	d.message = ann.tell(t, d.room, secret)
	d.lease = d.closed + "/" + secret
	ann.call(t, "claim", arguments{"resource": d.lease})
	d.open = ann.intent(t, "Everybody's", nil)
	d.board = ann.open(t, d.open, "board", "ann", "bob")
	d.posted = ann.tell(t, d.board, secret)
	d.direct = ann.ask(t, ann.open(t, d.open, "general"), "bob", secret, nil)
	bob := h.join(t, "bob")
	bob.call(t, "claim", arguments{"message": d.direct})
	bob.call(t, "mark", arguments{"messages": []string{d.direct}, "signal": "working"})
	return d
}

// attempt is a call of a tool that names something of others, and the same call about what is not there.
type attempt struct {
	tool          string
	named, absent arguments
	// reason is that of the first call; the second one's is the same unless instead says otherwise.
	reason, instead string
}

// noMessage is an id that no message has.
const noMessage = "msg_01ARZ3NDEKTSV4RRFFQ69G5FAV"

// attempts are what a stranger tries on the den.
func (d den) attempts() (all []attempt) {
	for _, message := range []string{d.message, d.posted, d.direct} {
		on := func(tool, argument string, further arguments) {
			a := attempt{tool: tool, named: arguments{argument: message}, absent: arguments{argument: noMessage}, reason: "MESSAGE_NOT_FOUND"}
			for name, value := range further {
				a.named[name], a.absent[name] = value, value
			}
			all = append(all, a)
		}
		on("read", "message", nil)
		on("read", "thread", nil)
		on("claim", "message", nil)
		on("claim", "message", arguments{"release": true})
		on("reply", "message", arguments{"text": "mine"})
		for _, signal := range []string{"read", "surfaced", "seen", "failed"} {
			all = append(all, attempt{
				tool: "mark", named: arguments{"messages": []string{message}, "signal": signal},
				absent: arguments{"messages": []string{noMessage}, "signal": signal}, reason: "MESSAGE_NOT_FOUND",
			})
		}
	}
	nowhere := "00000000-0000-4000-8000-000000000000"
	inClosed := func(tool string, named, absent arguments, instead string) {
		all = append(all, attempt{tool: tool, named: named, absent: absent, reason: "FORBIDDEN", instead: instead})
	}
	inClosed("read", arguments{"channel": d.room}, arguments{"channel": nowhere}, "CHANNEL_NOT_FOUND")
	inClosed("join", arguments{"url": "openintent://channels/" + d.room}, arguments{"url": "openintent://channels/" + nowhere}, "CHANNEL_NOT_FOUND")
	inClosed("join", arguments{"intent": d.closed, "channel": secret + " room"}, arguments{"intent": d.closed, "channel": "none"}, "")
	inClosed("join", arguments{"intent": d.closed, "channel": "new", "create": true}, arguments{"intent": nowhere, "channel": "new", "create": true},
		"INTENT_NOT_FOUND")
	inClosed("channels", arguments{"intent": d.closed}, arguments{"intent": nowhere}, "INTENT_NOT_FOUND")
	inClosed("claim", arguments{"resource": d.lease}, arguments{"resource": d.closed + "/free"}, "")
	inClosed("claim", arguments{"resource": d.lease, "release": true}, arguments{"resource": d.closed + "/free", "release": true}, "")
	return append(all,
		attempt{tool: "read", named: arguments{"channel": d.board}, absent: arguments{"channel": nowhere}, reason: "NOT_A_MEMBER", instead: "CHANNEL_NOT_FOUND"},
		attempt{
			tool: "join", named: arguments{"intent": d.open, "channel": "board"}, absent: arguments{"intent": d.open, "channel": "none"},
			reason: "NOT_A_MEMBER", instead: "CHANNEL_NOT_FOUND",
		},
	)
}

// traces returns what the owners see of the den, which no attempt may change.
func (h *house) traces(t *testing.T, d den) string {
	t.Helper()
	var out strings.Builder
	for _, name := range []string{"ann", "bob"} {
		owner := h.join(t, name)
		for _, given := range []arguments{{"thread": d.direct}, {"thread": d.posted}, {"channel": d.board}} {
			_, line := owner.call(t, "read", given)
			out.WriteString(line)
		}
		_, line := owner.call(t, "inbox", nil)
		out.WriteString(line)
	}
	operator := h.Operator()
	for _, path := range []string{
		"/v1/intents/" + d.closed + "/events?limit=1000", "/v1/intents/" + d.open + "/events?limit=1000", "/v1/intents/" + d.closed + "/leases",
		"/v1/intents/" + d.closed + "/channels", "/v1/intents/" + d.open + "/channels",
	} {
		answer := operator.REST(t, "GET", path, "")
		require.Equal(t, 200, answer.Status, "%s: %s", path, answer.Body)
		out.Write(answer.Body)
	}
	return out.String()
}

// A stranger with a key of its own gets nothing out of the tools, and changes nothing. About messages it is told the same as about what
// is not there, to the letter.
func TestAStrangerTakesNothingThroughTheDoor(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		d := h.den(t)
		before := h.traces(t, d)
		stranger := h.stranger(t)
		for _, a := range d.attempts() {
			named, absent := stranger.refused(t, a.tool, a.named), stranger.refused(t, a.tool, a.absent)
			require.Equal(t, a.reason, named.Refused, "%s %v", a.tool, a.named)
			if a.instead == "" {
				delete(named.Facts, "message_id") // the caller's own word
				delete(absent.Facts, "message_id")
				require.Equal(t, absent, named, "%s %v", a.tool, a.named)
			} else {
				require.Equal(t, a.instead, absent.Refused, "%s %v", a.tool, a.absent)
			}
			line, err := json.Marshal(named)
			require.NoError(t, err)
			require.NotContains(t, string(line), secret, "%s %v", a.tool, a.named)
		}
		for tool, given := range map[string]arguments{
			"channels": nil, "whoami": nil, "inbox": nil, "status": {"state": "curious"},
			"mark": {"messages": []string{d.direct, d.posted}, "signal": "read"},
		} {
			_, line := stranger.call(t, tool, given)
			require.NotContains(t, line, secret, tool)
		}
		require.Equal(t, before, h.traces(t, d))
	})
}
