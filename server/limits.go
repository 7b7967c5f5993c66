package server

import (
	"context"
	"strconv"
	"sync"

	"openintent/caller"
	"openintent/fault"
)

// limits are the bounds of what callers may have under way at once on this server.
type limits struct{ streams, waits *limit }

func newLimits(cfg Config) limits {
	return limits{
		streams: newLimit(cfg.MaxStreams, cfg.MaxStreamsPerKey, "TOO_MANY_STREAMS", "max_streams", limitWords{
			caller: "This caller has %d streams open on this server, the most that one may have; end one first, or follow a whole " +
				"intent or agent with one stream in place of many channels.",
			key: "The callers with this API key have %d streams open on this server, the most that one key may have; end one first.",
		}),
		waits: newLimit(cfg.MaxWaits, cfg.MaxWaitsPerKey, "TOO_MANY_WAITS", "max_waits", limitWords{
			caller: "This caller has %d calls that wait on this server, the most that one may have; end one first, or call without " +
				"waiting.",
			key: "The callers with this API key have %d calls that wait on this server, the most that one key may have; end one " +
				"first, or call without waiting.",
		}),
	}
}

// limit bounds how many streams, or waits, each caller has on this server. So an agent that connects again and again
// without leaving, or a program that has gone wild, takes no room from the others. All callers with one key together
// are bounded too, because an unbound key may act under any name.
type limit struct {
	most, mostPerKey int
	reason, member   string
	words            limitWords

	mutex  sync.Mutex
	open   map[limitHolder]int
	ofKeys map[string]int
}

// limitWords are the sentences of the refusals, each with room for the bound.
type limitWords struct{ caller, key string }

// limitHolder identifies a caller who is counted: an agent under one key, or the operator under one key.
type limitHolder struct{ keyID, agent string }

func newLimit(most, mostPerKey int, reason, member string, words limitWords) *limit {
	return &limit{
		most: most, mostPerKey: mostPerKey, reason: reason, member: member, words: words,
		open: make(map[limitHolder]int), ofKeys: make(map[string]int),
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
		return nil, fault.New(fault.Quota, l.reason, l.words.caller, l.most).With(l.member, strconv.Itoa(l.most))
	}
	if l.ofKeys[holder.keyID] >= l.mostPerKey {
		return nil, fault.New(fault.Quota, l.reason, l.words.key, l.mostPerKey).
			With(l.member+"_per_key", strconv.Itoa(l.mostPerKey))
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
