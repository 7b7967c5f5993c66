package server

import (
	"context"
	"strconv"
	"sync"

	"openintent/internal/caller"
	"openintent/internal/fault"
)

// limits are the bounds of what callers may have under way at once on this server.
type limits struct{ streams, waits *limit }

func newLimits(cfg Config) limits {
	return limits{
		streams: newLimit(cfg.MaxStreams, cfg.MaxStreamsPerKey, "max_streams",
			fault.New(fault.Quota, "TOO_MANY_STREAMS", "This caller has %d streams open on this server, the most that one may have; "+
				"end one first, or follow a whole intent or agent with one stream in place of many channels.", cfg.MaxStreams),
			fault.New(fault.Quota, "TOO_MANY_STREAMS", "The callers with this API key have %d streams open on this server, the most that "+
				"one key may have; end one first.", cfg.MaxStreamsPerKey)),
		waits: newLimit(cfg.MaxWaits, cfg.MaxWaitsPerKey, "max_waits",
			fault.New(fault.Quota, "TOO_MANY_WAITS", "This caller has %d calls that wait on this server, the most that one may have; "+
				"end one first, or call without waiting.", cfg.MaxWaits),
			fault.New(fault.Quota, "TOO_MANY_WAITS", "The callers with this API key have %d calls that wait on this server, the most that "+
				"one key may have; end one first, or call without waiting.", cfg.MaxWaitsPerKey)),
	}
}

// limit bounds how many streams, or waits, each caller has on this server. So an agent that connects again and again
// without leaving, or a program that has gone wild, takes no room from the others. All callers with one key together
// are bounded too, because an unbound key may act under any name.
type limit struct {
	most, mostPerKey int
	// ofCaller and ofKey refuse what is above the bounds.
	ofCaller, ofKey *fault.Fault

	mutex  sync.Mutex
	open   map[limitHolder]int
	ofKeys map[string]int
}

// limitHolder identifies a caller who is counted: an agent under one key, or the operator under one key.
type limitHolder struct{ keyID, agent string }

// newLimit makes a limit. The refusals get the bounds as facts, whose names begin with member.
func newLimit(most, mostPerKey int, member string, ofCaller, ofKey *fault.Fault) *limit {
	return &limit{
		most: most, mostPerKey: mostPerKey, ofCaller: ofCaller.With(member, strconv.Itoa(most)),
		ofKey: ofKey.With(member+"_per_key", strconv.Itoa(mostPerKey)),
		open:  make(map[limitHolder]int), ofKeys: make(map[string]int),
	}
}

// enter counts a stream or a wait of the context's caller, or refuses it. leave must be called once it has ended. What has
// no caller needs no key and is only about the server itself; it is not counted here.
func (l *limit) enter(ctx context.Context) (leave func(), _ error) {
	who, known := caller.From(ctx)
	if !known {
		return func() {}, nil
	}
	holder := limitHolder{keyID: who.KeyID, agent: who.Agent}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.open[holder] >= l.most {
		return nil, l.ofCaller
	}
	if l.ofKeys[holder.keyID] >= l.mostPerKey {
		return nil, l.ofKey
	}
	l.open[holder]++
	l.ofKeys[holder.keyID]++
	return func() { l.leave(holder) }, nil
}

func (l *limit) leave(holder limitHolder) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.open[holder]--; l.open[holder] == 0 {
		delete(l.open, holder)
	}
	if l.ofKeys[holder.keyID]--; l.ofKeys[holder.keyID] == 0 {
		delete(l.ofKeys, holder.keyID)
	}
}
