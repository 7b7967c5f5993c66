package reach

import (
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"openintent/internal/database"
	"openintent/internal/fault"
)

const (
	// probeFor is how long a probe runs at most, and othersWithin how long it waits for paths that are expected to take it.
	probeFor     = 10 * time.Second
	othersWithin = 3 * time.Second
	// mostProbes bounds how many probes are known at a time; further ones are refused.
	mostProbes = 1_000
	// probePrefix begins the id of every probe.
	probePrefix = "probe_"
	// newsBetween is between the words that replicas tell each other. No agent's id contains it.
	newsBetween = "/"
)

var (
	errProbeRunning = fault.New(fault.Conflict, "PROBE_RUNNING",
		"A probe of this agent runs already; wait for its end, at most 10 seconds, and try again.").After(time.Second)
	errProbeNotFound = fault.New(fault.NotFound, "PROBE_NOT_FOUND", "No such probe of this agent runs; it is over, which is harmless.")
)

// Probed is what the paths of one kind did with a probe. Times are zero for what did not happen.
type Probed struct {
	Kind               Kind
	Offered, Confirmed time.Time
}

// probes are those that run now, on this replica or another one.
type probes struct {
	// tell tells the other replicas; nil if there are none.
	tell func(news string)

	mutex   sync.Mutex
	running map[string]*probe // by agent
}

// probe is one that runs.
type probe struct {
	id     string
	begun  time.Time
	paths  map[Kind]*Probed
	change chan struct{}
}

// Telling sets how the other replicas are told of probes; what they tell is for Told. It must be called before Start.
func (h *Here) Telling(tell func(news string)) { h.probes.tell = tell }

// Probe hands a probe to the open paths of an agent on all replicas, and waits until each of them that took it has confirmed it, or for ten
// seconds. It waits for the kinds that are expected to take it, but not as long.
func (h *Here) Probe(ctx context.Context, agent string, expected ...Kind) (id string, paths []Probed, err error) {
	id = probePrefix + rand.Text()
	p, err := h.probes.begin(agent, id, false)
	if err != nil {
		return "", nil, err
	}
	h.told("begin", id, agent)
	defer func() {
		h.probes.end(agent, id)
		h.told("end", id, agent)
	}()
	h.offerProbe(agent, id)
	over, least, others := time.NewTimer(probeFor), time.NewTimer(h.probes.patience()), time.NewTimer(othersWithin)
	defer over.Stop()
	defer least.Stop()
	defer others.Stop()
	for lasts, waits := true, true; lasts || waits && !h.probes.confirmed(p, expected) || !h.probes.confirmed(p, nil); {
		select {
		case <-p.change:
		case <-least.C:
			lasts = false
		case <-others.C:
			waits = false
		case <-over.C:
			return id, h.probes.found(p), nil
		case <-ctx.Done():
			return "", nil, context.Cause(ctx)
		}
	}
	return id, h.probes.found(p), nil
}

// patience is how long a probe waits at least for paths that take it: those here, and those of other replicas that this one has yet to hear of.
func (p *probes) patience() time.Duration {
	if p.tell == nil {
		return 50 * time.Millisecond
	}
	return keepEvery
}

// begin notes a probe, unless one of the agent runs. One of another replica takes the place of that. A probe that is over was another replica's,
// and its end was missed.
func (p *probes) begin(agent, id string, others bool) (*probe, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for other, running := range p.running {
		if time.Since(running.begun) > probeFor {
			delete(p.running, other)
		}
	}
	if p.running[agent] != nil && !others || len(p.running) >= mostProbes {
		return nil, errProbeRunning
	}
	begun := &probe{id: id, begun: time.Now(), paths: make(map[Kind]*Probed), change: make(chan struct{}, 1)}
	if p.running == nil {
		p.running = make(map[string]*probe)
	}
	p.running[agent] = begun
	return begun, nil
}

func (p *probes) end(agent, id string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if running := p.running[agent]; running != nil && running.id == id {
		delete(p.running, agent)
	}
}

// confirmed reports whether every kind that took the probe has confirmed it, and the expected ones are among them.
func (p *probes) confirmed(running *probe, expected []Kind) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, kind := range expected {
		if running.paths[kind] == nil {
			return false
		}
	}
	for _, path := range running.paths {
		if path.Confirmed.IsZero() {
			return false
		}
	}
	return true
}

func (p *probes) found(running *probe) (paths []Probed) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, path := range running.paths {
		paths = append(paths, *path)
	}
	slices.SortFunc(paths, func(a, b Probed) int { return strings.Compare(string(a.Kind), string(b.Kind)) })
	return paths
}

// note notes that a kind of path took a probe, or confirmed it, and reports whether the probe runs.
func (p *probes) note(agent, id string, kind Kind, at time.Time, confirmed bool) bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	running := p.running[agent]
	if running == nil || running.id != id || time.Since(running.begun) > probeFor {
		return false
	}
	path := running.paths[kind]
	if path == nil {
		path = &Probed{Kind: kind}
		running.paths[kind] = path
	}
	if confirmed && path.Confirmed.IsZero() {
		path.Confirmed = at
	}
	if path.Offered.IsZero() { // what is confirmed was offered, also if another replica has yet to say so
		path.Offered = at
	}
	select {
	case running.change <- struct{}{}:
	default:
	}
	return true
}

// offerProbe hands a probe to the paths that are open here, each on a goroutine of its own, because a client may be slow.
func (h *Here) offerProbe(agent, id string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	entry := h.agents[agent]
	if entry == nil {
		return
	}
	for kind, path := range entry.paths {
		for asked := range path.asking {
			go func() {
				confirmed, err := asked.Probe(id)
				if err != nil {
					return
				}
				h.noteProbe("offer", agent, id, kind)
				if confirmed {
					h.noteProbe("confirm", agent, id, kind)
				}
			}()
		}
	}
}

// ConfirmProbe notes that a probe arrived at an agent. The others hear of it also if this replica does not know the probe, because it may have
// yet to hear of it.
func (h *Here) ConfirmProbe(agent, id string, kind Kind) error {
	if !strings.HasPrefix(id, probePrefix) || !h.noteProbe("confirm", agent, id, kind) {
		return errProbeNotFound
	}
	return nil
}

// noteProbe notes what became of a probe, here and on the other replicas, and reports whether the probe is known here.
func (h *Here) noteProbe(what, agent, id string, kind Kind) bool {
	at := h.db.Now()
	h.told(what, id, agent, string(kind), strconv.FormatInt(database.Micros(at), 10))
	return h.probes.note(agent, id, kind, at, what == "confirm")
}

func (h *Here) told(words ...string) {
	if h.probes.tell != nil {
		h.probes.tell(strings.Join(words, newsBetween))
	}
}

// Told takes what another replica says of a probe. It passes over what it does not understand: a replica of another version may say it.
func (h *Here) Told(news string) {
	words := strings.Split(news, newsBetween)
	switch {
	case len(words) == 3 && words[0] == "end":
		h.probes.end(words[2], words[1])
	case len(words) == 3 && words[0] == "begin":
		if _, err := h.probes.begin(words[2], words[1], true); err == nil {
			h.offerProbe(words[2], words[1])
		}
	case len(words) == 5 && (words[0] == "offer" || words[0] == "confirm"):
		if micros, err := strconv.ParseInt(words[4], 10, 64); err == nil {
			h.probes.note(words[2], words[1], Kind(words[3]), database.Time(micros), words[0] == "confirm")
		}
	}
}
