package messaging

import (
	"context"
	"maps"
	"slices"
	"time"

	"openintent/agents"
	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/optional"
	"openintent/internal/pages"
	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/reach"
)

// record says what happened to a message with one recipient. A time is zero for what did not happen. An answer is known for
// as long as the response is kept.
type record struct {
	agent                           string
	stored, offered, read, answered time.Time
	expired, deadLettered           time.Time
	deadLetterReason                string
	surfaced                        time.Time
	disposition                     disposition
}

// status tells how far the message came. An answered message has come as far as it can. Otherwise the status is the last
// thing that happened among surfacing, reading, expiring and being given up; but what was read stays read when it is surfaced later.
// An offer counts as earlier than all these, whatever its time says, because for messages to everyone only the latest offer is known.
func (r record) status() openintentv1.DeliveryStatus {
	if !r.answered.IsZero() {
		return openintentv1.DeliveryStatus_DELIVERY_STATUS_ANSWERED
	}
	status, last := openintentv1.DeliveryStatus_DELIVERY_STATUS_STORED, time.Time{}
	if !r.offered.IsZero() {
		status = openintentv1.DeliveryStatus_DELIVERY_STATUS_OFFERED
	}
	if !r.surfaced.IsZero() && r.read.IsZero() {
		status, last = openintentv1.DeliveryStatus_DELIVERY_STATUS_SURFACED, r.surfaced
	}
	for _, happened := range []struct {
		at     time.Time
		status openintentv1.DeliveryStatus
	}{
		{r.deadLettered, openintentv1.DeliveryStatus_DELIVERY_STATUS_DEAD_LETTERED},
		{r.read, openintentv1.DeliveryStatus_DELIVERY_STATUS_READ},
		{r.expired, openintentv1.DeliveryStatus_DELIVERY_STATUS_EXPIRED},
	} {
		if !happened.at.IsZero() && !happened.at.Before(last) {
			status, last = happened.status, happened.at
		}
	}
	return status
}

// expiryFor tells when a message expired for a recipient; readAt is when the recipient read it, if it has. A request
// expires when it ends unanswered, any other message when its time runs out unread. ended is when an abandoned request
// ended.
func expiryFor(m *message.Message, readAt, ended, now time.Time) time.Time {
	switch {
	case m.Type == message.TypeRequest && !m.Expired(now):
		return time.Time{}
	case m.Type == message.TypeRequest:
		return message.Earliest(m.EndedAt, ended, m.ExpiresAt)
	case !readAt.IsZero() || m.EndedAt.IsZero() && !m.PastExpiry(now):
		return time.Time{}
	}
	return message.Earliest(m.EndedAt, m.ExpiresAt)
}

func (r record) toWire() *openintentv1.MessageDelivery {
	return &openintentv1.MessageDelivery{
		AgentId:          r.agent,
		Status:           r.status(),
		StoredAt:         optional.Time(r.stored),
		OfferedAt:        optional.Time(r.offered),
		ReadAt:           optional.Time(r.read),
		AnsweredAt:       optional.Time(r.answered),
		ExpiredAt:        optional.Time(r.expired),
		DeadLetteredAt:   optional.Time(r.deadLettered),
		DeadLetterReason: optional.Text(r.deadLetterReason),
		SurfacedAt:       optional.Time(r.surfaced),
		Disposition:      optional.Text(r.disposition.word),
		DisposedAt:       optional.Time(r.disposition.at),
	}
}

