package attention

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/message"
)

var now = time.Date(2026, 6, 2, 12, 0, 0, 0, time.UTC)

// who says what a message of the table has to do with the recipient, who is bob and reviews.
type who func(m *message.Message, f *Facts)

func given(all ...who) who {
	return func(m *message.Message, f *Facts) {
		for _, one := range all {
			one(m, f)
		}
	}
}

func talk(m *message.Message) *message.Conversation {
	if m.Conversation == nil {
		m.Conversation = new(message.Conversation)
	}
	return m.Conversation
}

var (
	toMeIs   who = func(m *message.Message, f *Facts) { m.Target, f.Relation.Addressed = "bob", true }
	toRole   who = func(m *message.Message, f *Facts) { m.Target, f.Relation.ByRole = "role:reviewer", true }
	everyone who = func(m *message.Message, f *Facts) { m.Target = "*" }
	named    who = func(m *message.Message, f *Facts) { f.Relation.Mentioned = true }
	roleName who = func(m *message.Message, f *Facts) { f.Relation.RoleMentioned = true }
	inThread who = func(m *message.Message, f *Facts) { f.Relation.WroteInThread = true }
	urgent   who = func(m *message.Message, f *Facts) { talk(m).Priority = message.PriorityUrgent }
	high     who = func(m *message.Message, f *Facts) { talk(m).Priority = message.PriorityHigh }
	thanks   who = func(m *message.Message, f *Facts) { m.Payload = []byte(`{"text":"Thanks!"}`) }
	ackKind  who = func(m *message.Message, f *Facts) { talk(m).Kind = "ack" }
	owed     who = func(m *message.Message, f *Facts) { talk(m).Obligation, f.Owed = &message.Obligation{}, true }
	// discharged is the obligation of a request that is closed.
	discharged who = func(m *message.Message, f *Facts) { talk(m).Obligation = &message.Obligation{} }
	reminder   who = func(m *message.Message, f *Facts) { talk(m).Return = &message.Return{Position: 7} }
	braked     who = func(m *message.Message, f *Facts) { talk(m).Braked = true }
	edited     who = func(m *message.Message, f *Facts) { f.EditedAfterResponse = true }
	mine       who = func(m *message.Message, f *Facts) { f.Claims = append(f.Claims, Claim{"bob", 7, now.Add(time.Minute)}) }
	others     who = func(m *message.Message, f *Facts) {
		f.Claims = append(f.Claims, Claim{"carol", 6, now.Add(time.Second)})
	}
	mineOver who = func(m *message.Message, f *Facts) { f.Claims = append(f.Claims, Claim{"bob", 7, now}) }
	lapsed   who = func(m *message.Message, f *Facts) { f.Claims = append(f.Claims, Claim{"dave", 5, now}) }
)

func kind(kind string) who { return func(m *message.Message, _ *Facts) { talk(m).Kind = kind } }

func collect(c message.Collection, quorum int) who {
	return func(m *message.Message, _ *Facts) { talk(m).Collect = &message.Collect{Collection: c, Quorum: quorum} }
}

func wishes(d openintentv1.Directedness, p openintentv1.ResponsePolicy) who {
	return func(m *message.Message, _ *Facts) { talk(m).Directedness, talk(m).Policy = d, p }
}

var (
	all    = collect(message.CollectAll, 0)
	one    = collect(message.CollectOne, 0)
	quorum = collect(message.CollectQuorum, 2)
)

