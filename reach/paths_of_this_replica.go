package reach

import (
	"crypto/rand"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"openintent/internal/database"
	"openintent/internal/loop"
)

const (
	// keepEvery is how often changes are written, and forgetAfter how long nothing must have been heard of an agent before its entry here is
	// dropped. The database keeps what was written.
	keepEvery   = time.Second
	forgetAfter = 24 * time.Hour
	// mostAgents bounds the entries, and with forgetAfter how many rows a key can make that may call in any name. Of further agents the server
	// knows only the paths.
	mostAgents = 100_000
)

// Here keeps the paths that are open on this replica, and when the agents that call it were heard, were offered messages and showed them.
type Here struct {
	db      *database.DB
	logger  *slog.Logger
	replica string
	loop    *loop.Loop
	webhook readWebhooks

	mostAgents int
	probes     probes

	mutex  sync.RWMutex
	agents map[string]*Heard
	// changed are the paths that were opened or closed since they were last written. surfaced are messages whose surfacing is not counted yet.
	changed  map[pathKey]struct{}
	surfaced []surfacing
	// open is how many kinds of path are open to all agents together.
	open int
	// lookedAt is when all entries were last looked at, seenAt when this replica last wrote that it lives, sweptAt when it last removed what is
	// old, and rewrittenAt when it last wrote all its paths.
	lookedAt, seenAt, sweptAt, rewrittenAt time.Time
}

// readWebhooks calls open for the webhooks by which some agents can be reached.
type readWebhooks func(tx *database.Tx, agents []string, open func(agent string, path Path)) error

// pathKey names what this replica has of one kind of path to one agent.
type pathKey struct {
	agent string
	kind  Kind
}

// Heard is what this replica knows of one agent.
type Heard struct {
	agent string
	// at is when a call of the agent's last came, in nanoseconds. gone is true once the entry was dropped: a call that finds it must use another one.
	at   atomic.Int64
	gone atomic.Bool

	// The mutex of Here guards the rest. The times named written are those in the database.
	paths             map[Kind]*opened
	offered           time.Time
	written, offering time.Time
}

// opened are the open paths of one kind to one agent.
type opened struct {
	count, asked int
	since        time.Time
	// beat is when the last call of a wake came.
	beat time.Time
	// asking are those that can be handed a probe.
	asking map[*Hearing]struct{}
}

// Config is what Here needs.
type Config struct {
	DB *database.DB
	// Logger is told what could not be written; nil discards it.
	Logger *slog.Logger
}

// New makes what keeps the paths of this replica. It writes between Start and Stop.
func New(cfg Config) *Here {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Here{
		db: cfg.DB, logger: cfg.Logger, replica: rand.Text(), agents: make(map[string]*Heard), changed: make(map[pathKey]struct{}),
		mostAgents: mostAgents,
	}
	h.loop = loop.New("who can be reached", keepEvery, cfg.Logger, h.Keep).Slowing(5 * time.Second)
	return h
}

// Webhooks sets how the open webhooks of some agents are read. It must be called before Start.
func (h *Here) Webhooks(read readWebhooks) { h.webhook = read }

// Now is the time by which paths are judged: the database's.
func (h *Here) Now() time.Time { return h.db.Now() }

// Start begins to write.
func (h *Here) Start() { h.loop.Start() }

