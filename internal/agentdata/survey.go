package agentdata

import (
	"context"
	"fmt"

	"openintent/internal/database"
	"openintent/search"
)

// survey says what a database has of an agent at one moment.
type survey struct {
	// rows counts the agent's rows, by table.
	rows map[string]int64
	// intents are those in which an erasure may have something to do, by table.
	intents map[string][]int64
	// keys are the API keys that name the agent and are not revoked.
	keys []string
	// indexed is true if messages are indexed for search.
	indexed bool
}

// look makes a survey.
func look(tx *database.Tx, agentID string) (*survey, error) {
	found := &survey{rows: make(map[string]int64), intents: make(map[string][]int64)}
	for _, table := range Tables {
		var rows int64
		if err := table.each(tx, agentID, []string{"1"}, []any{new(int64)}, func() error {
			rows++
			return nil
		}); err != nil {
			return nil, fmt.Errorf("counting %s: %w", table.Name, err)
		}
		if rows > 0 {
			found.rows[table.Name] = rows
		}
		where := table.concerned()
		if where == "" || rows == 0 {
			continue
		}
		var intentNos []int64
		if err := tx.Pipeline(database.ReadValues(&intentNos,
			"SELECT DISTINCT x.intent_no FROM "+table.Name+" x WHERE "+where+" ORDER BY x.intent_no", arguments(where, agentID)...)); err != nil {
			return nil, fmt.Errorf("finding the intents of %s: %w", table.Name, err)
		}
		found.intents[table.Name] = intentNos
	}
	var err error
	if found.indexed, err = search.InUse(tx); err != nil {
		return nil, err
	}
	return found, found.lookAtKeys(tx, agentID)
}

// concerned is the condition of the rows that an erasure changes within intents; empty: none.
func (t Table) concerned() string {
	switch {
	case t.change != nil:
		return t.change.where
	case t.Name == contents:
		return "x.sender = ?"
	}
	return ""
}

// lookAtKeys finds the keys that name the agent, beside those that it made.
func (s *survey) lookAtKeys(tx *database.Tx, agentID string) error {
	for _, table := range Tables {
		if table.Listed == "" {
			continue
		}
		table.Of = "1 = 0"
		var id string
		var revoked *int64
		if err := table.each(tx, agentID, []string{"x.key_id", "x.revoked_at"}, []any{&id, &revoked}, func() error {
			if revoked == nil {
				s.keys = append(s.keys, id)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// lookAt makes a survey of a database beside whoever uses it.
func lookAt(ctx context.Context, address, agentID string) (found *survey, err error) {
	err = database.ReadSnapshot(ctx, address, func(tx *database.Tx) error {
		found, err = look(tx, agentID)
		return err
	})
	return found, err
}
