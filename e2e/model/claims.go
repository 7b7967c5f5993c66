package model

import (
	"slices"
	"time"
)

// Claimable is a message with its claims: a request to the workers or to one of them, or a note to everyone.
type Claimable struct {
	ID, Sender string
	// To is the worker that is asked, or empty if all workers are, or everyone is told.
	To      string
	Request bool
	// Wanted is the exact number of answers that the request takes; 0 if any number.
	Wanted    int
	ExpiresAt time.Time // zero: never
	Deleted   bool
	// Answers are the agents that have answered.
	Answers []string
	// Claims stand, or are over and keep their places, in the order of their fences.
	Claims []*Claim
	// Told are the claims and releases that the log must tell of, in order.
	Told []string
}

// Claim is an agent's hold of a message.
type Claim struct {
	Agent, Key string
	Fence      int64
	ExpiresAt  time.Time
	over       bool
}

// Claims are the messages of one channel, their claims, and the agents that work there.
type Claims struct {
	Now      time.Time
	Workers  []string
	Messages []*Claimable
	// Expired counts the claims that time has ended.
	Expired int
	last    int64 // the highest fence
}

// Set moves the clock, which never goes back. Claims whose time is over end; those without which nobody may answer keep their places.
func (w *Claims) Set(now time.Time) {
	w.Now = now
	for _, m := range w.Messages {
		for _, c := range m.Claims {
			if !c.over && !now.Before(c.ExpiresAt) {
				c.over = true
				w.Expired++
			}
		}
		m.Claims = slices.DeleteFunc(m.Claims, func(c *Claim) bool { return c.over && !m.needsClaim() })
	}
}

// Deadlines returns the future moments at which claims and requests expire, earliest first.
func (w *Claims) Deadlines() (all []time.Time) {
	for _, m := range w.Messages {
		all = append(all, m.ExpiresAt)
		for _, c := range m.Claims {
			all = append(all, c.ExpiresAt)
		}
	}
	all = slices.DeleteFunc(all, func(at time.Time) bool { return !at.After(w.Now) })
	slices.SortFunc(all, time.Time.Compare)
	return all
}

// Standing returns the claims of a message that stand.
func (w *Claims) Standing(m *Claimable) []*Claim {
	if m.Deleted || w.late(m) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(m.Claims), func(c *Claim) bool { return c.over || slices.Contains(m.Answers, c.Agent) })
}

// Claim decides a call of ClaimMessage. Without a refusal it renews, returns or makes the claim; a new one gets its fence from
// Granted.
func (w *Claims) Claim(agent string, m *Claimable, fence int64, key string, lasting time.Duration) (*Claim, Outcome) {
	if refused := w.MayTake(agent, m); refused != OK {
		return nil, refused
	}
	own := m.claimOf(agent)
	stands := own != nil && !own.over
	switch {
	case m.Request && (slices.Contains(m.Answers, agent) || m.full()):
		return nil, "ANSWERED"
	case fence != 0 && stands && own.Fence == fence:
		own.ExpiresAt = w.until(m, lasting)
		return own, OK
	case fence != 0:
		return nil, "CLAIM_LOST"
	case stands && key != "" && key == own.Key:
		return own, OK
	case stands:
		return nil, "CLAIMED"
	case own != nil:
		m.drop(own)
	case len(w.Standing(m)) >= m.places():
		return nil, "CLAIMED"
	case len(m.Claims) >= m.places():
		m.drop(m.Claims[slices.IndexFunc(m.Claims, func(c *Claim) bool { return c.over })])
	}
	made := &Claim{Agent: agent, Key: key, ExpiresAt: w.until(m, lasting)}
	m.Claims = append(m.Claims, made)
	m.Told = append(m.Told, "claimed "+agent)
	return made, OK
}

// Granted notes the fence that the server gave a new claim. It reports whether the fence rises.
func (w *Claims) Granted(c *Claim, fence int64) (rises bool) {
	rises = fence > w.last
	c.Fence, w.last = fence, fence
	return rises
}

// Release ends a claim with its fence.
func (w *Claims) Release(agent string, m *Claimable, fence int64) Outcome {
	if !w.finds(agent, m) {
		return "MESSAGE_NOT_FOUND"
	}
	for _, c := range w.Standing(m) {
		if c.Agent == agent && c.Fence == fence {
			m.drop(c)
			m.Told = append(m.Told, "released "+agent)
			return OK
		}
	}
	return "CLAIM_LOST"
}

// Answer decides an answer to a request. One to all workers that takes an exact number of answers takes each from the holder of a claim,
// also after the claim's time as long as nobody took its place. One worker needs no claim.
func (w *Claims) Answer(agent string, m *Claimable, fence int64) Outcome {
	switch {
	case !w.finds(agent, m):
		return "MESSAGE_NOT_FOUND"
	case agent == m.Sender:
		return "OWN_REQUEST"
	case m.Deleted:
		return "MESSAGE_DELETED"
	case w.late(m):
		return "MESSAGE_EXPIRED"
	}
	own := m.claimOf(agent)
	if m.Wanted > 0 {
		switch {
		case slices.Contains(m.Answers, agent), m.full():
			return "ANSWERED"
		case !m.needsClaim():
		case fence == 0:
			return "CLAIM_REQUIRED"
		case own == nil || own.Fence != fence:
			return "CLAIM_LOST"
		}
	}
	m.drop(own) // the answer takes its place
	m.Answers = append(m.Answers, agent)
	return OK
}

// MayTake decides who may claim a message at all.
func (w *Claims) MayTake(agent string, m *Claimable) Outcome {
	switch {
	case !w.finds(agent, m):
		return "MESSAGE_NOT_FOUND"
	case m.Request && agent == m.Sender:
		return "OWN_REQUEST"
	case m.Deleted:
		return "MESSAGE_DELETED"
	case w.late(m):
		return "MESSAGE_EXPIRED"
	}
	return OK
}

// finds reports whether an agent may see a message.
func (w *Claims) finds(agent string, m *Claimable) bool {
	switch {
	case agent == m.Sender || !m.Request:
		return true
	case m.To != "":
		return agent == m.To
	}
	return slices.Contains(w.Workers, agent)
}

func (w *Claims) late(m *Claimable) bool { return !m.ExpiresAt.IsZero() && !w.Now.Before(m.ExpiresAt) }

func (w *Claims) until(m *Claimable, lasting time.Duration) time.Time {
	end := w.Now.Add(lasting)
	if !m.ExpiresAt.IsZero() && m.ExpiresAt.Before(end) {
		return m.ExpiresAt
	}
	return end
}

// places returns how many claims a message takes beside its answers.
func (m *Claimable) places() int { return max(m.Wanted-len(m.Answers), 1) }

// needsClaim reports whether only the holder of a claim may answer.
func (m *Claimable) needsClaim() bool { return m.Wanted > 0 && m.To == "" }

// full reports whether a request has the exact number of answers that it takes.
func (m *Claimable) full() bool { return m.Wanted > 0 && len(m.Answers) >= m.Wanted }

func (m *Claimable) claimOf(agent string) *Claim {
	for _, c := range m.Claims {
		if c.Agent == agent {
			return c
		}
	}
	return nil
}

func (m *Claimable) drop(c *Claim) {
	m.Claims = slices.DeleteFunc(m.Claims, func(other *Claim) bool { return other == c })
}
