package keys

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
)

// house is a service on a fresh database with a clock that the test moves.
type house struct {
	*Service
	clock *databasetest.Clock
}

func eachHouse(t *testing.T, run func(t *testing.T, h *house)) {
	t.Helper()
	databasetest.EachURL(t, func(t *testing.T, url string) {
		clock := databasetest.NewClock()
		db := databasetest.Open(t, database.Config{URL: url, Clock: clock.Now})
		run(t, &house{Service: New(Config{DB: db}), clock: clock})
	})
}

func asOperator() context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: caller.Operator, IsOperator: true, KeyID: "0123456789abcdef"})
}

// bound describes a key of one agent.
func bound(agent string) *openintentv1.CreateKeyRequest {
	return &openintentv1.CreateKeyRequest{Label: "of " + agent, Agents: []string{agent}}
}

func (h *house) create(t *testing.T, req *openintentv1.CreateKeyRequest) *openintentv1.IssuedKey {
	t.Helper()
	issued, err := h.CreateKey(asOperator(), req)
	require.NoError(t, err)
	return issued
}

func (h *house) rotate(t *testing.T, id string, graceSeconds int32) *openintentv1.IssuedKey {
	t.Helper()
	issued, err := h.RotateKey(asOperator(), &openintentv1.RotateKeyRequest{KeyId: id, GraceSeconds: graceSeconds})
	require.NoError(t, err)
	return issued
}

func (h *house) revoke(t *testing.T, id string) *openintentv1.Key {
	t.Helper()
	revoked, err := h.RevokeKey(asOperator(), &openintentv1.RevokeKeyRequest{KeyId: id})
	require.NoError(t, err)
	return revoked
}

func (h *house) get(t *testing.T, id string) *openintentv1.Key {
	t.Helper()
	found, err := h.GetKey(asOperator(), &openintentv1.GetKeyRequest{KeyId: id})
	require.NoError(t, err)
	return found
}

// ids returns the ids of the keys with a status.
func (h *house) ids(t *testing.T, status openintentv1.KeyStatus) (ids []string) {
	t.Helper()
	listed, err := h.ListKeys(asOperator(), &openintentv1.ListKeysRequest{Status: &status})
	require.NoError(t, err)
	for _, key := range listed.GetKeys() {
		require.Equal(t, status, key.GetStatus())
		ids = append(ids, key.GetId())
	}
	return ids
}

func (h *house) tag(t *testing.T) int64 {
	t.Helper()
	tag, err := h.Tag(context.Background())
	require.NoError(t, err)
	return tag
}

// live returns the keys that are accepted, by id.
func (h *house) live(t *testing.T) map[string]*Key {
	t.Helper()
	keys, tag, err := h.Live(context.Background())
	require.NoError(t, err)
	require.Equal(t, h.tag(t), tag)
	byID := make(map[string]*Key)
	for _, key := range keys {
		byID[key.ID] = key
	}
	return byID
}

func requireFault(t *testing.T, err error, kind fault.Kind, reason string) {
	t.Helper()
	require.Error(t, err)
	refusal := fault.From(err)
	require.Equal(t, reason, refusal.Reason, "%v", err)
	require.Equal(t, kind, refusal.Kind)
}
