package messaging

import (
	"context"
	"database/sql"
	"strings"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/messaging/attention"
	"openintent/messaging/message"
	"openintent/messaging/reaction"
)

// handOverAgain is after how long a message is handed over again that must be answered. The answer that brought it may have been lost: a
// client gave up, or was killed.
const handOverAgain = 5 * time.Minute

// HandOver notes that an agent's model is given several messages: all of them or none. Of two callers, one gets a message. It is a call of
// AttentionService, which the room above serves.
func (s *Service) HandOver(ctx context.Context, req *openintentv1.HandOverRequest) (*openintentv1.HandOverResponse, error) {
	c, agent, err := speaker(ctx, req.GetAgentId())
	if err != nil {
		return nil, err
	}
	var given map[messagePlace]bool
	items, err := s.markInbox(ctx, c, agent, firstOfEach(req.GetMessageIds()), marking{
		load: factsByIDs, may: mayBeSurfaced,
		store: func(tx *database.Tx, agent string, items ...inboxItem) (err error) {
			given, err = handOver(tx, agent, items)
			return err
		},
	})
	if err != nil {
		return nil, err
	}
	answer := &openintentv1.HandOverResponse{}
	for _, item := range items {
		if given[messagePlace{item.message.IntentNo, item.message.Position}] {
			answer.MessageIds = append(answer.MessageIds, item.message.ID)
		}
	}
	return answer, nil
}

// handOver notes those of the messages that were not handed over lately, and returns them. The locks of their intents are held, so nobody
// notes the same ones meanwhile.
func handOver(tx *database.Tx, agent string, items []inboxItem) (map[messagePlace]bool, error) {
	messages := make([]*message.Message, len(items))
	for i, item := range items {
		messages[i] = item.message
	}
	known, err := handings(tx, agent, messages)
	if err != nil {
		return nil, err
	}
	given := make(map[messagePlace]bool)
	var intentNos, positions, times []int64
	var agentIDs []string
	for i, m := range messages {
		place, now := messagePlace{m.IntentNo, m.Position}, items[i].now // by which due decides
		if h := known[place]; h != nil && !h.handedAt.IsZero() && now.Sub(h.handedAt) < handOverAgain {
			continue
		}
		given[place] = true
		intentNos, positions = append(intentNos, m.IntentNo), append(positions, m.Position)
		agentIDs, times = append(agentIDs, agent), append(times, database.Micros(now))
	}
	return given, tx.Pipeline(tx.Advance("dispositions",
		[]database.Column{{Name: "intent_no", Values: intentNos}, {Name: "position", Values: positions}, {Name: "agent_id", Values: agentIDs}},
		database.Column{Name: "handed_at", Values: times})...)
}

// handing says when a message was last handed over to its recipient, and what the recipient has done with it. nil stands for nothing.
type handing struct {
	record
	handedAt time.Time
	// surfacedAt is when the recipient's model first saw it; zero for not yet.
	surfacedAt time.Time
	// until is up to when the recipient has deferred the message.
	until time.Time
}

// due reports whether a message that waits in an inbox is to be handed over. judged is what it asks of the recipient, as of now. What was
// handed over at since or later counts as if it had not been, unless since is zero.
func (h *handing) due(m *message.Message, judged *attention.Judgement, since, now time.Time) bool {
	must := judged != nil && judged.Policy == openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND
	if m.AnsweredByViewer || judged.ClaimedByViewer() || m.ReadByViewer && !must {
		return false
	}
	if h == nil {
		return true
	}
	switch h.disposition.word {
	case "", "acknowledged", "deferred":
	default: // the recipient has it in hand, or is done with it
		return false
	}
	heard := h.handedAt
	for _, other := range []time.Time{h.surfacedAt, h.disposition.at, h.until} {
		heard = message.Later(heard, other)
	}
	switch {
	case heard.IsZero(), !since.IsZero() && heard.Equal(h.handedAt) && !heard.Before(since):
		return true
	}
	return must && now.Sub(heard) >= handOverAgain
}

// handings reads what is known of messages with one recipient.
func handings(tx *database.Tx, agent string, messages []*message.Message) (map[messagePlace]*handing, error) {
	intentNos, positions := make([]int64, len(messages)), make([]int64, len(messages))
	for i, m := range messages {
		intentNos[i], positions[i] = m.IntentNo, m.Position
	}
	known := make(map[messagePlace]*handing)
	of := func(place messagePlace) *handing {
		if known[place] == nil {
			known[place] = &handing{}
		}
		return known[place]
	}
	intent := database.Column{Name: "intent_no", Values: intentNos}
	in, rows := tx.InRows(intent, database.Column{Name: "position", Values: positions})
	reacted, reactedRows := tx.InRows(intent, database.Column{Name: "message_position", Values: positions})
	return known, tx.Pipeline(database.Statement{
		SQL: "SELECT intent_no, position, handed_at, surfaced_at, disposition, until_at, disposed_at FROM dispositions" +
			" WHERE agent_id = ? AND " + in,
		Args: append([]any{agent}, rows...),
		Scan: func(row database.Row) error { return scanHanding(row, of) },
	}, database.Statement{
		SQL: "SELECT intent_no, message_position, signal, created_at FROM reactions WHERE agent_id = ? AND present AND signal IN ('" +
			strings.Join(reaction.Disposing(), "', '") + "') AND " + reacted,
		Args: append([]any{agent}, reactedRows...),
		Scan: func(row database.Row) error {
			var place messagePlace
			var signal string
			var at int64
			err := row.Scan(&place.intentNo, &place.position, &signal, &at)
			of(place).disposed(reaction.Disposition(signal), database.Time(at))
			return err
		},
	})
}

// scanHanding reads a row of what recipients did with messages.
func scanHanding(row database.Row, of func(messagePlace) *handing) error {
	var place messagePlace
	var handedAt int64
	var word sql.NullString
	var surfacedAt, until, disposedAt sql.NullInt64
	if err := row.Scan(&place.intentNo, &place.position, &handedAt, &surfacedAt, &word, &until, &disposedAt); err != nil {
		return err
	}
	h := of(place)
	if handedAt > 0 {
		h.handedAt = database.Time(handedAt)
	}
	if surfacedAt.Valid {
		h.surfacedAt = database.Time(surfacedAt.Int64)
	}
	if word.Valid {
		h.disposed(word.String, database.Time(disposedAt.Int64))
	}
	if until.Valid {
		h.until = database.Time(until.Int64)
	}
	return nil
}