// ListMessageDeliveries tells the sender of a message, or the operator, what happened to the message.
func (s *Service) ListMessageDeliveries(
	ctx context.Context, req *openintentv1.ListMessageDeliveriesRequest,
) (*openintentv1.ListMessageDeliveriesResponse, error) {
	c, key, err := s.reading(ctx, req.GetChannelId())
	if err != nil {
		return nil, err
	}
	var after string
	page, err := pages.Begin("message_deliveries", req, pages.MaxEntries, &after)
	if err != nil {
		return nil, err
	}
	var records []record
	var reached map[string]*reach.Reach
	err = s.db.ReadHeavy(ctx, c.Reader(), func(tx *database.Tx) error {
		l, err := s.reader.Snapshot(tx, key, []string{c.Agent})
		if err != nil {
			return err
		}
		viewer, err := l.AdmitViewer(c, c.Agent)
		if err != nil {
			return err
		}
		m, err := l.Find(tx, c.Agent, req.GetMessageId())
		if err != nil {
			return err
		}
		if !viewer.Sees(m, message.ByID, l.Count.Floor, l.Now) || !viewer.Operator && m.Sender != c.Agent {
			return message.ErrMessageNotFound
		}
		if records, err = (recipients{l}).records(tx, m, after, page.Limit()+1); err != nil {
			return err
		}
		reached, err = s.shownReach(tx, c, l.Channel, agentsOf(records))
		return err
	})
	if err != nil {
		return nil, err
	}
	messages := make([]*openintentv1.MessageDelivery, len(records))
	for i, one := range records {
		messages[i] = one.toWire()
		if shown := reached[one.agent]; shown != nil {
			messages[i].Reach = shown.ToWire()
		}
	}
	answer := &openintentv1.ListMessageDeliveriesResponse{}
	answer.Deliveries, answer.NextCursor = pages.Close(page, messages, func(i int) []any { return []any{records[i].agent} })
	return answer, nil
}

func agentsOf(records []record) []string {
	agentIDs := make([]string, len(records))
	for i, one := range records {
		agentIDs[i] = one.agent
	}
	return agentIDs
}

// recipients finds the recipients of a channel's messages, as of one snapshot.
type recipients struct{ reading.Snapshot }

// records lists what happened to a message, recipient by recipient in the order of their names: at most limit of those that
// come after a name. The recipients are the agents that the message is for now, and those that have left a trace.
func (l recipients) records(tx *database.Tx, m *message.Message, after string, limit int) (records []record, err error) {
	for rows := limit + 1; ; rows = min(2*rows, pages.MaxEntries) { // the sender may be among them
		some, through, err := l.recordsAfter(tx, m, after, rows)
		records = append(records, some...)
		if err != nil || through == "" || len(records) >= limit {
			return records[:min(len(records), limit)], err
		}
		after = through
	}
}

// recordsAfter reads the given number of traces of each kind. It lists the recipients up to the name through which all
// kinds were read, and returns that name. It is empty when all kinds were read to their end.
func (l recipients) recordsAfter(tx *database.Tx, m *message.Message, after string, rows int) (records []record, through string, err error) {
	traces := newTraces(rows)
	addressees, statement := l.prepareAddressees(tx, m)
	if err := tx.Pipeline(append(traces.statements(tx, m, after), statement)...); err != nil {
		return nil, "", err
	}
	if err := traces.addClaims(tx, l.SituationOf(m), after); err != nil {
		return nil, "", err
	}
	for _, agent := range l.of(m.ForAnother(), addressees) {
		if agent > after {
			traces.of(agent)
		}
	}
	delete(traces.records, m.Sender)
	l.dropUnseen(m, traces.records)
	ended := l.abandonedAt(m, addressees[m.Target].DepartedAt)
	for _, agent := range slices.Sorted(maps.Keys(traces.records)) {
		if traces.through != "" && agent > traces.through {
			break
		}
		one := traces.records[agent]
		one.stored = m.CreatedAt
		one.expired = expiryFor(m, one.read, ended, l.Now)
		if message.ToEveryone(m.Target) && !one.offered.IsZero() {
			one.offered = message.Earliest(one.offered, one.read, one.answered)
		}
		records = append(records, *one)
	}
	return records, traces.through, nil
}

