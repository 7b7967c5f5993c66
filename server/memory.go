package server

import (
	"sync"
	"sync/atomic"
	"time"

	"openintent/fault"
)

// Bounds of the memory that requests take while they arrive and that answers take until their clients have taken them.
const (
	// leastShare is what one key's requests may take at least, and its answers likewise, in bytes. All keys together may
	// take allShares times as much.
	leastShare = 64 << 20
	allShares  = 4
	// strangersShare is what the requests of all callers without a key may take; those of health are a few bytes long.
	strangersShare = 1 << 20
	// countedAnswer is from which size on answers are counted, in bytes; smaller ones are bounded by the number of calls.
	countedAnswer = 4 << 10
)

var (
	errRequestsHeld = fault.New(fault.Quota, "REQUESTS_UNFINISHED",
		"Requests that have not arrived in full take all the memory that there is for them; finish those, or try again in a "+
			"moment.").After(time.Second)
	errAnswersHeld = fault.New(fault.Quota, "ANSWERS_NOT_TAKEN",
		"Answers that their clients have not taken yet fill all the memory that there is for them; read those, or try again "+
			"in a moment.").After(time.Second)
	errRequestSlow = fault.New(fault.TimedOut, "REQUEST_TOO_SLOW",
		"The request did not arrive in full in time; send all of it at once.")
)

// memory counts the bytes that requests and answers under way take, by key and in all.
type memory struct {
	// share is how much one key's requests may take, and its answers likewise; all is the same for all keys.
	share, all int64
	total      holdings

	mutex    sync.Mutex
	accounts map[string]*account
}

// holdings are bytes that are held.
type holdings struct {
	requests, answers atomic.Int64
}

// account is what the calls of one key hold.
type account struct {
	holdings
	of *memory
	// share is how much its requests may take.
	share int64
}

// newMemory makes the count for a server that takes messages of at most so many bytes.
func newMemory(largestMessage int) *memory {
	share := max(int64(leastShare), 2*int64(largestMessage))
	return &memory{share: share, all: allShares * share, accounts: make(map[string]*account)}
}

// account gives a key's account, and under the empty name that of all callers without a key. There are as many as there are
// keys.
func (m *memory) account(keyID string) *account {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	found := m.accounts[keyID]
	if found == nil {
		found = &account{of: m, share: m.share}
		if keyID == "" {
			found.share = strangersShare
		}
		m.accounts[keyID] = found
	}
	return found
}

// holdRequest counts bytes of a request; negative ones when they are free again. It tells whether all is within bounds.
func (a *account) holdRequest(bytes int64) (within bool) {
	own := a.requests.Add(bytes)
	return a.of.total.requests.Add(bytes) <= a.of.all && own <= a.share
}

// holdAnswer counts bytes of an answer; negative ones when the client has taken them.
func (a *account) holdAnswer(bytes int64) {
	a.answers.Add(bytes)
	a.of.total.answers.Add(bytes)
}

// admit refuses a call while answers to its key, or to all, wait for clients that do not take them.
func (a *account) admit() error {
	if own := a.answers.Load(); own > a.of.share || own > 0 && a.of.total.answers.Load() > a.of.all {
		return errAnswersHeld
	}
	return nil
}

// heaviest gives the account whose requests take most.
func (m *memory) heaviest() (found *account) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, a := range m.accounts {
		if found == nil || a.requests.Load() > found.requests.Load() {
			found = a
		}
	}
	return found
}