// TestTheTable is the table of docs/attention.md, row by row and cell by cell, and then what the text under it adds.
func TestTheTable(t *testing.T) {
	for _, c := range []struct {
		name     string
		relation who
		on       message.Type
		want     string
	}{
		{"to me", toMeIs, request, "to_me / must_respond / buffered, direct_request"},
		{"to me, urgent", given(toMeIs, urgent), request, "to_me / must_respond / immediate, direct_request"},
		{"to me, not quite urgent", given(toMeIs, high), request, "to_me / must_respond / buffered, direct_request"},
		{"to me", toMeIs, response, "to_me / ack_only / buffered, response"},
		{"to me, urgent", given(toMeIs, urgent), response, "to_me / ack_only / buffered, response"},
		{"to me", toMeIs, notice, "to_me / ack_only / buffered, direct_notify"},
		{"to me, thanks", given(toMeIs, thanks), notice, "to_me / ack_only / notify, direct_notify"},
		{"to me, of kind ack", given(toMeIs, ackKind), notice, "to_me / ack_only / notify, direct_notify"},
		{"to me, thanks", given(toMeIs, thanks), response, "to_me / ack_only / buffered, response"},

		{"to my role", toRole, request, "to_my_role / may_respond / notify, role_request"},
		{"to my role, all", given(toRole, all), request, "to_my_role / must_respond / notify, role_request"},
		{"to my role, urgent", given(toRole, urgent), request, "to_my_role / may_respond / notify, role_request"},
		{"to my role", toRole, notice, "to_my_role / may_respond / notify, role_notify"},
		{"to my role, one", given(toRole, one), request, "to_my_role / may_respond / notify, role_request"},
		{"to my role, quorum", given(toRole, quorum), request, "to_my_role / may_respond / notify, role_request"},
		{"claimant of one", given(toRole, one, mine), request, "to_my_role / must_respond / buffered, role_request"},
		{"claimant of a quorum", given(toRole, quorum, others, mine), request, "to_my_role / must_respond / buffered, role_request"},
		{"claimant of one, whose claim is over", given(toRole, one, mineOver), request, "to_my_role / may_respond / notify, role_request"},
		{"claimant of any", given(toRole, mine), request, "to_my_role / may_respond / notify, role_request"},

		{"everyone", everyone, notice, "ambient / must_not_respond / tool_mailbox, ambient"},
		{"everyone", everyone, broadcast, "ambient / must_not_respond / tool_mailbox, ambient"},

		{"mentioned", given(everyone, named), request, "to_me / must_respond / buffered, mention"},
		{"mentioned", given(everyone, named), response, "to_me / may_respond / buffered, mention"},
		{"mentioned", given(everyone, named), notice, "to_me / must_respond / buffered, mention"},
		{"mentioned", given(everyone, named), broadcast, "to_me / must_respond / buffered, mention"},

		{"role mentioned", given(everyone, roleName), request, "to_my_role / may_respond / notify, role_mention"},
		{"role mentioned", given(everyone, roleName), response, "to_my_role / may_respond / notify, role_mention"},
		{"role mentioned", given(everyone, roleName), notice, "to_my_role / may_respond / notify, role_mention"},
		{"role mentioned", given(everyone, roleName), broadcast, "to_my_role / may_respond / notify, role_mention"},

		{"wrote in the thread", given(everyone, inThread), request, "to_my_role / may_respond / notify, thread"},
		{"wrote in the thread", given(everyone, inThread), notice, "to_my_role / may_respond / notify, thread"},
		{"wrote in the thread", given(everyone, inThread), broadcast, "to_my_role / may_respond / notify, thread"},

		{"kind status", given(everyone, kind("status")), notice, "ambient / must_not_respond / digest, status"},
		{"kind status", given(everyone, kind("status")), broadcast, "ambient / must_not_respond / digest, status"},
		{"kind progress", given(everyone, kind("progress")), notice, "ambient / must_not_respond / digest, status"},
		{"kind log", given(everyone, kind("log")), broadcast, "ambient / must_not_respond / digest, status"},
		{"another kind", given(everyone, kind("status.page")), broadcast, "ambient / must_not_respond / tool_mailbox, ambient"},

		{"owed by me", given(toMeIs, owed), request, "to_me / must_respond / buffered, obligation"},
		{"owed by me, urgent", given(toMeIs, owed, urgent), request, "to_me / must_respond / immediate, obligation"},
		{"owed by my role", given(toRole, owed), request, "to_my_role / must_respond / notify, obligation"},
		{"owed by my role, one, and mine", given(toRole, owed, one, mine), request, "to_my_role / must_respond / notify, obligation"},
		{"a reminder", given(toMeIs, reminder, owed), notice, "to_me / must_respond / notify, obligation_return"},
		{"a reminder of what is discharged", given(toMeIs, reminder), notice, "to_me / ack_only / buffered, direct_notify"},
		{"an obligation before a mention", given(toMeIs, owed, named), request, "to_me / must_respond / buffered, obligation"},
		{"claimed by other, though owed", given(toRole, owed, others), request, "to_my_role / must_not_respond / notify, claimed_by_other"},

		// The first rule that applies decides.
		{"mention before to me", given(toMeIs, named), request, "to_me / must_respond / buffered, mention"},
		{"mention before to me", given(toMeIs, named, urgent), request, "to_me / must_respond / buffered, mention"},
		{"mention before to me", given(toMeIs, named, thanks), notice, "to_me / must_respond / buffered, mention"},
		{"mention before to me", given(toMeIs, named), response, "to_me / may_respond / buffered, mention"},
		{"to me before mention of my role", given(toMeIs, roleName), request, "to_me / must_respond / buffered, direct_request"},
		{"to me before the kind", given(toMeIs, kind("status")), notice, "to_me / ack_only / buffered, direct_notify"},
		{"mention before mention of my role", given(everyone, roleName, named), notice, "to_me / must_respond / buffered, mention"},
		{"mention of my role before to my role", given(toRole, roleName, all), request, "to_my_role / may_respond / notify, role_mention"},
		{"to my role before the thread", given(toRole, inThread), notice, "to_my_role / may_respond / notify, role_notify"},
		{"the thread before the kind", given(everyone, inThread, kind("log")), notice, "to_my_role / may_respond / notify, thread"},
		{"the kind before everyone", given(everyone, kind("log")), notice, "ambient / must_not_respond / digest, status"},

		// Then a claim of somebody else.
		{"claimed by other", given(toRole, others), request, "to_my_role / must_not_respond / notify, claimed_by_other"},
		{"claimed by other", given(toRole, one, others), request, "to_my_role / must_not_respond / notify, claimed_by_other"},
		{"claimed by other", given(toRole, all, others), request, "to_my_role / must_not_respond / notify, claimed_by_other"},
		{"one of two claimed", given(toRole, quorum, others), request, "to_my_role / may_respond / notify, role_request"},
		{"two of two claimed", given(toRole, quorum, others, others), request, "to_my_role / must_not_respond / notify, claimed_by_other"},
		{"claimed by both", given(toRole, others, mine), request, "to_my_role / may_respond / notify, role_request"},
		{"a claim that is over", given(toRole, one, lapsed), request, "to_my_role / may_respond / notify, role_request"},
		{"claimed by other before a mention", given(toRole, named, others), request, "to_me / must_not_respond / buffered, claimed_by_other"},
		{"a claim adds nothing to ambient", given(everyone, others), notice, "ambient / must_not_respond / tool_mailbox, ambient"},

		// Then the loop brake.
		{"braked", given(toMeIs, braked), request, "to_me / must_not_respond / tool_mailbox, loop_brake"},
		{"braked", given(toMeIs, braked), response, "to_me / must_not_respond / tool_mailbox, loop_brake"},
		{"braked", given(toMeIs, braked), notice, "to_me / must_not_respond / tool_mailbox, loop_brake"},
		{"braked", given(everyone, braked, inThread), broadcast, "to_my_role / must_not_respond / tool_mailbox, loop_brake"},
		{"braked status", given(everyone, braked, kind("status")), notice, "ambient / must_not_respond / tool_mailbox, loop_brake"},
		{"braked after a claim", given(toMeIs, braked, others), request, "to_me / must_not_respond / tool_mailbox, loop_brake"},
		{"braked, though owed", given(toMeIs, braked, owed), request, "to_me / must_respond / buffered, obligation"},
		{"braked, though owed by my role", given(toRole, braked, owed), request, "to_my_role / must_respond / notify, obligation"},
		{"braked, though a reminder", given(toMeIs, braked, reminder, owed), notice, "to_me / must_respond / notify, obligation_return"},
		{"braked, though it was owed", given(toMeIs, braked, discharged), request, "to_me / must_respond / buffered, direct_request"},
		{"wish after a brake", given(toMeIs, braked, wishes(ambient, mustRespond)), request, "ambient / must_not_respond / tool_mailbox, sender_wish"},

		// Then the sender's own wish.
		{"wish", given(toMeIs, wishes(0, ackOnly)), request, "to_me / ack_only / buffered, sender_wish"},
		{"wish", given(toMeIs, wishes(ambient, 0)), notice, "ambient / ack_only / buffered, sender_wish"},
		{"wish for what is so already", given(toMeIs, wishes(toMe, mustRespond)), request, "to_me / must_respond / buffered, direct_request"},
		{"wish for more", given(everyone, wishes(toMe, mustRespond)), broadcast, "ambient / must_not_respond / tool_mailbox, ambient"},
		{"wish for more", given(toMeIs, wishes(toMe, mustRespond)), notice, "to_me / ack_only / buffered, direct_notify"},
		{"wish after a claim", given(toRole, others, wishes(0, mustRespond)), request, "to_my_role / must_not_respond / notify, claimed_by_other"},

		{"edited after an answer", given(toMeIs, edited), request, "to_me / must_respond / buffered, edited_after_response"},
		{"claimed by other, edited", given(toRole, edited, others), request, "to_my_role / must_not_respond / notify, claimed_by_other"},
	} {
		t.Run(c.name+" "+string(c.on), func(t *testing.T) {
			m := &message.Message{Type: c.on, Payload: []byte(`{"text":"What is next?"}`)}
			facts := Facts{Agent: "bob"}
			c.relation(m, &facts)
			j := Judge(m, facts, now)
			require.Equal(t, c.want, j.words()+", "+j.Reason)
		})
	}
}

