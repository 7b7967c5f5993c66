package writing

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/agents"
	"openintent/channels"
	"openintent/channels/channelstest"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/internal/jsonvalue"
	"openintent/messaging/message"
)

// situationOf reads what drafts for a channel are judged by.
func situationOf(t require.TestingT, p *channelstest.Place, key channels.Key) (s situation) {
	err := p.DB.Read(context.Background(), func(tx *database.Tx) error {
		headStatement, head := intents.PrepareHead(tx, key.IntentNo)
		countStatement, counts := channels.PrepareCounts(tx, []channels.Key{key})
		presenceStatement, presences := agents.PreparePresences(tx, []string{"alice", "bob", "carol", "dave", "gone"})
		if err := tx.Pipeline(headStatement, countStatement, presenceStatement); err != nil {
			return err
		}
		h, err := head()
		if err != nil {
			return err
		}
		s = situation{head: &h, count: *counts[key], presences: presences, now: h.Now()}
		if s.access, err = p.Intents.Rules(tx, key.IntentNo, h.Epoch); err != nil {
			return err
		}
		s.channel, err = p.Channels.Rules(tx, key, h.Epoch)
		return err
	})
	require.NoError(t, err)
	return s
}

func TestAdmission(t *testing.T) {
	channelstest.Each(t, func(t *testing.T, p *channelstest.Place) {
		intentID := p.Intent(t)
		_, shared := p.Channel(t, &openintentv1.CreateChannelRequest{IntentId: intentID, Name: "shared"})
		policy := openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT
		_, private := p.Channel(t, &openintentv1.CreateChannelRequest{
			IntentId: intentID, Name: "private", Members: []string{"alice", "bob", "dave", "gone"}, MemberPolicy: &policy,
		})
		p.Close(t, intentID, "alice", "bob", "carol", "gone")
		p.Register(t, "gone", "tester")
		require.NoError(t, p.DB.Write(context.Background(), func(tx *database.Tx) error {
			// A departure whose work has not been done.
			return tx.Pipeline(database.Statement{
				SQL:  "UPDATE agents SET departed_at = ?, status = 'active' WHERE agent_id = 'gone'",
				Args: []any{database.Micros(p.Clock.Now())},
			})
		}))
		situations := map[string]situation{"shared": situationOf(t, p, shared), "private": situationOf(t, p, private)}

		for _, row := range []struct {
			channel, sender, target string
			kind                    fault.Kind
			reason                  string // empty: admitted
		}{
			{"shared", "alice", "", 0, ""},
			{"shared", "alice", "dave", fault.Denied, "TARGET_WITHOUT_ACCESS"},
			{"shared", "carol", "role:tester", 0, ""},
			{"shared", "gone", "", 0, ""},
			{"shared", "dave", "", fault.Denied, "FORBIDDEN"},
			{"shared", caller.Operator, "bob", 0, ""},
			{"private", "alice", "", 0, ""},
			{"private", "alice", "*", 0, ""},
			{"private", "alice", "bob", 0, ""},
			{"private", "alice", "dave", fault.Denied, "TARGET_WITHOUT_ACCESS"}, // though it is a member
			{"private", "alice", "role:tester", 0, ""},
			{"private", "alice", "carol", fault.Denied, "TARGET_NOT_A_MEMBER"},
			{"private", "alice", "creator", fault.Denied, "TARGET_NOT_A_MEMBER"},
			{"private", "alice", "gone", fault.Denied, "TARGET_NOT_A_MEMBER"},
			{"private", caller.Operator, "bob", 0, ""},
			{"private", caller.Operator, "carol", fault.Denied, "TARGET_NOT_A_MEMBER"},
			{"private", "carol", "", fault.Denied, "NOT_A_MEMBER"},
			{"private", "creator", "", fault.Denied, "NOT_A_MEMBER"},
			{"private", "gone", "", fault.Denied, "NOT_A_MEMBER"},
			{"private", "dave", "", fault.Denied, "FORBIDDEN"},
		} {
			d := draftBy(row.sender)
			d.Target, d.Privileged, d.By.IsOperator = row.target, row.sender == caller.Operator, row.sender == caller.Operator
			err := admit(d, situations[row.channel])
			if row.reason == "" {
				require.NoError(t, err, "%s to %q on %s", row.sender, row.target, row.channel)
			} else {
				require.Error(t, err, "%s to %q on %s", row.sender, row.target, row.channel)
				faulttest.Require(t, err, row.kind, row.reason)
			}
		}
	})
}

