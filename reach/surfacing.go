package reach

import (
	"encoding/json"
	"slices"
	"time"

	"openintent/internal/database"
)

const (
	// keptSamples is how many messages the median counts, and fewestSamples how many it needs.
	keptSamples   = 20
	fewestSamples = 3
	// mostSurfacings is how many surfacings may wait to be counted; more are left out.
	mostSurfacings = 1_000
)

// surfacing is that an agent's model saw a message.
type surfacing struct {
	agent              string
	intentNo, position int64
	at                 time.Time
}

// Place is where a message is.
type Place struct{ IntentNo, Position int64 }

// Surfaced notes that an agent's model saw messages for the first time. How long that took is found when it is written, so that the call need
// not read when the messages were offered.
func (h *Here) Surfaced(agent string, at time.Time, messages ...Place) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for _, m := range messages[:min(len(messages), max(0, mostSurfacings-len(h.surfaced)))] {
		h.surfaced = append(h.surfaced, surfacing{agent, m.IntentNo, m.Position, at})
	}
}

// surfaces are what is known of how fast messages surface with an agent: when one last did, and the milliseconds of the last ones, oldest first.
type surfaces struct {
	at      time.Time
	samples []int64
}

// countSurfaced adds surfacings to what is stored of their agents.
func countSurfaced(tx *database.Tx, seen []surfacing) error {
	if len(seen) == 0 {
		return nil
	}
	found := make(map[string]*surfaces)
	for _, one := range seen {
		if found[one.agent] == nil {
			found[one.agent] = &surfaces{}
		}
		found[one.agent].at = one.at
	}
	if err := tx.Pipeline(storedSamples(tx, found), offeredTimes(tx, seen, found)); err != nil {
		return err
	}
	return tx.Pipeline(storeSamples(tx, found)...)
}

// storedSamples reads the samples of agents.
func storedSamples(tx *database.Tx, found map[string]*surfaces) database.Statement {
	in, arg := tx.In("agent_id", keys(found))
	return database.Statement{
		SQL:  "SELECT agent_id, surfaces_in FROM agent_reach WHERE surfaces_in IS NOT NULL AND " + in,
		Args: []any{arg},
		Scan: func(row database.Row) error {
			var agent, stored string
			if err := row.Scan(&agent, &stored); err != nil {
				return err
			}
			return json.Unmarshal([]byte(stored), &found[agent].samples)
		},
	}
}

// offeredTimes adds a sample for each message to one recipient of which it is stored when it was offered.
func offeredTimes(tx *database.Tx, seen []surfacing, found map[string]*surfaces) database.Statement {
	type key struct {
		Place
		agent string
	}
	at := make(map[key]time.Time, len(seen))
	var intentNos, positions []int64
	var agents []string
	for _, one := range seen {
		at[key{Place{one.intentNo, one.position}, one.agent}] = one.at
		intentNos, positions, agents = append(intentNos, one.intentNo), append(positions, one.position), append(agents, one.agent)
	}
	in, args := tx.InRows(database.Column{Name: "intent_no", Values: intentNos}, database.Column{Name: "position", Values: positions},
		database.Column{Name: "agent_id", Values: agents})
	return database.Statement{
		SQL:  "SELECT intent_no, position, agent_id, offered_at FROM offers WHERE " + in + " ORDER BY offered_at",
		Args: args,
		Scan: func(row database.Row) error {
			var k key
			var offered int64
			if err := row.Scan(&k.IntentNo, &k.Position, &k.agent, &offered); err != nil {
				return err
			}
			took := max(0, at[k].Sub(database.Time(offered)).Milliseconds())
			found[k.agent].samples = append(found[k.agent].samples, took)
			return nil
		},
	}
}

func storeSamples(tx *database.Tx, found map[string]*surfaces) []database.Statement {
	agents := keys(found)
	times, samples := make([]int64, len(agents)), make([]*string, len(agents))
	for i, agent := range agents {
		one := found[agent]
		times[i] = database.Micros(one.at)
		one.samples = one.samples[max(0, len(one.samples)-keptSamples):]
		if len(one.samples) > 0 {
			text, _ := json.Marshal(one.samples) // numbers
			samples[i] = new(string(text))
		}
	}
	return tx.Advance("agent_reach", []database.Column{{Name: "agent_id", Values: agents}},
		database.Column{Name: "surfaced_at", Values: times}, database.Column{Name: "surfaces_in", Values: samples})
}

// keys returns the agents in one order, because other replicas may write the same rows.
func keys(found map[string]*surfaces) (agents []string) {
	for agent := range found {
		agents = append(agents, agent)
	}
	slices.Sort(agents)
	return agents
}

// median returns the middle of some samples; ok is false for too few of them.
func median(samples []int64) (middle int64, ok bool) {
	if len(samples) < fewestSamples {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(samples))
	return sorted[len(sorted)/2], true
}
