package attention

import (
	"database/sql"
	"iter"
	"maps"
	"slices"
	"time"

	"openintent/database"
	"openintent/messaging/message"
)

// Delivery is a message as it is handed to a viewer.
type Delivery struct {
	Message *message.Message
	Viewer  message.Viewer
	// ChannelName is the name of the message's channel, Floor the ordinal up to which the channel's messages are evicted.
	ChannelName string
	Floor       int64
	// Claims are those of the message.
	Claims Claims
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

func (d Delivery) late() bool { return !message.Timely(d.Message, d.Viewer, d.Viewer.Now) }

// excluded tells whether the message asks nothing of the viewer.
func (d Delivery) excluded() bool {
	return slices.ContainsFunc(exclusions, func(e exclusion) bool { return e.applies(d) })
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
// nothing: the viewer's own, one that is not for the viewer, and one whose time is over. All deliveries are to one agent. For most
// messages For runs no statement, and for all others together one round trip.
func For(tx *database.Tx, deliveries []Delivery) ([]*Judgement, error) {
	facts := make([]*Facts, len(deliveries))
	var threads threads
	var edits edits
	for i, d := range deliveries {
		if d.excluded() {
			continue
		}
		relation := RelationOf(d.Message, d.Viewer)
		facts[i] = &Facts{Agent: d.Viewer.Agent, Relation: relation, Claims: d.Claims, ChannelName: d.ChannelName}
		if relation.DependsOnThread(d.Message) {
			threads.add(d)
		}
		edits.add(d.Message)
	}
	if err := tx.Pipeline(append(threads.statements(tx), edits.statements(tx)...)...); err != nil {
		return nil, err
	}
	judgements := make([]*Judgement, len(deliveries))
	for i, d := range deliveries {
		if facts[i] == nil {
			continue
		}
		facts[i].Relation.WroteInThread = facts[i].Relation.DependsOnThread(d.Message) && threads.wrote(d)
		facts[i].EditedAfterResponse = edits.afterResponse(d.Message)
		judgements[i] = Judge(d.Message, *facts[i], d.Viewer.Now)
	}
	return judgements, nil
}

// place is where a message is.
type place struct{ intentNo, position int64 }

// columns returns the places of messages d.
func columns(of iter.Seq[place]) []database.Column {
	var intentNos, positions []int64
	for one := range of {
		intentNos, positions = append(intentNos, one.intentNo), append(positions, one.position)
	}
	return []database.Column{{Name: "d.intent_no", Values: intentNos}, {Name: "d.position", Values: positions}}
}

// edits finds out when edited requests were first answered.
type edits struct {
	edited   map[place]struct{}
	answered map[place]time.Time
}

func (e *edits) add(m *message.Message) {
	if m.Type != message.TypeRequest || m.Conversation == nil || m.Conversation.EditedAt.IsZero() {
		return
	}
	if e.edited == nil {
		e.edited, e.answered = make(map[place]struct{}), make(map[place]time.Time)
	}
	e.edited[place{m.IntentNo, m.Position}] = struct{}{}
}

func (e *edits) statements(tx *database.Tx) []database.Statement {
	if len(e.edited) == 0 {
		return nil
	}
	in, arguments := tx.InRows(columns(maps.Keys(e.edited))...)
	return []database.Statement{{
		SQL: "SELECT d.intent_no, d.position, (SELECT min(m.created_at) FROM messages m" +
			" WHERE m.intent_no = d.intent_no AND m.correlation_position = d.position) FROM messages d WHERE " + in,
		Args: arguments,
		Scan: func(row database.Row) error {
			var request place
			var at sql.NullInt64
			err := row.Scan(&request.intentNo, &request.position, &at)
			if at.Valid {
				e.answered[request] = database.Time(at.Int64)
			}
			return err
		},
	}}
}

// afterResponse tells whether a request was edited after its first answer.
func (e *edits) afterResponse(m *message.Message) bool {
	at, answered := e.answered[place{m.IntentNo, m.Position}]
	return answered && at.Before(m.Conversation.EditedAt)
}
