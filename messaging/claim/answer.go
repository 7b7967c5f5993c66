package claim

// Answers are the answers to a request that takes an exact number of them, and its claims.
type Answers struct {
	// Wanted is the number of answers that the request takes.
	Wanted int
	// NeedsClaim is true if an answer needs the fence of a claim.
	NeedsClaim bool
	// Closed is true once the request takes no answer any more, even if the answers themselves are gone.
	Closed bool
	// By are the agents that have answered.
	By map[string]struct{}
	// Claims are the claims of the request, kept ones too.
	Claims []*Claim
}

// Full reports whether the request has all its answers.
func (a *Answers) Full() bool { return a.Closed || len(a.By) >= a.Wanted }

// Refuse returns why an agent's answer with a fence is refused; nil if it is taken. It asks in this order: has the request its
// answers, has the agent answered, and does the agent hold a claim, if it needs one. A claim counts that has ended, as long as nobody
// has taken its place.
func (a *Answers) Refuse(agent string, fence int64) error {
	if _, answered := a.By[agent]; answered || a.Full() {
		return ErrAnswered
	}
	if !a.NeedsClaim {
		return nil
	}
	if fence == 0 {
		return ErrRequired
	}
	if own := a.claimOf(agent); own == nil || own.Fence != fence {
		return ErrLost
	}
	return nil
}

// Take notes an agent's answer that was not refused. The answer takes the place of the agent's claim, which it returns.
func (a *Answers) Take(agent string) *Claim {
	own := a.claimOf(agent)
	a.By[agent] = struct{}{}
	for i, c := range a.Claims {
		if c == own {
			a.Claims = append(a.Claims[:i:i], a.Claims[i+1:]...)
			break
		}
	}
	return own
}

func (a *Answers) claimOf(agent string) *Claim {
	for _, c := range a.Claims {
		if c.AgentID == agent {
			return c
		}
	}
	return nil
}
