package claim

// Attempt is what a call of ClaimMessage asks for.
type Attempt struct {
	Agent string
	// Fence is the fence of the claim that shall be renewed; 0 asks for a new claim.
	Fence int64
	// Key is the call's idempotency key; empty if it has none.
	Key string
}

// Outcome is what becomes of an attempt that is not refused. One of its fields at most is set; if none is, there is a free place
// for a new claim.
type Outcome struct {
	// Renewed is the claim to renew.
	Renewed *Claim
	// Repeated is the claim that an earlier attempt under the same key made.
	Repeated *Claim
	// Replaced is the ended claim whose place the new one takes.
	Replaced *Claim
}

// Decide decides an attempt by the claims of a message, whose endings are noted. free is how many places no answer takes up.
//
// A claim is renewed with its fence. Without the fence its holder is told that the message is claimed, because another process of
// that agent may hold the claim. But a call that is repeated under the idempotency key of the call that made the claim gets that
// claim. If no place is free, the claim that ended and is the oldest gives its place; an agent's own goes first.
func (a Attempt) Decide(claims []*Claim, free int) (Outcome, error) {
	var own, oldest, next *Claim
	for _, c := range claims {
		switch {
		case c.AgentID == a.Agent:
			own = c
		case c.Ended != "" && (oldest == nil || c.Fence < oldest.Fence):
			oldest = c
		case c.Ended == "" && (next == nil || c.ExpiresAt.Before(next.ExpiresAt)):
			next = c
		}
	}
	stands := own != nil && own.Ended == ""
	switch {
	case a.Fence != 0 && stands && own.Fence == a.Fence:
		return Outcome{Renewed: own}, nil
	case a.Fence != 0:
		return Outcome{}, ErrLost
	case stands && a.Key != "" && own.Key == a.Key:
		return Outcome{Repeated: own}, nil
	case stands:
		return Outcome{}, claimed(own, a.Agent)
	case own != nil:
		return Outcome{Replaced: own}, nil
	case len(claims) < free:
		return Outcome{}, nil
	case oldest != nil:
		return Outcome{Replaced: oldest}, nil
	case next != nil:
		return Outcome{}, claimed(next, a.Agent)
	}
	return Outcome{}, ErrAnswered
}
