package subscriptions

import (
	"context"

	"openintent/agents"
	"openintent/database"
	"openintent/intents"
)

// readMoved reads the progress of a wide subscription after its latest whole reading, by what has happened since in a few of its
// intents, and in those that were not gathered to their ends. So what a message costs does not grow with the intents that reach the
// subscriber. The progress has the states and positions of these intents alone. ok is false if only readProgress shows what has
// happened: when rules or the subscriber's record have changed, when a log went back, or when annotations are numbered from now on.
func (g *gatherer) readMoved(ctx context.Context, subscriber string, moved []int64) (seen *progress, ok bool, err error) {
	if g.states == nil {
		return nil, false, nil
	}
	for intentNo := range g.behind {
		moved = append(moved, intentNo)
	}
	moved = database.Distinct(moved)
	var states *[]intents.State
	err = g.service.db.Read(ctx, func(tx *database.Tx) error {
		seen = &progress{
			moved: true, presence: agents.Presence{AgentID: subscriber}, now: tx.Now(),
			positions: make(map[int64]int64), states: make(map[int64]intents.State),
		}
		load, loaded := prepareLoad(g.no)
		read, presences := agents.PreparePresences(tx, []string{subscriber})
		statements := []database.Statement{load, read}
		states = &[]intents.State{}
		if len(moved) > 0 {
			var readStates database.Statement
			states, readStates = intents.PrepareStates(tx, moved)
			statements = append(statements, readStates, preparePositionsIn(tx, g.no, moved, seen.positions))
		}
		if err := tx.Pipeline(statements...); err != nil {
			return err
		}
		var err error
		if seen.sub, err = loaded(); err != nil {
			return err
		}
		if presence, registered := presences[subscriber]; registered {
			seen.presence = presence
		}
		if !seen.sub.active(seen.now) {
			return errEnded
		}
		return nil
	})
	if err != nil || seen.presence != g.presence || seen.sub.filter.Annotations != g.annotations {
		return nil, false, err
	}
	for _, state := range *states {
		before, known := g.states[state.IntentNo]
		if !known || state.Epoch != before.Epoch || state.LastPosition < before.LastPosition {
			return nil, false, nil
		}
		seen.states[state.IntentNo] = state
	}
	g.noteLosses(seen.states)
	g.addBacklogs(seen, *states)
	return seen, true, nil
}

// preparePositionsIn returns the statement that reads how far a subscription has gathered some intents.
func preparePositionsIn(tx *database.Tx, no int64, intentNos []int64, positions map[int64]int64) database.Statement {
	in, argument := tx.In("intent_no", intentNos)
	return database.Statement{
		SQL:  "SELECT intent_no, position FROM subscription_positions WHERE subscription_no = ? AND " + in,
		Args: []any{no, argument},
		Scan: func(row database.Row) error {
			var intentNo, position int64
			err := row.Scan(&intentNo, &position)
			positions[intentNo] = position
			return err
		},
	}
}

// addBacklogs adds the intents whose logs have grown beyond what was gathered, and remembers them for the next look.
func (g *gatherer) addBacklogs(seen *progress, states []intents.State) {
	g.behind = make(map[int64]struct{})
	for _, head := range states {
		one := backlog{intentNo: head.IntentNo, epoch: head.Epoch, stored: seen.positions[head.IntentNo], through: head.LastPosition}
		if epoch, refused := g.refused[one.intentNo]; refused && epoch == one.epoch {
			continue
		}
		if one.through > max(one.stored, g.scanned[one.intentNo]) {
			seen.backlogs = append(seen.backlogs, one)
			g.behind[one.intentNo] = struct{}{}
		}
	}
}
