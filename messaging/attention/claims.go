package attention

import (
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/claim"
	"openintent/messaging/message"
)

// Claim is one agent's hold of a message. Its fence is 0 where nobody may see it.
type Claim struct {
	Holder    string
	Fence     int64
	ExpiresAt time.Time
}

// Claims are the claims of one message. Those whose time is over do not count.
type Claims []Claim

// claimsFrom returns claims that stand.
func claimsFrom(standing []*claim.Claim) (claims Claims) {
	for _, c := range standing {
		claims = append(claims, Claim{c.AgentID, c.Fence, c.ExpiresAt})
	}
	return claims
}

// of returns the agent's own claim; nil if it has none.
func (c Claims) of(agent string, now time.Time) *Claim {
	for i := range c {
		if c[i].Holder == agent && now.Before(c[i].ExpiresAt) {
			return &c[i]
		}
	}
	return nil
}

// standing counts the claims whose time is not over, and returns the one that ends last; nil if there is none.
func (c Claims) standing(now time.Time) (count int, last *Claim) {
	for i := range c {
		if !now.Before(c[i].ExpiresAt) {
			continue
		}
		if count++; last == nil || c[i].ExpiresAt.After(last.ExpiresAt) {
			last = &c[i]
		}
	}
	return count, last
}

// takenFrom reports whether others hold as many claims as the message takes, and the agent none. An answer has taken a claim's place.
func (c Claims) takenFrom(agent string, m *message.Message, answers int, now time.Time) bool {
	count, _ := c.standing(now)
	return count > 0 && count+answers >= max(1, m.ExactAnswers()) && c.of(agent, now) == nil
}

// withoutFences returns the claims as somebody else than a holder may see them.
func (c Claims) withoutFences() Claims {
	for i := range c {
		c[i].Fence = 0
	}
	return c
}

// toWire returns the claim that an agent is shown. The fence is for the holder alone.
func (c Claims) toWire(agent string, now time.Time) *openintentv1.AttentionClaim {
	shown := c.of(agent, now)
	own := shown != nil
	if !own {
		_, shown = c.standing(now)
	}
	if shown == nil {
		return nil
	}
	wire := &openintentv1.AttentionClaim{Holder: shown.Holder, ExpiresInMs: shown.ExpiresAt.Sub(now).Milliseconds()}
	if own && shown.Fence != 0 {
		wire.Fence = &shown.Fence
	}
	return wire
}
