package messaging

import (
	"context"
	"slices"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/attention"
	"openintent/messaging/message"
)

// maxPressing is how many messages Pressing returns at most.
const maxPressing = 1_000

// Pressing is a message that an agent must answer and has done nothing about.
type Pressing struct {
	IntentNo, Position int64
	MessageID, Sender  string
	SentAt             time.Time
	// Channel is the name of its channel, and Title that of its intent, empty if the agent may not read the intent. Both are words of others.
	Channel, Title string
	// Stranger is true if the sender is a stranger to the agent.
	Stranger bool
	// Seen is true once the agent has read the message, or its model saw it.
	Seen bool
}

// Pressing returns what an agent must answer or owes, and has not answered, disposed of or reacted to, and does not
// hold a claim on; the oldest first, and only so
// many. It is for the server's own work, and sees what the agent sees without the scope of any key. Reminders are left out, as what they
// remind of is there itself.
func (s *Service) Pressing(ctx context.Context, agent string) (found []Pressing, err error) {
	q := inboxQuery{
		by: caller.Caller{Agent: agent, KeyID: caller.System, IsOperator: agent == caller.Operator}, agent: agent, limit: maxPressing,
		policies: []openintentv1.ResponsePolicy{openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND},
	}
	err = s.db.ReadFor(ctx, caller.ReaderOf(ctx, agent), func(tx *database.Tx) error {
		r, err := s.inboxReader(tx, q)
		if err != nil {
			return err
		}
		found, err = r.pressing()
		return err
	})
	return found, err
}

// pressing reads what presses the agent: of its inbox, and of what it owes, which may have left the inbox.
func (r *inboxReader) pressing() ([]Pressing, error) {
	sifted := &sifting{inboxReader: r}
	if _, err := r.goThrough(inboxPlace{}, sifted.take); err != nil {
		return nil, err
	}
	owed, err := r.owedStill()
	if err != nil {
		return nil, err
	}
	known := make(map[messagePlace]bool)
	var messages []*message.Message
	for _, m := range append(sifted.kept, owed...) {
		place := messagePlace{m.IntentNo, m.Position}
		if !known[place] && m.Returns() == nil && len(messages) < r.limit {
			messages = append(messages, m)
		}
		known[place] = true
	}
	return r.untouched(messages)
}

// owedStill reads the requests with open obligations that the agent owes.
func (r *inboxReader) owedStill() (owed []*message.Message, err error) {
	var rows []*message.Message
	if err := r.Tx.Pipeline(r.obligations(false, &rows)); err != nil {
		return nil, err
	}
	if err := r.Include(rows); err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(m *message.Message) bool { return !r.showsOwed(m, false) })
	judgements, err := r.attend(rows)
	for i, judged := range judgements {
		if judged == nil || slices.Contains(r.policies, judged.Policy) { // the time of the request may be over
			owed = append(owed, rows[i])
		}
	}
	return owed, err
}

// untouched leaves the messages about which the agent has done nothing.
func (r *inboxReader) untouched(messages []*message.Message) (found []Pressing, err error) {
	if len(messages) == 0 {
		return nil, nil
	}
	judgements, err := r.attend(messages)
	if err != nil {
		return nil, err
	}
	known, err := handings(r.Tx, r.agent, messages)
	if err != nil {
		return nil, err
	}
	reacted, err := r.reactedTo(messages)
	if err != nil {
		return nil, err
	}
	strange, err := r.strangers(messages)
	if err != nil {
		return nil, err
	}
	titles, err := r.titles(messages)
	for i, m := range messages {
		place := messagePlace{m.IntentNo, m.Position}
		h := known[place]
		if m.AnsweredByViewer || judgements[i].ClaimedByViewer() || reacted[place] || h != nil && h.disposition.word != "" {
			continue
		}
		found = append(found, Pressing{
			IntentNo: m.IntentNo, Position: m.Position, MessageID: m.ID, Sender: m.Sender, SentAt: m.CreatedAt,
			Channel: r.Of(m).Channel.Name, Title: titles[m.IntentNo], Stranger: strange[i],
			Seen: m.ReadByViewer || h != nil && !h.surfacedAt.IsZero(),
		})
	}
	return found, err
}

// reactedTo returns the messages on which there is any reaction of the agent's.
func (r *inboxReader) reactedTo(messages []*message.Message) (map[messagePlace]bool, error) {
	intentNos, positions := make([]int64, len(messages)), make([]int64, len(messages))
	for i, m := range messages {
		intentNos[i], positions[i] = m.IntentNo, m.Position
	}
	in, rows := r.Tx.InRows(
		database.Column{Name: "intent_no", Values: intentNos}, database.Column{Name: "message_position", Values: positions})
	reacted := make(map[messagePlace]bool)
	return reacted, r.Tx.Pipeline(database.Statement{
		SQL:  "SELECT intent_no, message_position FROM reactions WHERE agent_id = ? AND present AND " + in,
		Args: append([]any{r.agent}, rows...),
		Scan: func(row database.Row) error {
			var place messagePlace
			err := row.Scan(&place.intentNo, &place.position)
			reacted[place] = true
			return err
		},
	})
}

// strangers reports which messages are from strangers to the agent.
func (r *inboxReader) strangers(messages []*message.Message) ([]bool, error) {
	deliveries := make([]attention.Delivery, len(messages))
	for i, m := range messages {
		l := r.Of(m)
		deliveries[i] = attention.Delivery{Situation: l.SituationOf(m), Viewer: l.Viewer(r.agent, r.operator()), Floor: l.Count.Floor}
	}
	return attention.Strangers(r.Tx, deliveries)
}

// titles reads the titles of the messages' intents, as far as the agent may read these.
func (r *inboxReader) titles(messages []*message.Message) (map[int64]string, error) {
	titles := make(map[int64]string)
	var intentNos []int64
	for _, m := range messages {
		l := r.Of(m)
		if l.Access.Level(r.agent, r.operator(), l.Now) >= intents.PermissionRead {
			intentNos = append(intentNos, m.IntentNo)
		}
	}
	in, list := r.Tx.In("intent_no", database.Distinct(intentNos))
	return titles, r.Tx.Pipeline(database.Statement{
		SQL:  "SELECT intent_no, title FROM intents WHERE " + in,
		Args: []any{list},
		Scan: func(row database.Row) error {
			var intentNo int64
			var title string
			err := row.Scan(&intentNo, &title)
			titles[intentNo] = title
			return err
		},
	})
}
