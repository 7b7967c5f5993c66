package reach

import (
	"cmp"
	"context"
	"slices"
	"time"

	"openintent/internal/database"
)

const (
	// liveEvery is how often a replica writes that it lives, and liveFor how old that may be until its paths count no more.
	liveEvery = 5 * time.Second
	liveFor   = 15 * time.Second
	// lookEvery is how often all entries are looked at, and heardEvery how often the time of one agent is written. Together they are the ten
	// seconds within which a time is known elsewhere.
	lookEvery  = 5 * time.Second
	heardEvery = 5 * time.Second
	// rewriteEvery is how often all open paths are written anew, in case the database or another replica has lost them.
	rewriteEvery = 5 * time.Minute
	// sweepEvery is how often what is old is removed: replicas that were not seen for deadFor, with their paths, and agents that were not heard
	// for rememberedFor, sweepAgents at a time.
	sweepEvery    = time.Minute
	deadFor       = 5 * time.Minute
	rememberedFor = 30 * 24 * time.Hour
	sweepAgents   = 1_000
	// lastKeep bounds how long Stop tries to take this replica's paths back.
	lastKeep = 2 * time.Second
)

// Keep writes what has changed on this replica, and now and then that it lives, in one transaction. It writes nothing when there is nothing new.
func (h *Here) Keep(ctx context.Context) error {
	now := h.db.Now()
	news := h.gather(now)
	if news.empty() {
		return nil
	}
	err := h.db.Write(ctx, func(tx *database.Tx) error { return news.write(tx, h.replica) })
	h.conclude(news, err)
	return err
}

// KeepNow writes what Keep would write at its next turn.
func (h *Here) KeepNow(ctx context.Context) error { return h.loop.Run(ctx) }

// Stop writes the times that are not written yet, and takes the paths of this replica back, so that nobody counts them any more.
func (h *Here) Stop() {
	h.loop.Stop()
	h.mutex.Lock()
	h.lookedAt = time.Time{}
	h.mutex.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), lastKeep)
	defer cancel()
	err := h.Keep(ctx)
	if err == nil {
		err = h.db.Write(ctx, func(tx *database.Tx) error {
			return tx.Pipeline(
				database.Statement{SQL: "DELETE FROM agent_paths WHERE replica = ?", Args: []any{h.replica}},
				database.Statement{SQL: "DELETE FROM replicas WHERE replica = ?", Args: []any{h.replica}})
		})
	}
	if err != nil {
		h.logger.Warn("the paths of this server could not be taken back; they stop to count by themselves within seconds", "error", err)
	}
}

// news are what one run writes.
type news struct {
	now         time.Time
	lives       bool
	looks       bool
	sweeps      bool
	rewrites    bool
	opened      []row
	closed      []pathKey
	heard       []heardRow
	surfaced    []surfacing
	unconfirmed map[pathKey]struct{}
}

// row is an open path as the database has it.
type row struct {
	pathKey
	since, proven time.Time
	asked         bool
}

// heardRow has the times of an agent that are news; zero for one that is not.
type heardRow struct {
	agent          string
	heard, offered time.Time
}

func (n news) empty() bool {
	return !n.lives && !n.sweeps && len(n.opened)+len(n.closed)+len(n.heard)+len(n.surfaced) == 0
}

