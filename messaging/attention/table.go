package attention

import (
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/message"
)

// Short names for the words of the table.
const (
	toMe     = openintentv1.Directedness_DIRECTEDNESS_TO_ME
	toMyRole = openintentv1.Directedness_DIRECTEDNESS_TO_MY_ROLE
	ambient  = openintentv1.Directedness_DIRECTEDNESS_AMBIENT

	mustRespond    = openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND
	mayRespond     = openintentv1.ResponsePolicy_RESPONSE_POLICY_MAY_RESPOND
	ackOnly        = openintentv1.ResponsePolicy_RESPONSE_POLICY_ACK_ONLY
	mustNotRespond = openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_NOT_RESPOND

	immediate   = openintentv1.Injection_INJECTION_IMMEDIATE
	buffered    = openintentv1.Injection_INJECTION_BUFFERED
	notify      = openintentv1.Injection_INJECTION_NOTIFY
	digest      = openintentv1.Injection_INJECTION_DIGEST
	toolMailbox = openintentv1.Injection_INJECTION_TOOL_MAILBOX

	request   = message.TypeRequest
	response  = message.TypeResponse
	notice    = message.TypeNotify
	broadcast = message.TypeBroadcast
)

// Verdict is what a row decides.
type Verdict struct {
	Directedness openintentv1.Directedness
	Policy       openintentv1.ResponsePolicy
	Injection    openintentv1.Injection
	Reason       string
}

// row is a row of the table. It decides if its condition holds and it has a cell for the type of the message.
type row struct {
	rule    string
	applies func(q *question) bool
	cells   map[message.Type]Verdict
}

// table says what a message asks of a recipient. The first row that applies decides. Where the page has one row with a condition in
// a cell, the table has a row for the condition before it.
var table = []row{
	{"obligation_return", (*question).reminds, map[message.Type]Verdict{
		notice: {toMe, mustRespond, notify, "obligation_return"},
	}},
	{"obligation_to_me_urgent", (*question).owedUrgently, map[message.Type]Verdict{
		request: {toMe, mustRespond, immediate, "obligation"},
	}},
	{"obligation_to_me", (*question).owed, map[message.Type]Verdict{
		request: {toMe, mustRespond, buffered, "obligation"},
	}},
	{"obligation_to_my_role", (*question).owedByRole, map[message.Type]Verdict{
		request: {toMyRole, mustRespond, notify, "obligation"},
	}},
	{"mentioned", (*question).mentioned, map[message.Type]Verdict{
		request:   {toMe, mustRespond, buffered, "mention"},
		response:  {toMe, mayRespond, buffered, "mention"},
		notice:    {toMe, mustRespond, buffered, "mention"},
		broadcast: {toMe, mustRespond, buffered, "mention"},
	}},
	{"to_me_urgent", (*question).addressedUrgently, map[message.Type]Verdict{
		request: {toMe, mustRespond, immediate, "direct_request"},
	}},
	{"to_me_acknowledgement", (*question).addressedWithThanks, map[message.Type]Verdict{
		notice: {toMe, ackOnly, notify, "direct_notify"},
	}},
	{"to_me", (*question).addressed, map[message.Type]Verdict{
		request:  {toMe, mustRespond, buffered, "direct_request"},
		response: {toMe, ackOnly, buffered, "response"},
		notice:   {toMe, ackOnly, buffered, "direct_notify"},
	}},
	{"role_mentioned", (*question).roleMentioned, map[message.Type]Verdict{
		request:   {toMyRole, mayRespond, notify, "role_mention"},
		response:  {toMyRole, mayRespond, notify, "role_mention"},
		notice:    {toMyRole, mayRespond, notify, "role_mention"},
		broadcast: {toMyRole, mayRespond, notify, "role_mention"},
	}},
	{"to_my_role_claimed_by_me", (*question).byRoleAndMine, map[message.Type]Verdict{
		request: {toMyRole, mustRespond, buffered, "role_request"},
	}},
	{"to_my_role_collect_all", (*question).byRoleForAll, map[message.Type]Verdict{
		request: {toMyRole, mustRespond, notify, "role_request"},
	}},
	{"to_my_role", (*question).byRole, map[message.Type]Verdict{
		request: {toMyRole, mayRespond, notify, "role_request"},
		notice:  {toMyRole, mayRespond, notify, "role_notify"},
	}},
	{"wrote_in_thread", (*question).wroteInThread, map[message.Type]Verdict{
		request:   {toMyRole, mayRespond, notify, "thread"},
		notice:    {toMyRole, mayRespond, notify, "thread"},
		broadcast: {toMyRole, mayRespond, notify, "thread"},
	}},
	{"kind_of_status", (*question).reportsStatus, map[message.Type]Verdict{
		notice:    {ambient, mustNotRespond, digest, "status"},
		broadcast: {ambient, mustNotRespond, digest, "status"},
	}},
	{"everyone", always, map[message.Type]Verdict{
		request:   {ambient, mustNotRespond, toolMailbox, "ambient"},
		response:  {ambient, mustNotRespond, toolMailbox, "ambient"},
		notice:    {ambient, mustNotRespond, toolMailbox, "ambient"},
		broadcast: {ambient, mustNotRespond, toolMailbox, "ambient"},
	}},
}

// question is what the rules are asked about.
type question struct {
	*message.Message
	Facts
	now time.Time
}

func (q *question) mentioned() bool     { return q.Relation.Mentioned }
func (q *question) addressed() bool     { return q.Relation.Addressed }
func (q *question) roleMentioned() bool { return q.Relation.RoleMentioned }
func (q *question) byRole() bool        { return q.Relation.ByRole }
func (q *question) wroteInThread() bool { return q.Relation.WroteInThread }
func always(*question) bool             { return true }

// reminds reports whether the message is a reminder of an obligation that is still open.
func (q *question) reminds() bool { return q.Owed && q.addressed() && q.Returns() != nil }

func (q *question) owed() bool         { return q.Owed && q.addressed() }
func (q *question) owedUrgently() bool { return q.Owed && q.addressedUrgently() }
func (q *question) owedByRole() bool   { return q.Owed && q.byRole() }

func (q *question) addressedUrgently() bool {
	return q.addressed() && q.priority() == message.PriorityUrgent
}

func (q *question) addressedWithThanks() bool { return q.addressed() && isAcknowledgement(q.Message) }

// byRoleAndMine reports whether the recipient must answer because it holds one of the claims without which nobody may.
func (q *question) byRoleAndMine() bool {
	return q.byRole() && q.NeedsClaim() && q.Claims.of(q.Agent, q.now) != nil
}

func (q *question) byRoleForAll() bool {
	c := q.Conversation
	return q.byRole() && c != nil && c.Collect != nil && c.Collect.Collection == message.CollectAll
}

func (q *question) reportsStatus() bool {
	return q.Conversation != nil && q.Rules.digest(q.Conversation.Kind)
}

func (q *question) priority() message.Priority {
	if q.Conversation == nil {
		return ""
	}
	return q.Conversation.Priority
}