func TestExplanationsWalkTheSameRules(t *testing.T) {
	m := &message.Message{Type: request, Payload: []byte(`{}`)}
	facts := Facts{Agent: "bob"}
	given(toRole, others, kind("review"))(m, &facts)
	require.Equal(t, []Rule{
		{"obligation_return", "does not apply"},
		{"obligation_to_me_urgent", "does not apply"},
		{"obligation_to_me", "does not apply"},
		{"obligation_to_my_role", "does not apply"},
		{"mentioned", "does not apply"},
		{"to_me_urgent", "does not apply"},
		{"to_me_acknowledgement", "does not apply"},
		{"to_me", "does not apply"},
		{"role_mentioned", "does not apply"},
		{"to_my_role_claimed_by_me", "does not apply"},
		{"to_my_role_collect_all", "does not apply"},
		{"to_my_role", "decides: to_my_role / may_respond / notify"},
		{"edited_after_response", "changes nothing"},
		{"claimed_by_other", "changes it to to_my_role / must_not_respond / notify, reason claimed_by_other"},
		{"loop_brake", "changes nothing"},
		{"sender_wish", "changes nothing"},
	}, Judge(m, facts, now).rules())
}

// A block is encoded once for all recipients only if nothing in it is a recipient's own or changes with time.
func TestWhichBlocksAreTheSameForAll(t *testing.T) {
	expires := func(m *message.Message, _ *Facts) { m.ExpiresAt = now.Add(time.Minute) }
	for _, c := range []struct {
		relation who
		exact    bool
	}{
		{toRole, true}, {given(toRole, high), true}, {given(toRole, expires), false}, {given(toRole, others), false}, {given(toRole, mine), false},
	} {
		m, facts := &message.Message{Type: request, Payload: []byte(`{}`)}, Facts{Agent: "bob"}
		c.relation(m, &facts)
		_, exact := Judge(m, facts, now).Form()
		require.Equal(t, c.exact, exact)
	}
}

