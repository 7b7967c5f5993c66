package writing

import (
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging/message"
	"openintent/messaging/obligation"
)

// This file holds what the writer does for requests with an obligation: whether the request may have one, how many its author has open,
// and the row of a new one. Other messages ask nothing of it.

// obliges reports whether the draft's sender gives an obligation.
func (d *Draft) obliges() bool { return d.given != nil && d.given.Obligation != nil }

// checkObligation decides what of the obligation the draft alone decides.
func (d *Draft) checkObligation() error {
	switch {
	case !d.obliges():
		return nil
	case d.MessageType != message.TypeRequest:
		return fault.BadField("obligation", "only a request has one; leave it out or send message_type request")
	case d.given.Obligation.Delegate == "":
		return nil
	}
	return caller.CheckName("obligation.delegate", d.given.Obligation.Delegate)
}

// checkOwed refuses an obligation of an author who has as many open as are allowed.
func (s situation) checkOwed(d *Draft) error {
	if d.obliges() && s.owed >= obligation.MaxOpen {
		return obligation.ErrTooMany
	}
	return nil
}

// authored names what one agent has sent in one intent. Its open obligations are counted.
type authored struct {
	intentNo int64
	author   string
}

// readOwed returns the statement that counts the open obligations of the drafts' authors, if some of the drafts have one.
func (b *batch) readOwed() []database.Statement {
	var intentNos []int64
	var authors []string
	for _, s := range b.submissions {
		if s.draft.obliges() {
			intentNos, authors = append(intentNos, s.draft.IntentNo), append(authors, s.draft.Sender)
		}
	}
	if len(authors) == 0 {
		return nil
	}
	b.owed = make(map[authored]int)
	inIntents, intentArgument := b.tx.In("intent_no", database.Distinct(intentNos))
	inAuthors, authorArgument := b.tx.In("author", database.Distinct(authors))
	return []database.Statement{{
		SQL: "SELECT intent_no, author, count(*) FROM obligations WHERE " + inIntents + " AND " + inAuthors +
			" AND discharged_at IS NULL GROUP BY intent_no, author",
		Args: []any{intentArgument, authorArgument},
		Scan: func(row database.Row) error {
			var of authored
			var count int
			err := row.Scan(&of.intentNo, &of.author, &count)
			b.owed[of] = count
			return err
		},
	}}
}

// owedTo counts the open obligations of a draft's author, those of this batch included.
func (b *batch) owedTo(d *Draft) int {
	of := authored{d.IntentNo, d.Sender}
	return b.owed[of] + b.appender.obligations.by[of]
}

// obligationBatch holds the obligations of new requests.
type obligationBatch struct {
	made []*obligation.Obligation
	by   map[authored]int
}

// add begins the obligation of a new request, if it has one.
func (b *obligationBatch) add(m *message.Message, o *obligation.Obligation) {
	if b.by == nil {
		b.by = make(map[authored]int)
	}
	b.by[authored{m.IntentNo, m.Sender}]++
	o.IntentNo, o.ChannelNo, o.Position, o.MessageID = m.IntentNo, m.ChannelNo, m.Position, m.ID
	o.Author, o.Target = m.Sender, m.Target
	o.Delegate, o.Blocks = m.Conversation.Obligation.Delegate, m.Conversation.Obligation.Word()
	b.made = append(b.made, o)
}

func (b *obligationBatch) statements(tx *database.Tx) []database.Statement {
	return obligation.Insertion(tx, b.made)
}