// gather takes what has changed since the last run. Now and then it looks at all entries: which times are worth being written, and which
// entries can be dropped.
func (h *Here) gather(now time.Time) news {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	n := news{now: now, surfaced: h.surfaced, unconfirmed: h.changed}
	h.surfaced, h.changed = nil, make(map[pathKey]struct{})
	n.looks = now.Sub(h.lookedAt).Abs() >= lookEvery
	n.rewrites = now.Sub(h.rewrittenAt).Abs() >= rewriteEvery || now.Sub(h.seenAt) >= rewriteEvery
	if n.looks || n.rewrites {
		h.lookAtAll(&n)
	}
	for key := range n.unconfirmed {
		entry := h.agents[key.agent]
		if entry == nil || entry.paths[key.kind] == nil {
			n.closed = append(n.closed, key)
			continue
		}
		path := entry.paths[key.kind]
		n.opened = append(n.opened, row{key, path.since, path.beat, path.asked > 0})
	}
	// With new paths, too, because a restored database may not know this replica.
	n.lives = h.open > 0 && (len(n.opened) > 0 || now.Sub(h.seenAt).Abs() >= liveEvery)
	n.sweeps = now.Sub(h.sweptAt).Abs() >= sweepEvery
	n.sort()
	return n
}

// lookAtAll looks at all entries.
func (h *Here) lookAtAll(n *news) {
	for agent, entry := range h.agents {
		h.expire(entry, n.now, n.unconfirmed)
		for kind := range entry.paths {
			if n.rewrites {
				n.unconfirmed[pathKey{agent, kind}] = struct{}{}
			}
		}
		if times, fresh := entry.fresh(n.now); fresh {
			n.heard = append(n.heard, times)
		} else if len(entry.paths) == 0 && h.forgets(entry, n.now) {
			delete(h.agents, agent)
		}
	}
}

// sort puts rows in one order, because other replicas may write the same ones.
func (n *news) sort() {
	byKey := func(a, b pathKey) int { return cmp.Or(cmp.Compare(a.agent, b.agent), cmp.Compare(a.kind, b.kind)) }
	slices.SortFunc(n.opened, func(a, b row) int { return byKey(a.pathKey, b.pathKey) })
	slices.SortFunc(n.closed, byKey)
	slices.SortFunc(n.heard, func(a, b heardRow) int { return cmp.Compare(a.agent, b.agent) })
}

// expire ends a wake that has fallen silent.
func (h *Here) expire(entry *Heard, now time.Time, changed map[pathKey]struct{}) {
	if path := entry.paths[Wake]; path != nil && !path.open(Wake, now) {
		delete(entry.paths, Wake)
		h.open--
		changed[pathKey{entry.agent, Wake}] = struct{}{}
	}
}

// fresh returns the times of an agent that are worth being written.
func (e *Heard) fresh(now time.Time) (times heardRow, fresh bool) {
	times.agent = e.agent
	if heard := e.heardAt(); isNews(heard, e.written, now) {
		times.heard, fresh = heard, true
	}
	if isNews(e.offered, e.offering, now) {
		times.offered, fresh = e.offered, true
	}
	return times, fresh
}

// isNews reports whether a time is later than the one that was written, which is not too new to be written again.
func isNews(at, written, now time.Time) bool {
	return at.After(written) && now.Sub(written) >= heardEvery
}

// forgets reports whether an entry can be dropped, and makes it void for calls that still have it. A call that noted its time just then
// keeps the entry.
func (h *Here) forgets(entry *Heard, now time.Time) bool {
	at := entry.at.Load()
	if now.Sub(time.Unix(0, at)) < forgetAfter || now.Sub(entry.offered) < forgetAfter {
		return false
	}
	entry.gone.Store(true)
	if entry.at.Load() == at {
		return true
	}
	entry.gone.Store(false)
	return false
}

// conclude notes what was written, or lets it wait for the next run.
func (h *Here) conclude(n news, err error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if err != nil {
		for key := range n.unconfirmed {
			h.changed[key] = struct{}{}
		}
		h.surfaced = append(n.surfaced, h.surfaced...)
		return
	}
	if n.looks {
		h.lookedAt = n.now
	}
	if n.lives {
		h.seenAt = n.now
	}
	if n.sweeps {
		h.sweptAt = n.now
	}
	if n.rewrites {
		h.rewrittenAt = n.now
	}
	for _, times := range n.heard {
		entry := h.of(times.agent)
		if !times.heard.IsZero() {
			entry.written = times.heard
		}
		if !times.offered.IsZero() {
			entry.offering = times.offered
		}
	}
}

