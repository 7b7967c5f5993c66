package repomesh

import (
	"context"
	"sync"
)

// mostLists is how many lists one agent may have gathered at a time on a server. Each looks at many messages for its answer. Further
// ones wait.
const mostLists = 4

// turns bounds the lists that are gathered for each agent.
type turns struct {
	mutex sync.Mutex
	of    map[string]*turn
}

type turn struct {
	places chan struct{}
	// users are those who are in or wait.
	users int
}

// enter waits for a place of an agent. leave must be called unless there is an error.
func (t *turns) enter(ctx context.Context, agent string) (leave func(), _ error) {
	t.mutex.Lock()
	if t.of == nil {
		t.of = make(map[string]*turn)
	}
	own := t.of[agent]
	if own == nil {
		own = &turn{places: make(chan struct{}, mostLists)}
		t.of[agent] = own
	}
	own.users++
	t.mutex.Unlock()
	select {
	case own.places <- struct{}{}:
		return func() {
			<-own.places
			t.gone(agent, own)
		}, nil
	case <-ctx.Done():
		t.gone(agent, own)
		return nil, ctx.Err()
	}
}

// gone forgets an agent that nobody waits for.
func (t *turns) gone(agent string, own *turn) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if own.users--; own.users == 0 {
		delete(t.of, agent)
	}
}
