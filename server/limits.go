package server

import (
	"context"
	"strconv"
	"sync"

	"openintent/caller"
	"openintent/fault"
)

// streamLimits bounds how many streams each caller has open on this server. So an agent that connects again and again
// without leaving, or a program that has gone wild, takes no room from the others. All callers with one key together
// are bounded too, because an unbound key may act under any name.
type streamLimits struct {
	most, mostPerKey int

	mutex  sync.Mutex
	open   map[streamHolder]int
	ofKeys map[string]int
}

// streamHolder identifies a caller whose streams are counted: an agent under one key, or the operator under one key.
type streamHolder struct{ keyID, agent string }

func newStreamLimits(most, mostPerKey int) *streamLimits {
	return &streamLimits{most: most, mostPerKey: mostPerKey, open: make(map[streamHolder]int), ofKeys: make(map[string]int)}
}

// enter counts a stream of the context's caller, or refuses it. leave must be called once the stream has ended. A
// stream without a caller needs no key and is only about the server itself; it is not counted here.
func (l *streamLimits) enter(ctx context.Context) (leave func(), _ error) {
	who, known := caller.From(ctx)
	if !known {
		return func() {}, nil
	}
	holder := streamHolder{keyID: who.KeyID, agent: who.Agent}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.open[holder] >= l.most {
		return nil, l.refusal()
	}
	if l.ofKeys[holder.keyID] >= l.mostPerKey {
		return nil, l.refusalOfKey()
	}
	l.open[holder]++
	l.ofKeys[holder.keyID]++
	return func() { l.leave(holder) }, nil
}

func (l *streamLimits) leave(holder streamHolder) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.open[holder]--; l.open[holder] == 0 {
		delete(l.open, holder)
	}
	if l.ofKeys[holder.keyID]--; l.ofKeys[holder.keyID] == 0 {
		delete(l.ofKeys, holder.keyID)
	}
}

func (l *streamLimits) refusal() error {
	return fault.New(fault.Quota, "TOO_MANY_STREAMS",
		"This caller has %d streams open on this server, the most that one may have; end one first, or follow a whole "+
			"intent or agent with one stream in place of many channels.", l.most,
	).With("max_streams", strconv.Itoa(l.most))
}

func (l *streamLimits) refusalOfKey() error {
	return fault.New(fault.Quota, "TOO_MANY_STREAMS",
		"The callers with this API key have %d streams open on this server, the most that one key may have; end one first.",
		l.mostPerKey,
	).With("max_streams_per_key", strconv.Itoa(l.mostPerKey))
}