// write writes the news of a replica.
func (n news) write(tx *database.Tx, replica string) error {
	var statements []database.Statement
	if n.lives {
		statements = append(statements, tx.Advance("replicas",
			[]database.Column{{Name: "replica", Values: []string{replica}}},
			database.Column{Name: "seen_at", Values: []int64{database.Micros(n.now)}})...)
	}
	statements = append(statements, n.closings(tx, replica)...)
	statements = append(statements, n.openings(tx, replica)...)
	statements = append(statements, n.times(tx)...)
	if n.sweeps {
		statements = append(statements, n.sweep()...)
	}
	if err := tx.Pipeline(statements...); err != nil {
		return err
	}
	return countSurfaced(tx, n.surfaced)
}

// closings removes the rows of paths that are closed, and of those that are written anew.
func (n news) closings(tx *database.Tx, replica string) []database.Statement {
	var agents, kinds []string
	for _, key := range n.closed {
		agents, kinds = append(agents, key.agent), append(kinds, string(key.kind))
	}
	for _, open := range n.opened {
		agents, kinds = append(agents, open.agent), append(kinds, string(open.kind))
	}
	if len(agents) == 0 {
		return nil
	}
	in, args := tx.InRows(database.Column{Name: "agent_id", Values: agents}, database.Column{Name: "kind", Values: kinds})
	return []database.Statement{{SQL: "DELETE FROM agent_paths WHERE replica = ? AND " + in, Args: append([]any{replica}, args...)}}
}

func (n news) openings(tx *database.Tx, replica string) []database.Statement {
	var agents, kinds, replicas []string
	var since []int64
	var proven []*int64
	var asked []bool
	for _, open := range n.opened {
		agents, kinds, replicas = append(agents, open.agent), append(kinds, string(open.kind)), append(replicas, replica)
		since, proven = append(since, database.Micros(open.since)), append(proven, database.NullMicros(open.proven))
		asked = append(asked, open.asked)
	}
	return tx.Insert("agent_paths",
		database.Column{Name: "agent_id", Values: agents}, database.Column{Name: "kind", Values: kinds},
		database.Column{Name: "replica", Values: replicas}, database.Column{Name: "since", Values: since},
		database.Column{Name: "proven_at", Values: proven}, database.Column{Name: "asked", Values: asked})
}

// times moves the times of agents forward.
func (n news) times(tx *database.Tx) (statements []database.Statement) {
	advance := func(column string, of func(heardRow) time.Time) {
		var agents []string
		var times []int64
		for _, one := range n.heard {
			if at := of(one); !at.IsZero() {
				agents, times = append(agents, one.agent), append(times, database.Micros(at))
			}
		}
		statements = append(statements, tx.Advance("agent_reach",
			[]database.Column{{Name: "agent_id", Values: agents}}, database.Column{Name: column, Values: times})...)
	}
	advance("heard_at", func(one heardRow) time.Time { return one.heard })
	advance("offered_at", func(one heardRow) time.Time { return one.offered })
	return statements
}

// sweep removes what nobody asks for any more.
func (n news) sweep() []database.Statement {
	dead, forgotten := database.Micros(n.now.Add(-deadFor)), database.Micros(n.now.Add(-rememberedFor))
	return []database.Statement{
		{SQL: "DELETE FROM agent_paths WHERE replica IN (SELECT replica FROM replicas WHERE seen_at < ?)", Args: []any{dead}},
		{SQL: "DELETE FROM replicas WHERE seen_at < ?", Args: []any{dead}},
		{SQL: "DELETE FROM agent_reach WHERE agent_id IN (SELECT agent_id FROM agent_reach WHERE heard_at < ? AND offered_at < ? ORDER BY heard_at LIMIT ?)",
			Args: []any{forgotten, forgotten, sweepAgents}},
	}
}
