package reach

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"openintent/internal/database"
)

// Reach is what is known of the ways to one agent. Times are zero where nothing is known.
type Reach struct {
	Agent string
	// Paths are the open ones, one of each kind.
	Paths []Path
	// Heard is when the agent last called, Offered when a message was last handed to a way to it, and Surfaced when its model last saw one.
	Heard, Offered, Surfaced time.Time
	// SurfacesIn is how many milliseconds its messages took to surface; nil if too few are known.
	SurfacesIn *int64
}

// Level is what the paths come to.
func (r Reach) Level() Level {
	level := None
	if len(r.Paths) == 0 && r.Heard.IsZero() && r.Offered.IsZero() {
		level = Unknown
	}
	for _, path := range r.Paths {
		level = max(level, path.Kind.level())
	}
	return level
}

// Confirm takes a path into the reach that has confirmed a probe. It may be another replica's that has yet to write it.
func (r *Reach) Confirm(path Probed) {
	if !path.Confirmed.IsZero() {
		r.Paths = merge(r.Paths, Path{Kind: path.Kind, Since: path.Offered, Proven: path.Confirmed})
	}
}

// Read reads the reach of some agents, by the database and by what this replica knows itself. It adds an entry for each agent.
func (h *Here) Read(tx *database.Tx, agents []string) (map[string]*Reach, error) {
	now := tx.Now()
	found := make(map[string]*Reach, len(agents))
	for _, agent := range agents {
		one := &Reach{Agent: agent, Paths: h.openTo(agent, now)}
		one.Heard, one.Offered = h.timesOf(agent)
		found[agent] = one
	}
	err := tx.Pipeline(h.elsewhere(tx, agents, now, found), times(tx, agents, found))
	if err == nil && h.webhook != nil {
		err = h.webhook(tx, agents, func(agent string, path Path) { found[agent].Paths = merge(found[agent].Paths, path) })
	}
	for _, one := range found {
		slices.SortFunc(one.Paths, func(a, b Path) int {
			return cmp.Or(cmp.Compare(b.Kind.level(), a.Kind.level()), cmp.Compare(a.Kind, b.Kind))
		})
	}
	return found, err
}

// elsewhere reads the paths at other replicas that live.
func (h *Here) elsewhere(tx *database.Tx, agents []string, now time.Time, found map[string]*Reach) database.Statement {
	in, arg := tx.In("p.agent_id", agents)
	return database.Statement{
		SQL: "SELECT p.agent_id, p.kind, p.since, p.proven_at, p.asked, r.seen_at FROM agent_paths p JOIN replicas r ON r.replica = p.replica" +
			" WHERE p.replica <> ? AND r.seen_at >= ? AND " + in,
		Args: []any{h.replica, database.Micros(now.Add(-liveFor)), arg},
		Scan: func(row database.Row) error {
			var agent string
			var kind Kind
			var since, seen int64
			var beat *int64
			var asked bool
			if err := row.Scan(&agent, &kind, &since, &beat, &asked, &seen); err != nil {
				return err
			}
			path := Path{Kind: kind, Since: database.Time(since)}
			if path.Proven = database.TimeOrZero(beat); path.Proven.IsZero() {
				path.Proven = proven(path.Since, database.Time(seen), asked)
			}
			if kind == Wake && now.Sub(path.Proven) > wakeFor {
				return nil
			}
			found[agent].Paths = merge(found[agent].Paths, path)
			return nil
		},
	}
}

// times reads when agents were heard, offered something and showed it.
func times(tx *database.Tx, agents []string, found map[string]*Reach) database.Statement {
	in, arg := tx.In("agent_id", agents)
	return database.Statement{
		SQL:  "SELECT agent_id, heard_at, offered_at, surfaced_at, surfaces_in FROM agent_reach WHERE " + in,
		Args: []any{arg},
		Scan: func(row database.Row) error {
			var agent string
			var heard, offered, surfaced int64
			var samples *string
			if err := row.Scan(&agent, &heard, &offered, &surfaced, &samples); err != nil {
				return err
			}
			one := found[agent]
			one.Heard, one.Offered, one.Surfaced = later(one.Heard, heard), later(one.Offered, offered), later(one.Surfaced, surfaced)
			if samples == nil {
				return nil
			}
			var took []int64
			if err := json.Unmarshal([]byte(*samples), &took); err != nil {
				return err
			}
			if middle, ok := median(took); ok {
				one.SurfacesIn = &middle
			}
			return nil
		},
	}
}

// later returns the later of a time and a stored one, which is 0 if there is none.
func later(known time.Time, stored int64) time.Time {
	if at := database.Time(stored); stored > 0 && at.After(known) {
		return at
	}
	return known
}
