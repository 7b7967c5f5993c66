package agents

import (
	"context"

	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/pages"
)

// This file lets an agent refuse senders. Whoever stores messages asks PrepareRefused whether the sender of one is refused.
//
// An agent's record has a number that each change of its refusals draws anew (Presence.Refusals). So whoever decides by an agent's presence,
// and has the database compare it at the commit (RefuseChanged), decides by the refusals as they are then, on every server.

// maxRefusals bounds how many senders one agent refuses.
const maxRefusals = 1_000

var errTooManyRefusals = fault.New(fault.Quota, "TOO_MANY_REFUSALS",
	"The agent refuses %d senders, which is the most; allow one of them again before it refuses another.", maxRefusals)

// RefuseSender lets an agent take no messages of a sender that are addressed to it.
func (s *Service) RefuseSender(ctx context.Context, req *openintentv1.RefuseSenderRequest) (*openintentv1.RefusedSender, error) {
	agentID, sender := req.GetAgentId(), req.GetSender()
	if _, err := owner(ctx, agentID); err != nil {
		return nil, err
	}
	if err := caller.CheckName("sender", sender); err != nil {
		return nil, err
	}
	if sender == agentID {
		return nil, fault.BadField("sender", "an agent never receives its own messages; name another agent")
	}
	var refused *openintentv1.RefusedSender
	err := s.db.Write(ctx, func(tx *database.Tx) error {
		agent, err := lock(tx, agentID)
		if err != nil {
			return err
		}
		refused, err = refusalOf(tx, agentID, sender)
		if err != nil || refused != nil {
			return err
		}
		var count int64
		if err := tx.Pipeline(database.ReadValue(&count, "SELECT count(*) FROM refusals WHERE agent_id = ?", agentID)); err != nil {
			return err
		}
		if count >= maxRefusals {
			return errTooManyRefusals
		}
		now := tx.Now()
		refused = &openintentv1.RefusedSender{Sender: sender, CreatedAt: timestamppb.New(now)}
		agent.refusals = database.Tag()
		if err := save(tx, agent); err != nil {
			return err
		}
		return tx.Pipeline(database.Statement{
			SQL:  "INSERT INTO refusals (agent_id, sender, created_at) VALUES (?, ?, ?)",
			Args: []any{agentID, sender, database.Micros(now)},
		})
	})
	return refused, err
}

// AllowSender takes a refusal back.
func (s *Service) AllowSender(ctx context.Context, req *openintentv1.AllowSenderRequest) (*emptypb.Empty, error) {
	agentID, sender := req.GetAgentId(), req.GetSender()
	if _, err := owner(ctx, agentID); err != nil {
		return nil, err
	}
	if err := caller.CheckText("sender", sender); err != nil {
		return nil, err
	}
	err := s.db.Write(ctx, func(tx *database.Tx) error {
		agent, err := lock(tx, agentID)
		if err != nil {
			return err
		}
		refused, err := refusalOf(tx, agentID, sender)
		if err != nil || refused == nil {
			return err
		}
		return forgetRefusals(tx, agent, "sender = ?", sender)
	})
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}

// ListRefusedSenders lists the senders that an agent refuses.
func (s *Service) ListRefusedSenders(
	ctx context.Context, req *openintentv1.ListRefusedSendersRequest,
) (*openintentv1.ListRefusedSendersResponse, error) {
	c, err := owner(ctx, req.GetAgentId())
	if err != nil {
		return nil, err
	}
	var after string
	page, err := pages.Begin("refused", req, pages.MaxEntries, &after)
	if err != nil {
		return nil, err
	}
	var refused []*openintentv1.RefusedSender
	err = s.db.ReadHeavy(ctx, c.Reader(), func(tx *database.Tx) error {
		if _, err := find(tx, req.GetAgentId()); err != nil {
			return err
		}
		refused, err = readRefusals(tx, "agent_id = ? AND sender > ? ORDER BY sender LIMIT ?", req.GetAgentId(), after, page.Limit()+1)
		return err
	})
	if err != nil {
		return nil, err
	}
	response := &openintentv1.ListRefusedSendersResponse{}
	response.Refused, response.NextCursor = pages.Close(page, refused, func(i int) []any { return []any{refused[i].GetSender()} })
	return response, nil
}

// refusalOf returns the refusal of a sender by an agent; nil if there is none.
func refusalOf(tx *database.Tx, agentID, sender string) (*openintentv1.RefusedSender, error) {
	found, err := readRefusals(tx, "agent_id = ? AND sender = ?", agentID, sender)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

func readRefusals(tx *database.Tx, condition string, args ...any) (found []*openintentv1.RefusedSender, err error) {
	err = tx.Pipeline(database.Statement{
		SQL:  "SELECT sender, created_at FROM refusals WHERE " + condition,
		Args: args,
		Scan: func(row database.Row) error {
			var sender string
			var at int64
			err := row.Scan(&sender, &at)
			found = append(found, &openintentv1.RefusedSender{Sender: sender, CreatedAt: timestamppb.New(database.Time(at))})
			return err
		},
	})
	return found, err
}

// forgetRefusals removes those refusals of an agent that meet a condition, and notes in its record whether some are left. The transaction
// holds the record's lock.
func forgetRefusals(tx *database.Tx, agent *Agent, condition string, args ...any) error {
	var left int64
	err := tx.Pipeline(
		database.Statement{SQL: "DELETE FROM refusals WHERE agent_id = ? AND " + condition, Args: append([]any{agent.ID}, args...)},
		database.ReadValue(&left, "SELECT count(*) FROM refusals WHERE agent_id = ?", agent.ID),
	)
	if err != nil {
		return err
	}
	if agent.refusals = 0; left > 0 {
		agent.refusals = database.Tag()
	}
	return save(tx, agent)
}

// RefusedPair says that an agent refuses a sender.
type RefusedPair struct{ AgentID, Sender string }

// PrepareRefused returns the statement that reads which of the pairs are refusals, and the set that it fills.
func PrepareRefused(tx *database.Tx, pairs []RefusedPair) (database.Statement, map[RefusedPair]struct{}) {
	agentIDs, senders := make([]string, len(pairs)), make([]string, len(pairs))
	for i, pair := range pairs {
		agentIDs[i], senders[i] = pair.AgentID, pair.Sender
	}
	in, args := tx.InRows(database.Column{Name: "agent_id", Values: agentIDs}, database.Column{Name: "sender", Values: senders})
	refused := make(map[RefusedPair]struct{})
	return database.Statement{
		SQL:  "SELECT agent_id, sender FROM refusals WHERE " + in,
		Args: args,
		Scan: func(row database.Row) error {
			var pair RefusedPair
			err := row.Scan(&pair.AgentID, &pair.Sender)
			refused[pair] = struct{}{}
			return err
		},
	}, refused
}
