package attention

import (
	"openintent/internal/caller"
	"openintent/internal/database"
)

// A knock shows words of the sender: the subject, the kind, the channel's name. From a stranger it shows none of them. The recipient of a
// message is no stranger to its sender if one of these holds:
//
//   - it has the intent from somebody else than the sender: it made the intent, was assigned, was granted access, coordinates it, or is
//     listed in the message's channel, and the sender did none of this for it;
//   - it has written in the intent, or in the message's thread.
//
// The bound on what strangers pile up has a rule of the same kind, which also looks into other intents (messaging/stranger.go). A knock does
// not, because it is made for each delivery.

// MayBeStranger reports whether it has yet to be found out if the sender is a stranger: the message knocks, and only what the recipient
// has written in the intent can make them known to each other.
func (d Delivery) MayBeStranger(judged *Judgement) bool {
	if judged == nil || judged.Injection != notify || judged.q.Relation.WroteInThread || d.Viewer.Operator {
		return false
	}
	return d.isStrange()
}

// isStrange reports whether the sender is a stranger, unless the recipient has written in the intent.
func (d Delivery) isStrange() bool {
	sender := d.Message.Sender
	if reminder := d.Message.Returns(); reminder != nil {
		sender = reminder.From
	}
	agent := d.Viewer.Agent
	listed := d.Channel.CreatedBy != sender && d.Channel.Lists(agent, d.Viewer.Presence.DepartedAt)
	return sender != caller.System && sender != caller.Operator && !listed && !d.Access.TiedWithout(agent, []string{sender}, d.Now)
}

// FromStranger returns the judgement for a recipient to which the sender is a stranger.
func (j *Judgement) FromStranger() *Judgement {
	facts := j.q.Facts
	facts.Stranger = true
	return Judge(j.q.Message, facts, j.q.now)
}

// Strangers reports of each delivery whether its sender is a stranger to the recipient, whom all of them share.
func Strangers(tx *database.Tx, deliveries []Delivery) ([]bool, error) {
	strange := make([]bool, len(deliveries))
	var intentNos []int64
	for i, d := range deliveries {
		if strange[i] = d.isStrange(); strange[i] {
			intentNos = append(intentNos, d.Message.IntentNo)
		}
	}
	if len(intentNos) == 0 {
		return strange, nil
	}
	written, err := hasWritten(tx, deliveries[0].Viewer.Agent, intentNos)
	for i, d := range deliveries {
		_, wrote := written[d.Message.IntentNo]
		strange[i] = strange[i] && !wrote
	}
	return strange, err
}

// HasWritten reports whether an agent has written in an intent.
func HasWritten(tx *database.Tx, agent string, intentNo int64) (bool, error) {
	written, err := hasWritten(tx, agent, []int64{intentNo})
	return len(written) > 0, err
}

// hasWritten returns those of the intents in which an agent has written.
func hasWritten(tx *database.Tx, agent string, intentNos []int64) (map[int64]struct{}, error) {
	in, argument := tx.In("u.intent_no", database.Distinct(intentNos))
	written := make(map[int64]struct{})
	err := tx.Pipeline(database.Statement{
		SQL: "SELECT u.intent_no FROM audiences u WHERE u.name = ? AND " + in + " AND u.sent", Args: []any{agent, argument},
		Scan: func(row database.Row) error {
			var intentNo int64
			err := row.Scan(&intentNo)
			written[intentNo] = struct{}{}
			return err
		},
	})
	return written, err
}

// meet finds out which knocks are from strangers, with one statement for all of them, and none if there can be none.
func meet(tx *database.Tx, deliveries []Delivery, judgements []*Judgement) error {
	var unsure []int
	var intentNos []int64
	for i, d := range deliveries {
		if d.MayBeStranger(judgements[i]) {
			unsure, intentNos = append(unsure, i), append(intentNos, d.Message.IntentNo)
		}
	}
	if len(unsure) == 0 {
		return nil
	}
	written, err := hasWritten(tx, deliveries[unsure[0]].Viewer.Agent, intentNos)
	if err != nil {
		return err
	}
	for _, i := range unsure {
		if _, wrote := written[deliveries[i].Message.IntentNo]; !wrote {
			judgements[i] = judgements[i].FromStranger()
		}
	}
	return nil
}
