package attention

import (
	"iter"
	"slices"

	"openintent/internal/database"
	"openintent/messaging/claim"
	"openintent/messaging/message"
)

// Delivery is a message as it is handed to a viewer.
type Delivery struct {
	// Place is the message, its channel and the time, and what decides whether its claims stand.
	claim.Situation
	Viewer message.Viewer
	// Floor is the ordinal up to which the channel's messages are evicted.
	Floor int64
	// Shown is who asks about the viewer; nil for the viewer itself. Then only what that agent sees counts as written in the thread.
	Shown *message.Viewer
	// Unknown is true when whoever asks may not know whether the viewer is a recipient.
	Unknown bool
}

// exclusion is a rule by which a message asks nothing of a viewer.
type exclusion struct {
	rule    string
	applies func(d Delivery) bool
	effect  string
}

// exclusions come before the table.
var exclusions = []exclusion{
	{"own_message", func(d Delivery) bool { return d.Message.Sender == d.Viewer.Agent }, "asks nothing: the agent sent the message"},
	{"no_recipient", Delivery.missed, "asks nothing: no delivery of the message to this agent is known"},
	{"time_over", Delivery.late, "asks nothing: the time of the message is over"},
}

func (d Delivery) missed() bool { return d.Unknown || !d.Viewer.Receives(d.Message) }

func (d Delivery) late() bool { return !message.Timely(d.Message, d.Viewer, d.Now) }

// Excluded reports whether the message asks nothing of the viewer.
func (d Delivery) Excluded() bool {
	return slices.ContainsFunc(exclusions, func(e exclusion) bool { return e.applies(d) })
}

// DependsOnThread reports whether it matters for the judgement if the viewer wrote in the message's thread.
func (d Delivery) DependsOnThread() bool {
	return RelationOf(d.Message, d.Viewer).DependsOnThread(d.Message)
}

// Explain returns every rule that was considered for a delivery, in order. The judgement is what For made of it.
func Explain(d Delivery, judged *Judgement) (rules []Rule) {
	for _, e := range exclusions {
		if e.applies(d) {
			return append(rules, Rule{e.rule, e.effect})
		}
		rules = append(rules, Rule{e.rule, doesNotApply})
	}
	return append(rules, judged.rules()...)
}

// For judges messages that are handed to viewers. The judgements are in the order of the deliveries; nil for a message that asks
// nothing: the viewer's own, one that is not for the viewer, and one whose time is over. All deliveries are to one agent. For runs one
// round trip, a second one if somebody holds a claim, and another one if a knock may come from a stranger.
func For(tx *database.Tx, deliveries []Delivery) ([]*Judgement, error) {
	var messages []*message.Message
	var asking []Delivery
	for _, d := range deliveries {
		if !d.Excluded() {
			messages, asking = append(messages, d.Message), append(asking, d)
		}
	}
	common, threads := newCommon(), newThreads(asking)
	statements := append(common.statements(tx, messages), threads.statements(tx)...)
	if err := common.read(tx, statements); err != nil {
		return nil, err
	}
	judgements := make([]*Judgement, len(deliveries))
	for i, d := range deliveries {
		judgements[i] = d.Judge(common, threads)
	}
	return judgements, meet(tx, deliveries, judgements)
}

// Judge judges the message by what was read; nil if it asks nothing. The threads must be known if the delivery depends on them.
func (d Delivery) Judge(common *Common, threads *Threads) *Judgement {
	if d.Excluded() {
		return nil
	}
	relation := RelationOf(d.Message, d.Viewer)
	relation.WroteInThread = relation.DependsOnThread(d.Message) && threads.wrote(d)
	claims := claimsFrom(d.Standing(common.claimsOf(d.Message)))
	if d.Shown != nil {
		claims = claims.withoutFences()
	}
	owed, subject := common.owes(d.Message)
	return Judge(d.Message, Facts{
		Agent: d.Viewer.Agent, Relation: relation, ChannelName: d.Channel.Name, Claims: claims, Answers: common.answersTo(d.Message),
		Owed: owed, OwedSubject: subject,
		EditedAfterResponse: common.editedAfterResponse(d.Message),
	}, d.Now)
}

// place is where a message is.
type place = claim.At

func placeOf(m *message.Message) place { return place{IntentNo: m.IntentNo, Position: m.Position} }

// columns returns the places of messages d.
func columns(of iter.Seq[place]) []database.Column {
	var intentNos, positions []int64
	for one := range of {
		intentNos, positions = append(intentNos, one.IntentNo), append(positions, one.Position)
	}
	return []database.Column{{Name: "d.intent_no", Values: intentNos}, {Name: "d.position", Values: positions}}
}