// hasRecord reports whether the list of what happened to a message has an agent, without reading the list.
func (l recipients) hasRecord(tx *database.Tx, m *message.Message, presence agents.Presence) (bool, error) {
	agent := presence.AgentID
	switch {
	case agent == m.Sender:
		return false, nil
	case message.IsAgent(m.Target) && agent == m.Target:
		return true, nil
	case message.RoleOf(m.Target) != "" || l.Channel.Policy == channels.PolicyExplicit:
		if len(l.receivers(m.ForAnother(), []string{agent}, map[string]agents.Presence{agent: presence})) > 0 {
			return true, nil
		}
	}
	traces := tracesOfOne()
	if err := tx.Pipeline(traces.statements(tx, m, agent)...); err != nil {
		return false, err
	}
	err := traces.addClaims(tx, l.SituationOf(m), agent)
	l.dropUnseen(m, traces.records)
	return len(traces.records) > 0, err
}

// dropUnseen takes back what marks say of a message to everyone that lies below a recipient's history floor: it was never
// handed to that recipient.
func (l recipients) dropUnseen(m *message.Message, traces map[string]*record) {
	if !message.ToEveryone(m.Target) {
		return
	}
	for agent, one := range traces {
		if m.Ordinal > l.Channel.HistoryFloor(agent, time.Time{}) {
			continue
		}
		if one.offered = (time.Time{}); *one == (record{agent: agent}) {
			delete(traces, agent)
		}
	}
}

// prepareAddressees returns the statement that reads the records of the agents that a message is for: of its addressee, of
// the holders of the addressed role, or of the listed members. The map is filled when the statement runs.
func (l recipients) prepareAddressees(tx *database.Tx, m *message.Message) (map[string]agents.Presence, database.Statement) {
	var addressees map[string]agents.Presence
	var statement database.Statement
	switch {
	case message.IsAgent(m.Target):
		statement, addressees = agents.PreparePresences(tx, []string{m.Target})
	case !message.ToEveryone(m.Target):
		statement, addressees = agents.PrepareHolders(message.RoleOf(m.Target))
	default:
		statement, addressees = agents.PreparePresences(tx, l.Channel.Members())
	}
	return addressees, statement
}

// of returns the agents that a message is for now, as far as they are known. For a message to everyone they are known on an
// explicit channel: its members.
func (l recipients) of(m *message.Message, addressees map[string]agents.Presence) []string {
	switch {
	case message.IsAgent(m.Target):
		return []string{m.Target}
	case !message.ToEveryone(m.Target):
		return l.receivers(m, slices.Collect(maps.Keys(addressees)), addressees)
	case l.Channel.Policy == channels.PolicyExplicit:
		return l.receivers(m, l.Channel.Members(), addressees)
	}
	return nil
}

// now returns the agents that a message to an agent or a role is for now, in the order of their names.
func (l recipients) now(tx *database.Tx, m *message.Message) ([]string, error) {
	addressees, statement := l.prepareAddressees(tx, m)
	if err := tx.Pipeline(statement); err != nil {
		return nil, err
	}
	if message.IsAgent(m.Target) {
		return l.receivers(m.ForAnother(), []string{m.Target}, addressees), nil
	}
	return slices.Sorted(slices.Values(l.of(m.ForAnother(), addressees))), nil
}

// receivers returns those of the agents that receive a message now.
func (l recipients) receivers(m *message.Message, agentIDs []string, presences map[string]agents.Presence) []string {
	return slices.DeleteFunc(agentIDs, func(agent string) bool {
		presence := presences[agent]
		presence.AgentID = agent
		return !message.NewViewer(l.Channel, presence, false, l.Access, l.Now).Receives(m)
	})
}

// abandonedAt tells when an abandoned request ended whose expiry is not stored yet: when its channel closed, or when its
// addressee left.
func (l recipients) abandonedAt(m *message.Message, departedAt time.Time) time.Time {
	if !m.Abandoned || !m.EndedAt.IsZero() {
		return time.Time{}
	}
	if closedAt, closed := l.Channel.ClosedBy(l.Count, &l.Head, l.Now); closed {
		return closedAt
	}
	return departedAt
}
