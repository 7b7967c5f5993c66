package attention

// laterRule changes what the table decided. It returns false when it changes nothing.
type laterRule struct {
	rule   string
	change func(q *question, decided *Verdict) bool
}

// laterRules follow the table, in this order.
var laterRules = []laterRule{
	{"edited_after_response", (*question).editedAfterResponse},
	{"claimed_by_other", (*question).claimedByOther},
	{"loop_brake", (*question).brake},
	{"sender_wish", (*question).wish},
}

// editedAfterResponse tells the recipients of a request that was edited after its answer. The answer stands, so only the reason
// changes.
func (q *question) editedAfterResponse(decided *Verdict) bool {
	if q.EditedAfterResponse {
		decided.Reason = "edited_after_response"
	}
	return q.EditedAfterResponse
}

// claimedByOther keeps a recipient from doing what others are doing.
func (q *question) claimedByOther(decided *Verdict) bool {
	if decided.Policy == mustNotRespond || !q.Claims.takenFrom(q.Agent, q.Message, q.Answers, q.now) {
		return false
	}
	decided.Policy, decided.Reason = mustNotRespond, "claimed_by_other"
	return true
}

// brake takes a message aside that was stored while the loop brake was on. A request with an obligation, open or not, and a reminder of
// one are exempt.
func (q *question) brake(decided *Verdict) bool {
	_, obliges := obligationOf(q.Message)
	if obliges || q.Conversation == nil || !q.Conversation.Braked {
		return false
	}
	decided.Policy, decided.Injection, decided.Reason = mustNotRespond, toolMailbox, "loop_brake"
	return true
}

// wish lowers what the sender means or asks for at most. The words of both enums stand in falling order, so the higher number is the
// lower word.
func (q *question) wish(decided *Verdict) bool {
	if q.Conversation == nil {
		return false
	}
	before := *decided
	decided.Directedness = max(decided.Directedness, q.Conversation.Directedness)
	decided.Policy = max(decided.Policy, q.Conversation.Policy)
	if *decided == before {
		return false
	}
	decided.Reason = "sender_wish"
	return true
}
