package channels

import (
	"errors"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"openintent/internal/caller"
	"openintent/internal/fault"
)

const (
	// straysPerMinute is how many addresses that lead nowhere, or where the caller may not go, one API key may ask for in a minute. So nobody
	// finds channels by trying addresses.
	straysPerMinute = 20
	// keptStrays is how many keys' strays are remembered; those of the key that has strayed least of late are forgotten first.
	keptStrays = 10_000
)

var (
	// errAddressLeadsNowhere does not say whether there is a channel that the caller may not see.
	errAddressLeadsNowhere = fault.New(fault.NotFound, "CHANNEL_NOT_FOUND",
		"There is no channel at this address that you may see; ask who gave you the address for an invite, or for access to the channel's intent.")
	errTooManyStrays = fault.New(fault.Quota, "TOO_MANY_WRONG_ADDRESSES",
		"This API key has asked for %d addresses within a minute that lead to no channel that it may see, the most that it may; try again later.",
		straysPerMinute)
)

// strays counts, by key, the addresses that led nowhere. The count is this server's.
type strays struct {
	keys *lru.Cache[string, *rate.Limiter]
}

func newStrays() strays {
	cache, err := lru.New[string, *rate.Limiter](keptStrays)
	if err != nil {
		panic(err) // the size is positive
	}
	return strays{cache}
}

// judge turns the outcome of a look at an address into the caller's answer. Whoever has strayed too often gets the same answer whatever
// stands at the address, unless it was let in there: related says that it sees the channel not only because everyone may.
func (s strays) judge(c caller.Caller, now time.Time, err error, related bool) error {
	var refusal *fault.Fault
	stray := errors.As(err, &refusal) && (refusal.Kind == fault.NotFound || refusal.Kind == fault.Denied)
	if err == nil && related || err != nil && !stray || errors.Is(err, ErrGuestLeft) {
		return err
	}
	limiter := s.of(c.KeyID)
	if left := limiter.TokensAt(now); left < 1 {
		return errTooManyStrays.After(time.Duration((1 - left) / float64(limiter.Limit()) * float64(time.Second)))
	}
	if err == nil {
		return nil
	}
	limiter.AllowN(now, 1)
	return errAddressLeadsNowhere
}

func (s strays) of(key string) *rate.Limiter {
	if limiter, known := s.keys.Get(key); known {
		return limiter
	}
	limiter := rate.NewLimiter(rate.Limit(straysPerMinute)/60, straysPerMinute)
	if before, known, _ := s.keys.PeekOrAdd(key, limiter); known {
		return before
	}
	return limiter
}
