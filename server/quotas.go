package server

import (
	lru "github.com/hashicorp/golang-lru/v2"

	"openintent/internal/caller"
)

// mostQuotas is how many callers without a key have their use remembered. The use of others is forgotten, from the caller on
// that has sent nothing for longest; it may then send the amount of one second at once.
const mostQuotas = 10_000

// quotas are those of callers that show a token or a certificate. All that one of them shows share one quota.
type quotas struct {
	rates caller.Rates
	known *lru.Cache[string, *caller.Quota]
}

func newQuotas(rates caller.Rates) *quotas {
	known, err := lru.New[string, *caller.Quota](mostQuotas)
	if err != nil {
		panic(err) // the size is positive
	}
	return &quotas{rates: rates, known: known}
}

// of returns the quota of a caller; nil if there is no bound.
func (q *quotas) of(id string) *caller.Quota {
	if q.rates == (caller.Rates{}) {
		return nil
	}
	if quota, ok := q.known.Get(id); ok {
		return quota
	}
	quota := caller.NewQuota(q.rates)
	if before, already, _ := q.known.PeekOrAdd(id, quota); already {
		return before
	}
	return quota
}
