package messaging

import (
	"context"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/pages"
	"openintent/messaging/message"
	"openintent/messaging/obligation"
)

const (
	// owedPage is how many obligations a page has when the call does not say.
	owedPage = 100
	// owedLookedAt bounds the obligations that one page looks at, for an agent that may not see most of them.
	owedLookedAt = 1000
	owedList     = "obligations"
)

// ListObligations lists open obligations that an agent owes or is owed, in all intents that may reach it. It only shows requests that
// the agent sees as their recipient or their author.
func (s *Service) ListObligations(
	ctx context.Context, req *openintentv1.ListObligationsRequest,
) (*openintentv1.ListObligationsResponse, error) {
	c, agent, err := speaker(ctx, req.GetAgentId())
	if err != nil {
		return nil, err
	}
	var after inboxPlace
	page, err := pages.Begin(owedList, req, owedPage, &after.createdAt, &after.intentNo, &after.position)
	if err != nil {
		return nil, err
	}
	if req.GetSide() < 0 || req.GetSide() > openintentv1.ObligationSide_OBLIGATION_SIDE_OWED {
		return nil, fault.BadField("side", "it must be owes or owed")
	}
	q := inboxQuery{by: c, agent: agent, after: after, limit: page.Limit()}
	answer := &openintentv1.ListObligationsResponse{}
	err = s.db.ReadHeavy(ctx, c.Reader(), func(tx *database.Tx) error {
		r, err := s.inboxReader(tx, q)
		if err != nil {
			return err
		}
		return r.listOwed(answer, req.GetSide() == openintentv1.ObligationSide_OBLIGATION_SIDE_OWED)
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// listOwed fills a page of open obligations. authored chooses those whose author the agent is.
func (r *inboxReader) listOwed(answer *openintentv1.ListObligationsResponse, authored bool) error {
	var rows []*message.Message
	if err := r.Tx.Pipeline(r.obligations(authored, &rows)); err != nil {
		return err
	}
	if err := r.Include(rows); err != nil {
		return err
	}
	end, more := inboxPlace{}, len(rows) == r.owedBound()
	var shown []*message.Message
	for i, m := range rows {
		end = placeInInbox(m)
		if r.showsOwed(m, authored) {
			shown = append(shown, m)
		}
		if len(shown) == r.limit {
			more = more || i+1 < len(rows)
			break
		}
	}
	whole := &inbox{}
	if err := r.load(whole, shown); err != nil {
		return err
	}
	if len(whole.items) < len(shown) { // the page is full of bytes
		end, more = placeInInbox(whole.items[len(whole.items)-1].message), true
	}
	for _, item := range whole.items {
		wire, err := item.message.ToWire(item.now)
		if err != nil {
			return err
		}
		answer.Messages = append(answer.Messages, wire)
	}
	if more {
		cursor := pages.Cursor(owedList, end.createdAt, end.intentNo, end.position)
		answer.NextCursor = &cursor
	}
	return nil
}

// showsOwed reports whether the agent sees the request, as its author or as somebody who owes.
func (r *inboxReader) showsOwed(m *message.Message, authored bool) bool {
	l := r.Of(m)
	if l == nil || !r.by.Scope.CoversChannel(l.Channel.IntentID, l.Channel.ID) {
		return false
	}
	viewer := l.Viewer(r.agent, r.operator())
	return viewer.Sees(m, message.ByID, l.Count.Floor, l.Now) && (authored || viewer.Receives(m))
}

// owedBound is how many obligations one page looks at.
func (r *inboxReader) owedBound() int { return min(r.bound, owedLookedAt) }

// obligations reads the requests with open obligations of one side after a place, without their content.
func (r *inboxReader) obligations(authored bool, found *[]*message.Message) database.Statement {
	condition, argument := "o.author = ?", any(r.agent)
	if !authored {
		condition, argument = r.Tx.In("o.target", r.names)
	}
	after := r.after
	// The subquery cuts the page before the messages are read, so that no more messages are read than it holds.
	return database.Statement{
		SQL: "SELECT " + message.FactColumns + " FROM (SELECT o.intent_no, o.position FROM obligations o WHERE " + condition +
			" AND o.discharged_at IS NULL AND (o.opened_at, o.intent_no, o.position) > (?, ?, ?)" +
			" ORDER BY o.opened_at, o.intent_no, o.position LIMIT ?) AS q" +
			" JOIN messages m ON m.intent_no = q.intent_no AND m.position = q.position" +
			" ORDER BY m.created_at, m.intent_no, m.position",
		Args: message.ViewedBy(r.agent, argument, after.createdAt, after.intentNo, after.position, r.owedBound()),
		Scan: func(row database.Row) error {
			m, err := message.ScanFacts(row)
			*found = append(*found, m)
			return err
		},
	}
}

// Recipients returns the agents that receive the message now, as far as the message names them, in the order of their names.
func (s *Sighting) Recipients() ([]string, error) { return recipients{s.Snapshot}.now(s.Tx, s.Message) }

// dischargeDeleted closes the obligation of a request whose content is deleted: nobody can say any more what was owed.
func (s *Sighting) dischargeDeleted() error {
	if !s.Message.Obliges() {
		return nil
	}
	o, err := obligation.Of(s.Tx, s.Message.IntentNo, s.Message.Position)
	if err != nil || o == nil || !o.Open() {
		return err
	}
	return s.Discharge(o, s.Viewer.Agent, "")
}

// Discharge closes the message's obligation, and tells those who follow it.
func (s *Sighting) Discharge(o *obligation.Obligation, by, note string) error {
	if err := obligation.Close(s.Tx, s.head, o, by, note); err != nil {
		return err
	}
	return s.Annotate(message.AnnotationDischarge, by, message.AnnotationDetails{Note: note, For: []string{by}})
}
