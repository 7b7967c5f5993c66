package agentchannel

import (
	"sync"
	"time"

	"openintent/fault"
)

// mostAtOnce is how many requests of one agent the door works on at the same time. A page may have some megabytes, so this bounds what one
// agent's requests take of the server's memory. While an answer is sent, the server in front counts it.
const mostAtOnce = 8

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
