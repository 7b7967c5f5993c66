package attention

import (
	"strings"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/message"
)

// Facts are what Judge must know beside the message.
type Facts struct {
	// Agent is the recipient, Relation what the message has to do with it.
	Agent    string
	Relation Relation
	// EditedAfterResponse is true for a request whose content was edited after an answer to it was stored.
	EditedAfterResponse bool
	// Owed is true while the obligation is open with which the message came, or of which it reminds.
	Owed bool
	// OwedSubject is what the request of that obligation is about now; empty if it does not say. A reminder does not store it, so that
	// it goes with the request's content.
	OwedSubject string
	// Claims are those of the message.
	Claims Claims
	// Answers is how many agents have answered a request that takes answers from several.
	Answers int
	// ChannelName is the name of the message's channel.
	ChannelName string
	// Rules are those to judge by; nil for those of today.
	Rules *Rules
	// Stranger is true when the sender is a stranger to the recipient. It only matters for a knock.
	Stranger bool
}

// Judgement is what a message asks of one recipient at one time.
type Judgement struct {
	Verdict
	// Stranger is true when the message knocks and its sender is a stranger to the recipient.
	Stranger bool
	q        question
}

// Form is what the block of a message depends on beside the message.
type Form struct {
	Verdict
	Stranger bool
}

// Judge works out what a message asks of a recipient.
func Judge(m *message.Message, f Facts, now time.Time) *Judgement {
	q := question{Message: m, Facts: f, now: now}
	j := &Judgement{q: q}
	for _, row := range table {
		if verdict, found := row.decide(&q); found {
			j.Verdict = verdict
			break
		}
	}
	for _, later := range laterRules {
		later.change(&q, &j.Verdict)
	}
	j.Stranger = f.Stranger && j.Injection == notify
	return j
}

// At returns the judgement of the same facts at another time.
func (j *Judgement) At(now time.Time) *Judgement { return Judge(j.q.Message, j.q.Facts, now) }

// ClaimedByViewer reports whether the recipient holds a claim on the message. It is false without a judgement.
func (j *Judgement) ClaimedByViewer() bool {
	return j != nil && j.q.Claims.of(j.q.Agent, j.q.now) != nil
}

// Unclaimed returns the judgement as if nobody held a claim. It is what the message asks once its claims have ended.
func (j *Judgement) Unclaimed() *Judgement {
	if len(j.q.Claims) == 0 {
		return j
	}
	facts := j.q.Facts
	facts.Claims = nil
	return Judge(j.q.Message, facts, j.q.now)
}

// Form returns what the block depends on beside the message. It is not exact if the block depends on the time too, or on the
// recipient: the message has a deadline, or somebody claims it.
func (j *Judgement) Form() (form Form, exact bool) {
	return Form{j.Verdict, j.Stranger}, j.q.ExpiresAt.IsZero() && len(j.q.Claims) == 0
}

// decide returns what the row decides, and whether it applies.
func (r row) decide(q *question) (verdict Verdict, applies bool) {
	verdict, found := r.cells[q.Type]
	return verdict, found && r.applies(q)
}

// ToWire returns the judgement as clients see it.
func (j *Judgement) ToWire() *openintentv1.Attention {
	m, now := j.q.Message, j.q.now
	wire := &openintentv1.Attention{
		Directedness: j.Directedness, Policy: j.Policy, Injection: j.Injection, Reason: j.Reason,
		Priority: j.q.priority().ToWire(),
		Claim:    j.q.Claims.toWire(j.q.Agent, now),
	}
	if !m.ExpiresAt.IsZero() {
		left := max(0, m.ExpiresAt.Sub(now).Milliseconds())
		wire.DeadlineMs = &left
	}
	if j.Injection == notify {
		wire.Knock = j.knock()
	}
	return wire
}

// Rule is one rule that was considered, and what it did.
type Rule struct{ Name, Effect string }

const doesNotApply = "does not apply"

// rules returns the rules that led to the judgement, in the order in which they were considered.
func (j *Judgement) rules() (rules []Rule) {
	var verdict Verdict
	for _, row := range table {
		var decides bool
		if verdict, decides = row.decide(&j.q); decides {
			rules = append(rules, Rule{row.rule, "decides: " + verdict.words()})
			break
		}
		rules = append(rules, Rule{row.rule, doesNotApply})
	}
	for _, later := range laterRules {
		effect := "changes nothing"
		if later.change(&j.q, &verdict) {
			effect = "changes it to " + verdict.words() + ", reason " + verdict.Reason
		}
		rules = append(rules, Rule{later.rule, effect})
	}
	return rules
}

// words returns the verdict as the table prints it.
func (v Verdict) words() string {
	return word("DIRECTEDNESS_", v.Directedness.String()) + " / " + word("RESPONSE_POLICY_", v.Policy.String()) + " / " +
		word("INJECTION_", v.Injection.String())
}

func word(prefix, name string) string { return strings.ToLower(strings.TrimPrefix(name, prefix)) }
