package server

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"openintent/internal/fault"
	"openintent/reach"
)

// These bound the memory that requests take while they arrive, and that answers take until their clients have read
// them.
const (
	// leastShare is the smallest bound, in bytes, on what one key's requests may take, and likewise its answers. All
	// keys together may take allShares times as much as one.
	leastShare = 64 << 20
	allShares  = 4
	// strangersShare is how many bytes the requests of all callers without a key may take together; health requests
	// are a few bytes long.
	strangersShare = 1 << 20
	// countedAnswer is the size, in bytes, from which answers are counted; the number of calls bounds the smaller
	// ones.
	countedAnswer = 4 << 10
)

var (
	errRequestsHeld = fault.New(fault.Quota, "REQUESTS_UNFINISHED",
		"Requests that have not arrived in full take all the memory that is set aside for them; finish those, or try again in a "+
			"moment.").After(time.Second)
	errAnswersHeld = fault.New(fault.Quota, "ANSWERS_NOT_TAKEN",
		"Answers that their clients have not read yet take all the memory that is set aside for them; read those, or try again "+
			"in a moment.").After(time.Second)
	errRequestSlow = fault.New(fault.TimedOut, "REQUEST_TOO_SLOW",
		"The request did not arrive in full in time; send all of it without a pause.")
)

// memory counts the bytes that requests and answers in progress take, per key and in total.
type memory struct {
	// share is how many bytes one key's requests may take, and likewise its answers; all is the bound for all keys
	// together.
	share, all int64
	total      holdings

	mutex sync.Mutex
	// accounts are those of the calls under way. An account is forgotten when no call has it any more, because callers that show
	// tokens may be any number.
	accounts map[string]weak.Pointer[account]
}

// holdings counts the bytes that are held.
type holdings struct {
	requests, answers atomic.Int64
}

// account counts what the calls of one key hold.
type account struct {
	holdings
	of *memory
	// share is how many bytes its requests may take.
	share int64
	// heard is where the last agent that called with the key notes its time.
	heard atomic.Pointer[reach.Heard]
}

// newMemory makes the counters for a server that accepts messages of at most largestMessage bytes.
func newMemory(largestMessage int) *memory {
	share := max(int64(leastShare), 2*int64(largestMessage))
	return &memory{share: share, all: allShares * share, accounts: make(map[string]weak.Pointer[account])}
}

// account returns a key's account; the empty name stands for all callers without a key.
func (m *memory) account(keyID string) *account {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	found := m.accounts[keyID].Value()
	if found == nil {
		found = &account{of: m, share: m.share}
		if keyID == "" {
			found.share = strangersShare
		}
		m.accounts[keyID] = weak.Make(found)
		runtime.AddCleanup(found, m.forget, keyID)
	}
	return found
}

// forget drops an account that no call has any more, unless another one has taken its place.
func (m *memory) forget(keyID string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.accounts[keyID].Value() == nil {
		delete(m.accounts, keyID)
	}
}

// holdRequest counts bytes of a request; a negative number releases them. It reports whether everything is within
// bounds.
func (a *account) holdRequest(bytes int64) (within bool) {
	own := a.requests.Add(bytes)
	return a.of.total.requests.Add(bytes) <= a.of.all && own <= a.share
}

// holdAnswer counts bytes of an answer; a negative number means that the client has read them.
func (a *account) holdAnswer(bytes int64) {
	a.answers.Add(bytes)
	a.of.total.answers.Add(bytes)
}

// admit refuses a call while too many answers, to its key or to all keys, wait for clients that do not read them.
func (a *account) admit() error {
	if own := a.answers.Load(); own > a.of.share || own > 0 && a.of.total.answers.Load() > a.of.all {
		return errAnswersHeld
	}
	return nil
}

// heaviest returns the account whose requests take most.
func (m *memory) heaviest() (found *account) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, kept := range m.accounts {
		a := kept.Value()
		if a == nil {
			continue
		}
		if found == nil || a.requests.Load() > found.requests.Load() {
			found = a
		}
	}
	return found
}
