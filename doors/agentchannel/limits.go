package agentchannel

import (
	"context"
	"sync"
	"time"

	"openintent/internal/fault"
)

const (
	// mostAtOnce is how many requests of one agent the door has at the same time, those included that wait for their turn.
	mostAtOnce = 8
	// mostMade is how many answers to the callers of one account the door makes at the same time. What is read for an answer takes many times
	// the memory of what it says, so this bounds what one key takes of the server's. While an answer is sent, the account counts it.
	mostMade = 2
)

// errTooMany refuses one more.
var errTooMany = fault.New(fault.Quota, "TOO_MANY_READS",
	"%d requests of this agent are under way at this door, the most that one may have; wait for one of them.", mostAtOnce).After(time.Second)

// underWay counts the requests that the door works on, by agent.
type underWay struct {
	mutex  sync.Mutex
	agents map[string]int
}

// enter counts a request of an agent, or refuses it. leave must be called when the answer is made.
func (u *underWay) enter(agent string) (leave func(), _ error) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.agents == nil {
		u.agents = make(map[string]int)
	}
	if u.agents[agent] >= mostAtOnce {
		return nil, errTooMany
	}
	u.agents[agent]++
	return func() { u.leave(agent) }, nil
}

func (u *underWay) leave(agent string) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	if u.agents[agent]--; u.agents[agent] == 0 {
		delete(u.agents, agent)
	}
}

// makers makes requests of one account wait for each other.
type makers struct {
	mutex sync.Mutex
	lines map[any]*line
}

// line is the line of one account: places to work in, and how many requests stand in it.
type line struct {
	places chan struct{}
	long   int
}

// enter waits until a request may be worked on, or the context ends. done must be called when the answer is made.
func (m *makers) enter(ctx context.Context, account any) (done func(), _ error) {
	if account == nil {
		return func() {}, nil
	}
	l := m.join(account)
	select {
	case l.places <- struct{}{}:
		return func() {
			<-l.places
			m.leave(account, l)
		}, nil
	case <-ctx.Done():
		m.leave(account, l)
		return nil, ctx.Err()
	}
}

func (m *makers) join(account any) *line {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.lines == nil {
		m.lines = make(map[any]*line)
	}
	l := m.lines[account]
	if l == nil {
		l = &line{places: make(chan struct{}, mostMade)}
		m.lines[account] = l
	}
	l.long++
	return l
}

func (m *makers) leave(account any, l *line) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if l.long--; l.long == 0 {
		delete(m.lines, account)
	}
}