func TestAdmissionByTime(t *testing.T) {
	channelstest.Each(t, func(t *testing.T, p *channelstest.Place) {
		ttl := int64(10)
		_, key := p.Channel(t, &openintentv1.CreateChannelRequest{Options: &openintentv1.ChannelOptions{TtlSeconds: &ttl}})
		s := situationOf(t, p, key)
		d := draftBy("alice")
		s.now = s.channel.CreatedAt.Add(10*time.Second - time.Microsecond)
		require.NoError(t, admit(d, s))
		s.now = s.channel.CreatedAt.Add(10 * time.Second)
		faulttest.Require(t, admit(d, s), fault.Conflict, "CHANNEL_CLOSED")

		s.now = s.channel.CreatedAt.Add(time.Second)
		d.ExpiresAt = s.now.Add(time.Microsecond)
		require.NoError(t, admit(d, s))
		d.ExpiresAt = s.now
		faulttest.RequireBadField(t, admit(d, s), "expires_at")
		d.ExpiresAt = s.now.Add(-time.Hour)
		faulttest.RequireBadField(t, admit(d, s), "expires_at")

		s.now = s.channel.CreatedAt.Add(time.Hour)
		d.By.Agent = "alice"
		faulttest.Require(t, admit(d, s), fault.Conflict, "CHANNEL_CLOSED")
	})
}

func TestAdmissionOfResponses(t *testing.T) {
	channelstest.Each(t, func(t *testing.T, p *channelstest.Place) {
		_, key := p.Channel(t, &openintentv1.CreateChannelRequest{})
		s := situationOf(t, p, key)
		asked := func() *message.Message {
			return &message.Message{
				Ordinal:  1,
				IntentNo: s.channel.IntentNo, ChannelNo: s.channel.ChannelNo, ID: someMessageID,
				Sender: "alice", Target: "bob", Type: message.TypeRequest, Open: true, CreatedAt: s.now,
			}
		}
		for _, row := range []struct {
			name     string
			sender   string
			change   func(m *message.Message)
			target   string
			kind     fault.Kind
			byReply  string // the reason; empty: admitted
			byHand   string
			badField string
		}{
			{name: "the addressee", sender: "bob"},
			{name: "the addressee, naming the asker", sender: "bob", target: "alice"},
			{name: "the operator", sender: caller.Operator},
			{name: "an answered request", sender: "bob", change: func(m *message.Message) { m.Open = false }},
			{name: "the addressee, naming another", sender: "bob", target: "carol", byReply: "INVALID_FIELD",
				byHand: "INVALID_FIELD", kind: fault.Invalid},
			{name: "the asker", sender: "alice", byReply: "OWN_REQUEST", byHand: "OWN_REQUEST", kind: fault.Denied},
			{name: "somebody else", sender: "carol", byReply: "MESSAGE_NOT_FOUND", byHand: "INVALID_FIELD"},
			{name: "a message of another channel", sender: "bob", change: func(m *message.Message) { m.ChannelNo++ },
				byReply: "MESSAGE_NOT_FOUND", byHand: "INVALID_FIELD"},
			{name: "a message of another intent", sender: "bob", change: func(m *message.Message) { m.IntentNo++ },
				byReply: "MESSAGE_NOT_FOUND", byHand: "INVALID_FIELD"},
			{name: "a notify", sender: "bob", change: func(m *message.Message) { m.Type, m.Open = message.TypeNotify, false },
				byReply: "NOT_A_REQUEST", byHand: "NOT_A_REQUEST", kind: fault.Invalid},
			{name: "a response", sender: "bob", change: func(m *message.Message) { m.Type, m.Open = message.TypeResponse, false },
				byReply: "NOT_A_REQUEST", byHand: "NOT_A_REQUEST", kind: fault.Invalid},
			{name: "an expired request", sender: "bob", change: func(m *message.Message) { m.ExpiresAt = s.now },
				byReply: "MESSAGE_EXPIRED", byHand: "MESSAGE_EXPIRED", kind: fault.Conflict},
			{name: "an answered request past its expiry", sender: "bob",
				change:  func(m *message.Message) { m.Open, m.ExpiresAt = false, s.now },
				byReply: "MESSAGE_EXPIRED", byHand: "MESSAGE_EXPIRED", kind: fault.Conflict},
			{name: "an abandoned request", sender: "bob", change: func(m *message.Message) { m.Abandoned = true },
				byReply: "MESSAGE_EXPIRED", byHand: "MESSAGE_EXPIRED", kind: fault.Conflict},
		} {
			for _, replying := range []bool{true, false} {
				d := &Draft{
					Sender: row.sender, Target: row.target, MessageType: message.TypeResponse, CorrelationID: someMessageID,
					Replying: replying, payload: jsonvalue.Object("{}"), Privileged: row.sender == caller.Operator,
				}
				s.request = asked()
				if row.change != nil {
					row.change(s.request)
				}
				err := admit(d, s)
				reason := row.byHand
				if replying {
					reason = row.byReply
				}
				kind := row.kind
				switch reason {
				case "MESSAGE_NOT_FOUND":
					kind = fault.NotFound
				case "INVALID_FIELD":
					kind = fault.Invalid
				}
				if reason == "" {
					require.NoError(t, err, row.name)
					require.Equal(t, "alice", d.Target, row.name)
					continue
				}
				require.Error(t, err, row.name)
				faulttest.Require(t, err, kind, reason)
			}
		}
		s.request = nil
		require.ErrorIs(t, admit(&Draft{Sender: "bob", MessageType: message.TypeResponse, Replying: true}, s), message.ErrMessageNotFound)
		require.ErrorIs(t, admit(&Draft{Sender: "bob", MessageType: message.TypeResponse}, s), message.ErrCorrelationUnknown)
	})
}