// Of returns the entry of an agent, in which calls note their time. Whoever keeps it must ask Note whether it still holds.
func (h *Here) Of(agent string) *Heard {
	h.mutex.RLock()
	found := h.agents[agent]
	h.mutex.RUnlock()
	if found != nil {
		return found
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if !h.fits(agent) {
		return &Heard{agent: agent}
	}
	return h.of(agent)
}

// fits reports whether an agent has an entry, or there is room for one.
func (h *Here) fits(agent string) bool { return h.agents[agent] != nil || len(h.agents) < h.mostAgents }

func (h *Here) of(agent string) *Heard {
	found := h.agents[agent]
	if found == nil {
		found = &Heard{agent: agent}
		h.agents[agent] = found
	}
	return found
}

// Note notes that the agent was heard. It returns false if the entry is another agent's, or was dropped; nothing is noted then.
func (e *Heard) Note(agent string, at time.Time) bool {
	if e == nil || e.agent != agent {
		return false
	}
	e.at.Store(at.UnixNano())
	return !e.gone.Load()
}

// Offered notes when messages were last handed to some agents.
func (h *Here) Offered(times map[string]time.Time) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for agent, at := range times {
		if h.fits(agent) {
			h.of(agent).offered = at
		}
	}
}

// Woken notes a call of a `wake` that runs for an agent.
func (h *Here) Woken(agent string, at time.Time) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if !h.fits(agent) {
		return
	}
	path := h.of(agent).path(Wake)
	if path.count == 0 {
		path.count, path.since = 1, at
		h.open++
	}
	path.beat = at
	h.changed[pathKey{agent, Wake}] = struct{}{}
}

// path returns the paths of a kind to the agent.
func (e *Heard) path(kind Kind) *opened {
	found := e.paths[kind]
	if found == nil {
		if e.paths == nil {
			e.paths = make(map[Kind]*opened)
		}
		found = &opened{}
		e.paths[kind] = found
	}
	return found
}

// opening is one open path on this replica.
type opening struct {
	hearing *Hearing
	kind    Kind
}

// opens notes an open path.
func (h *Here) opens(o opening) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	path := h.of(o.hearing.Agent).path(o.kind)
	if path.count == 0 {
		path.since = h.db.Now()
		h.open++
		h.changed[pathKey{o.hearing.Agent, o.kind}] = struct{}{}
	}
	path.count++
	if o.hearing.Asked {
		path.asked++
	}
	if o.hearing.Probe != nil {
		if path.asking == nil {
			path.asking = make(map[*Hearing]struct{})
		}
		path.asking[o.hearing] = struct{}{}
	}
}

// closes notes the end of a path.
func (h *Here) closes(o opening) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	entry := h.of(o.hearing.Agent)
	path := entry.path(o.kind)
	path.count--
	if o.hearing.Asked {
		path.asked--
	}
	delete(path.asking, o.hearing)
	if path.count == 0 {
		delete(entry.paths, o.kind)
		h.open--
		h.changed[pathKey{o.hearing.Agent, o.kind}] = struct{}{}
	}
}

// openTo returns the paths that are open here to an agent.
func (h *Here) openTo(agent string, now time.Time) (paths []Path) {
	h.mutex.RLock()
	defer h.mutex.RUnlock()
	entry := h.agents[agent]
	if entry == nil {
		return nil
	}
	for kind, path := range entry.paths {
		if path.open(kind, now) {
			paths = append(paths, Path{Kind: kind, Since: path.since, Proven: path.proven(kind, now)})
		}
	}
	return paths
}

// open reports whether paths of a kind count at a time.
func (p *opened) open(kind Kind, now time.Time) bool {
	return kind != Wake || now.Sub(p.beat) <= wakeFor
}

func (p *opened) proven(kind Kind, now time.Time) time.Time {
	if kind == Wake {
		return p.beat
	}
	return proven(p.since, now, p.asked > 0)
}

// timesOf returns when an agent was last heard here, and offered something; zero if it was not.
func (h *Here) timesOf(agent string) (heard, offered time.Time) {
	h.mutex.RLock()
	defer h.mutex.RUnlock()
	entry := h.agents[agent]
	if entry == nil {
		return heard, offered
	}
	return entry.heardAt(), entry.offered
}

// heardAt returns when the agent was last heard here; zero if it was not.
func (e *Heard) heardAt() time.Time {
	at := e.at.Load()
	if at == 0 {
		return time.Time{}
	}
	return time.Unix(0, at).UTC().Truncate(time.Microsecond)
}
