package leases

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/replica"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
)

// house is a database with one intent, and the replicas on it.
type house struct {
	replicas []*replica.Replica
	intent   string
}

func newHouse(t *testing.T, engine database.Engine) *house {
	t.Helper()
	h := &house{replicas: replica.Start(t, engine)}
	r := h.replicas[0]
	intent, err := r.Intents.CreateIntent(r.As("creator"), &openintentv1.CreateIntentRequest{
		Title: "T", Status: openintentv1.IntentStatus_INTENT_STATUS_ACTIVE.Enum(),
	})
	require.NoError(t, err)
	h.intent = intent.GetId()
	return h
}

// giveAccess lets these agents write to the intent, and nobody else.
func (h *house) giveAccess(t *testing.T, agents []string) {
	t.Helper()
	r, list := h.replicas[0], &openintentv1.SetAccessControlRequest{
		IntentId: h.intent, DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED,
	}
	for _, name := range agents {
		list.Entries = append(list.Entries, &openintentv1.AccessEntryInput{
			PrincipalId: name, Permission: openintentv1.Permission_PERMISSION_WRITE,
		})
	}
	_, err := r.Intents.SetAccessControl(r.As("creator"), list)
	require.NoError(t, err)
}

// lastPosition returns the position of the last entry of the log.
func (h *house) lastPosition(r *replica.Replica) (position int64, err error) {
	err = r.Call(func() error {
		return r.DB.ReadStatement(r.Life, func(tx *database.Tx) error {
			return tx.Pipeline(database.ReadValue(&position, "SELECT last_position FROM intent_heads"))
		})
	})
	return position, err
}

// resource is what the agents work on under the lease of a scope. It remembers the highest fence that it saw.
type resource struct {
	mutex sync.Mutex
	scope string
	seen  int64
}

// write takes what an agent writes with a fence, unless the fence is too low, and notes it.
func (f *fight) write(r *resource, on *replica.Replica, agent string, fence int64) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	position, err := f.lastPosition(on)
	if err != nil {
		return err
	}
	accepted := fence >= r.seen
	r.seen = max(r.seen, fence)
	f.marks.add(mark{position, r.scope, Entry{Kind: Wrote, Agent: agent, Fence: fence, Accepted: accepted}})
	return nil
}

// mark is something that the log does not tell, and the position after which it happened. Without a scope it concerns all of them.
type mark struct {
	position int64
	scope    string
	entry    Entry
}

// marks are safe for concurrent use.
type marks struct {
	mutex sync.Mutex
	all   []mark
}

func (m *marks) add(one mark) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.all = append(m.all, one)
}

// histories returns what the log and the marks say of each scope, after a position.
func (f *fight) histories(t *testing.T, after int64) map[string][]Entry {
	t.Helper()
	logged := make(map[string][]mark)
	r := f.replicas[0]
	err := r.DB.ReadStatement(r.Life, func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL: `SELECT position, event_type, payload FROM events
				WHERE position > ? AND event_type IN ('lease_acquired', 'lease_released') ORDER BY position`,
			Args: []any{after},
			Scan: func(row database.Row) error {
				one, err := scan(row)
				logged[one.scope] = append(logged[one.scope], one)
				return err
			},
		})
	})
	require.NoError(t, err)
	found := make(map[string][]Entry)
	for _, on := range f.resources {
		all := logged[on.scope]
		for _, m := range f.marks.all {
			if m.scope == "" || m.scope == on.scope {
				all = append(all, m)
			}
		}
		slices.SortStableFunc(all, func(a, b mark) int { return int(a.position - b.position) })
		for _, m := range all {
			found[on.scope] = append(found[on.scope], m.entry)
		}
	}
	return found
}

func scan(row database.Row) (one mark, err error) {
	var kind string
	var text []byte
	if err := row.Scan(&one.position, &kind, &text); err != nil {
		return one, err
	}
	var said struct {
		Scope  string
		Agent  string `json:"agent_id"`
		Fence  int64
		Reason string
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return one, err
	}
	one.scope = said.Scope
	one.entry = Entry{Kind: Granted, Agent: said.Agent, Fence: said.Fence, Reason: said.Reason}
	if strings.HasSuffix(kind, "released") {
		one.entry.Kind = Ended
	}
	return one, nil
}
