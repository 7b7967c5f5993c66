package agentdata

import (
	"context"
	"errors"
	"fmt"

	"openintent/agents"
	"openintent/contacts"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging"
	"openintent/reach"
	"openintent/search"
	"openintent/sessions"
	"openintent/subscriptions"
)

// The tables for which rooms have functions of their own.
const (
	record     = "agents"
	contents   = "messages"
	delivering = "subscriptions"
	heard      = "agent_reach"
	signedIn   = "console_sessions"
)

// ErrUnknown refuses an agent that the database does not know.
var ErrUnknown = errors.New("the database does not know this agent; check its id")

// Rooms are what an erasure works with: services on the database at Address, which need not be started.
type Rooms struct {
	Address       string
	DB            *database.DB
	Agents        *agents.Service
	Messaging     *messaging.Service
	Subscriptions *subscriptions.Service
	Search        *search.Service
}

// Report says what an erasure did and what it left.
type Report struct {
	// Erased counts what was taken away now, and Stays the rows of the agent that are there afterwards, both by table.
	Erased, Stays map[string]int64
	// Audited are the channels with messages that keep their contents.
	Audited []messaging.ErasedChannel
	// Keys are the API keys of the database that name the agent and are not revoked.
	Keys []string
}

type eraser struct {
	Rooms
	agentID string
	report  Report
}

// Erase erases what the database has of an agent. It refuses one that is still registered (agents.ErrStillRegistered), and one that the
// database does not know (ErrUnknown). If it is interrupted, repeat it.
func Erase(ctx context.Context, rooms Rooms, agentID string) (*Report, error) {
	if err := caller.CheckName("agent_id", agentID); err != nil {
		return nil, err
	}
	e := &eraser{Rooms: rooms, agentID: agentID, report: Report{Erased: make(map[string]int64)}}
	recorded, erased, err := rooms.Agents.Erase(ctx, agentID)
	if err != nil {
		return nil, err
	}
	if erased {
		e.report.Erased[record] = 1
	}
	before, err := lookAt(ctx, rooms.Address, agentID)
	switch {
	case err != nil:
		return nil, err
	case !recorded && len(before.rows) == 0:
		return nil, ErrUnknown
	}
	if err := e.erase(ctx, before); err != nil {
		return nil, fmt.Errorf("the erasure is not complete; repeat it: %w", err)
	}
	after, err := lookAt(ctx, rooms.Address, agentID)
	if err != nil {
		return nil, err
	}
	e.report.Stays, e.report.Keys = after.rows, after.keys
	return &e.report, nil
}

// erase erases what a survey found.
func (e *eraser) erase(ctx context.Context, found *survey) error {
	if err := e.Messaging.FinishDepartures(ctx, e.agentID); err != nil {
		return err
	}
	reached, err := contacts.Erase(ctx, e.DB, e.agentID)
	if err != nil {
		return fmt.Errorf("erasing contacts: %w", err)
	}
	for table, rows := range reached {
		if rows > 0 {
			e.report.Erased[table] = rows
		}
	}
	rows, err := reach.Erase(ctx, e.DB, e.agentID)
	if err != nil {
		return err
	}
	if rows > 0 {
		e.report.Erased[heard] = rows
	}
	if rows, err = sessions.Erase(ctx, e.DB, e.agentID); err != nil {
		return err
	}
	if rows > 0 {
		e.report.Erased[signedIn] = rows
	}
	for _, intentNo := range found.intents[contents] {
		if err := e.Messaging.EraseSent(ctx, intentNo, e.agentID, e.note); err != nil {
			return fmt.Errorf("erasing contents: %w", err)
		}
	}
	count, err := e.Subscriptions.EraseOf(ctx, e.agentID)
	if err != nil {
		return fmt.Errorf("erasing subscriptions: %w", err)
	}
	if count > 0 {
		e.report.Erased[delivering] = count
	}
	for _, table := range Tables {
		for _, intentNo := range found.intents[table.Name] {
			if table.change == nil {
				break
			}
			count, err := e.eraseRows(ctx, table, intentNo)
			if count > 0 {
				e.report.Erased[table.Name] += count
			}
			if err != nil {
				return fmt.Errorf("erasing rows of %s: %w", table.Name, err)
			}
		}
	}
	if found.indexed {
		if err := e.Search.Forget(ctx, e.agentID, found.intents[contents]); err != nil {
			return fmt.Errorf("erasing words of the index: %w", err)
		}
	}
	return e.DB.Rewrite(ctx)
}

// note takes what became of the messages of a channel into the report.
func (e *eraser) note(c messaging.ErasedChannel) {
	if c.Erased > 0 {
		e.report.Erased[contents] += c.Erased
	}
	if c.Audited > 0 {
		e.report.Audited = append(e.report.Audited, c)
	}
}
