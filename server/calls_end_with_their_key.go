package server

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"openintent/internal/fault"
)

// expiries ends waits and streams that began under a token, a certificate or a session of the console, when that is over.
type expiries struct {
	mutex   sync.Mutex
	lasting map[*lastingCall]struct{}
}

// lastingCall is a wait or a stream, and how to end it.
type lastingCall struct {
	key    *apiKey
	cancel context.CancelCauseFunc
}

// watch cancels a call when its key is no longer valid, until it is told to forget the call. A nil key never ends a call.
func (e *expiries) watch(key *apiKey, cancel context.CancelCauseFunc) (forget func()) {
	if key == nil {
		return func() {}
	}
	forgetKey := context.AfterFunc(key.valid, func() { cancel(context.Cause(key.valid)) })
	if key.over == nil && key.session == "" {
		return func() { forgetKey() }
	}
	call := &lastingCall{key, cancel}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.lasting == nil {
		e.lasting = make(map[*lastingCall]struct{})
	}
	e.lasting[call] = struct{}{}
	return func() {
		forgetKey()
		e.mutex.Lock()
		defer e.mutex.Unlock()
		delete(e.lasting, call)
	}
}

// end ends the calls whose tokens and certificates have expired.
func (e *expiries) end(now time.Time) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	for call := range e.lasting {
		if call.key.over != nil && call.key.expired(now) {
			call.cancel(call.key.over)
		}
	}
}

// sessions returns the ids of the sessions under which calls last.
func (e *expiries) sessions() []string {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	ids := make(map[string]bool)
	for call := range e.lasting {
		if call.key.session != "" {
			ids[call.key.session] = true
		}
	}
	return slices.Collect(maps.Keys(ids))
}

// endSessions ends the calls under sessions with these ids.
func (e *expiries) endSessions(ids ...string) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	for call := range e.lasting {
		if call.key.session != "" && slices.Contains(ids, call.key.session) {
			call.cancel(errSessionEnded)
		}
	}
}

// orEnded returns why a key is over, if a call that waited under it was denied; otherwise it returns the call's own error. When an
// invite ends, a guest's stream may notice that the guest is no member any more before it notices that the key is over.
func (k *Keys) orEnded(key *apiKey, err error) error {
	var denied *fault.Fault
	if key == nil || !errors.As(err, &denied) || denied.Kind != fault.Denied {
		return err
	}
	if k.stored != nil && key.over == nil && key.expired(k.stored.now()) {
		key.end(errKeyRemoved)
	}
	if key.valid.Err() != nil {
		return context.Cause(key.valid)
	}
	return err
}