func TestBlock(t *testing.T) {
	m := &message.Message{
		ID: "msg_1", ChannelID: "chan_1", Sender: "alice", Type: request, ExpiresAt: now.Add(1500 * time.Millisecond),
		Payload: []byte(`{"text":"What is next?"}`),
	}
	facts := Facts{Agent: "bob", ChannelName: "reviews"}
	given(toRole, one, others, mine, high)(m, &facts)
	block := Judge(m, facts, now).ToWire()
	require.Equal(t, openintentv1.Priority_PRIORITY_HIGH, block.GetPriority())
	require.EqualValues(t, 1500, block.GetDeadlineMs())
	require.Equal(t, "bob", block.GetClaim().GetHolder(), "the recipient's own claim comes first")
	require.EqualValues(t, 7, block.GetClaim().GetFence())
	require.EqualValues(t, 60_000, block.GetClaim().GetExpiresInMs())
	require.Nil(t, block.GetKnock(), "what is injected whole needs no knock")

	facts.Agent = "erin"
	block = Judge(m, facts, now).ToWire()
	require.Equal(t, "bob", block.GetClaim().GetHolder(), "of others' claims the one that ends last")
	require.Nil(t, block.GetClaim().Fence, "the fence is the holder's")
	require.Equal(t, "alice", block.GetKnock().GetFrom())
	require.Equal(t, "reviews", block.GetKnock().GetWhere())
	require.Equal(t, "request in reviews", block.GetKnock().GetTopic())
	require.Equal(t, "/v1/channels/chan_1/messages/msg_1", block.GetKnock().GetPullWith())

	m.Conversation.Kind = "review.request"
	require.Equal(t, "review.request in reviews", Judge(m, facts, now).ToWire().GetKnock().GetTopic())
	m.Conversation.Subject = "A look at the parser"
	judged := Judge(m, facts, now)
	require.Equal(t, "A look at the parser", judged.ToWire().GetKnock().GetTopic())
	stranger := judged.FromStranger()
	require.Equal(t, "request in chan_1", stranger.ToWire().GetKnock().GetTopic(), "none of a stranger's words")
	require.Equal(t, "chan_1", stranger.ToWire().GetKnock().GetWhere())
	require.NotEqual(t, formOf(judged), formOf(stranger), "who knows the sender is sent another form")
	require.Equal(t, judged.Verdict, stranger.Verdict)
	require.Equal(t, "request in chan_1", stranger.At(now.Add(time.Second)).ToWire().GetKnock().GetTopic(), "as of a later time, too")

	m.ExpiresAt, facts.Claims = time.Time{}, nil
	block = Judge(m, facts, now).ToWire()
	require.Nil(t, block.DeadlineMs)
	require.Nil(t, block.GetClaim())
}

func TestAcknowledgements(t *testing.T) {
	for payload, want := range map[string]bool{
		`{"text":"thanks"}`:                        true,
		`{"text":"Thank you very much! 🙏"}`:        true,
		`{"content":"OK, got it. Thanks."}`:        true,
		`{"text":"You’re welcome"}`:                false, // a typographic apostrophe is none of the list's
		`{"text":"Thanks, but the tests fail"}`:    false,
		`{"text":"ok?"}`:                           false,
		`{"text":"thanks for the fish"}`:           false,
		`{"text":"👍"}`:                             false,
		`{"text":""}`:                              false,
		`{"text":"thanks","result":{"passed":12}}`: false,
		`{"text":{"text":"thanks"}}`:               false,
		`{"note":"thanks"}`:                        false,
		`{}`:                                       false,
		`{"text":"` + strings.Repeat("ok. ", longestAcknowledgement/4) + `"}`:  true,
		`{"text":"` + strings.Repeat("ok. ", longestAcknowledgement/4) + `."}`: false,
	} {
		require.Equal(t, want, isAcknowledgement(&message.Message{Payload: []byte(payload)}), payload)
	}
}

// Other rules change which kinds are digested, and nothing else. The server's own rules do not change with them.
func TestTheDigestedKindsCanBeOthers(t *testing.T) {
	judged := func(given string, rules *Rules) string {
		m, f := &message.Message{Sender: "alice", Type: broadcast}, Facts{Agent: "bob", Rules: rules}
		kind(given)(m, &f)
		return Judge(m, f, now).At(now).words()
	}
	const digested, ambient = "ambient / must_not_respond / digest", "ambient / must_not_respond / tool_mailbox"
	other := &Rules{DigestedKinds: []string{"ci.result"}}
	require.Equal(t, digested, judged("ci.result", other))
	require.Equal(t, ambient, judged("status", other))
	require.Equal(t, ambient, judged("status", &Rules{}), "no kind at all")
	Today().DigestedKinds[0] = "ci.result"
	require.Equal(t, ambient, judged("ci.result", nil))
	require.Equal(t, digested, judged("status", nil))
}

func formOf(j *Judgement) Form {
	form, _ := j.Form()
	return form
}
