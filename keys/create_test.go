package keys

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
)

func TestAKeyIsMadeWithWhatWasAsked(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		before, rate := h.tag(t), int64(7)
		rows, stored := int64(8), int64(9)
		until := h.clock.Now().Add(time.Hour)
		issued := h.create(t, &openintentv1.CreateKeyRequest{
			Label: "the reviewers", Agents: []string{"alice", "bob"}, Roles: []string{"reviewer"}, ReadOnly: true,
			MessagesPerSecond: &rate, RowsPerSecond: &rows, StoredBytesPerSecond: &stored, ExpiresAt: timestamppb.New(until),
		})
		require.True(t, IsSecret(issued.GetSecret()))
		require.NotEqual(t, before, h.tag(t))
		key := h.get(t, issued.GetKey().GetId())
		require.Equal(t, prototext.Format(issued.GetKey()), prototext.Format(key))
		require.Equal(t, "the reviewers", key.GetLabel())
		require.Equal(t, openintentv1.KeyStatus_KEY_STATUS_ACTIVE, key.GetStatus())
		require.Equal(t, []string{"alice", "bob"}, key.GetAgents())
		require.Equal(t, []string{"reviewer"}, key.GetRoles())
		require.True(t, key.GetReadOnly())
		require.False(t, key.GetOperator() || key.GetHuman())
		require.EqualValues(t, 7, key.GetMessagesPerSecond())
		require.Nil(t, key.BytesPerSecond)
		require.EqualValues(t, 8, key.GetRowsPerSecond())
		require.EqualValues(t, 9, key.GetStoredBytesPerSecond())
		require.Equal(t, "configured", key.GetCreatedBy())
		require.Equal(t, h.clock.Now(), key.GetCreatedAt().AsTime())
		require.Equal(t, until, key.GetExpiresAt().AsTime())
		require.EqualValues(t, 1, key.GetVersion())
		require.Nil(t, key.GetLastUsedAt())
		require.Nil(t, key.GetRevokedAt())
		require.Nil(t, key.GetFormerSecretExpiresAt())

		live := h.live(t)[key.GetId()]
		require.Equal(t, DigestOf(issued.GetSecret()), live.Digest)
		require.Nil(t, live.Former)
		require.Equal(t, Settings{
			Agents: []string{"alice", "bob"}, Roles: []string{"reviewer"}, ReadOnly: true,
			MessagesPerSecond: &rate, RowsPerSecond: &rows, StoredBytesPerSecond: &stored,
		}, live.Settings)
	})
}

func TestAKeyThatAKeyOfTheDatabaseMadeSaysSo(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		first := h.create(t, &openintentv1.CreateKeyRequest{Label: "second operator", Operator: true})
		require.True(t, first.GetKey().GetOperator())
		require.Empty(t, first.GetKey().GetAgents())
		ctx := caller.NewContext(context.Background(),
			caller.Caller{Agent: caller.Operator, IsOperator: true, KeyID: first.GetKey().GetId()})
		second, err := h.CreateKey(ctx, &openintentv1.CreateKeyRequest{Label: "a person", Agents: []string{"carol"}, Human: true})
		require.NoError(t, err)
		require.Equal(t, first.GetKey().GetId(), second.GetKey().GetCreatedBy())
		require.True(t, second.GetKey().GetHuman())
	})
}

// The database holds the digest of a secret and nothing else of it.
func TestNoSecretIsStored(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		issued := h.create(t, bound("alice"))
		require.NotContains(t, prototext.Format(issued.GetKey()), issued.GetSecret())
		var stored row
		require.NoError(t, h.db.Read(t.Context(), func(tx *database.Tx) error { return tx.Gorm().Take(&stored).Error }))
		require.Equal(t, DigestOf(issued.GetSecret()), Digest(stored.Digest))
		for _, text := range []string{stored.KeyID, stored.Label, string(stored.Agents), string(stored.Roles), stored.CreatedBy} {
			require.NotContains(t, text, issued.GetSecret()[len(secretPrefix):])
		}
	})
}

func TestKeysThatNobodyMayMake(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for name, c := range map[string]struct {
			req   *openintentv1.CreateKeyRequest
			field string
		}{
			"neither agents nor operator": {&openintentv1.CreateKeyRequest{Label: "x"}, "agents"},
			"an operator with agents":     {&openintentv1.CreateKeyRequest{Label: "x", Operator: true, Agents: []string{"a"}}, "operator"},
			"an operator that only reads": {&openintentv1.CreateKeyRequest{Label: "x", Operator: true, ReadOnly: true}, "read_only"},
			"an operator that is human":   {&openintentv1.CreateKeyRequest{Label: "x", Operator: true, Human: true}, "human"},
			"a human without a name":      {&openintentv1.CreateKeyRequest{Label: "x", Human: true}, "agents"},
			"a human with two names":      {&openintentv1.CreateKeyRequest{Label: "x", Human: true, Agents: []string{"a", "b"}}, "human"},
			"the operator's name":         {bound(caller.Operator), "agents[0]"},
			"everybody":                   {bound(caller.Broadcast), "agents[0]"},
			"a role as an agent":          {bound("role:reviewer"), "agents[0]"},
			"an agent twice":              {&openintentv1.CreateKeyRequest{Label: "x", Agents: []string{"a", "a"}}, "agents"},
			"an empty role":               {&openintentv1.CreateKeyRequest{Label: "x", Agents: []string{"a"}, Roles: []string{""}}, "roles[0]"},
			"a role with a bell":          {&openintentv1.CreateKeyRequest{Label: "x", Agents: []string{"a"}, Roles: []string{"b", "\a"}}, "roles[1]"},
			"a label with U+0000":         {&openintentv1.CreateKeyRequest{Label: "a\x00b", Agents: []string{"a"}}, "label"},
			"an end in the past": {&openintentv1.CreateKeyRequest{Label: "x", Agents: []string{"a"},
				ExpiresAt: timestamppb.New(h.clock.Now())}, "expires_at"},
			"an end that is no time": {&openintentv1.CreateKeyRequest{Label: "x", Agents: []string{"a"},
				ExpiresAt: &timestamppb.Timestamp{Seconds: 1 << 60}}, "expires_at"},
		} {
			_, err := h.CreateKey(asOperator(), c.req)
			requireFault(t, err, fault.Invalid, "INVALID_FIELD")
			require.Equal(t, c.field, fault.From(err).Fields[0].Path, name)
		}
		require.Empty(t, h.live(t))
	})
}

func TestOnlyTheOperatorManagesKeys(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		key := h.create(t, bound("alice")).GetKey()
		for name, ctx := range map[string]context.Context{
			"the key's agent":                    caller.NewContext(context.Background(), caller.Caller{Agent: "alice", KeyID: key.GetId(), KeyAgents: []string{"alice"}}),
			"an unbound key that names an agent": caller.NewContext(context.Background(), caller.Caller{Agent: "alice", KeyID: "x"}),
		} {
			_, created := h.CreateKey(ctx, bound("alice"))
			_, listed := h.ListKeys(ctx, &openintentv1.ListKeysRequest{})
			_, got := h.GetKey(ctx, &openintentv1.GetKeyRequest{KeyId: key.GetId()})
			_, revoked := h.RevokeKey(ctx, &openintentv1.RevokeKeyRequest{KeyId: key.GetId()})
			_, rotated := h.RotateKey(ctx, &openintentv1.RotateKeyRequest{KeyId: key.GetId()})
			for _, err := range []error{created, listed, got, revoked, rotated} {
				require.Equal(t, "NOT_OPERATOR", fault.From(err).Reason, name)
			}
		}
		_, err := h.ListKeys(context.Background(), &openintentv1.ListKeysRequest{})
		requireFault(t, err, fault.Unauthenticated, "UNAUTHENTICATED")
		require.Equal(t, prototext.Format(key), prototext.Format(h.get(t, key.GetId())))
	})
}

func TestLiveKeysAreBounded(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		key := h.create(t, bound("alice")).GetKey().GetId()
		const fill = `WITH RECURSIVE numbers (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
			INSERT INTO api_keys (key_id, label, digest, operator, agents, roles, read_only, human, created_at, created_by, version)
			SELECT key_id || '-' || n, label, ` + "%s" + `, operator, agents, roles, read_only, human, created_at, created_by, version
			FROM numbers, api_keys WHERE key_id = ?`
		digest := "CAST('digest ' || n AS blob)"
		if h.db.Engine() == database.PostgreSQL {
			digest = "convert_to('digest ' || n, 'UTF8')"
		}
		require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{SQL: strings.Replace(fill, "%s", digest, 1), Args: []any{MaxLive, key}})
		}))
		_, err := h.CreateKey(asOperator(), bound("bob"))
		requireFault(t, err, fault.Quota, "TOO_MANY_KEYS")
		h.revoke(t, key)
		h.create(t, bound("bob"))
		_, err = h.CreateKey(asOperator(), bound("bob"))
		requireFault(t, err, fault.Quota, "TOO_MANY_KEYS")
		require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error { // an invite takes no place of a key
			return tx.Pipeline(database.Statement{
				SQL:  "UPDATE api_keys SET channel_id = 'ch_1', intent_no = 1, max_agents = 1, invited_by = 'a', invited_by_key = 'b' WHERE key_id = ?",
				Args: []any{key + "-2"},
			})
		}))
		h.create(t, bound("bob"))
	})
}

func TestAKeyHasTheScopeThatItNames(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		placed := bound("alice")
		placed.Intents, placed.Channels = []string{"i", "j"}, []string{"c"}
		made := h.create(t, placed).GetKey()
		require.Equal(t, placed.Intents, made.GetIntents())
		require.Equal(t, made.GetChannels(), h.get(t, made.GetId()).GetChannels())
		require.Equal(t, caller.NewScope(placed.Intents, placed.Channels), h.live(t)[made.GetId()].Scope)
		free := h.create(t, bound("bob")).GetKey().GetId()
		require.Nil(t, h.live(t)[free].Scope)
		for field, wrong := range map[string]*openintentv1.CreateKeyRequest{
			"operator":    {Label: "x", Operator: true, Channels: []string{"c"}},
			"intents[1]":  {Label: "x", Agents: []string{"a"}, Intents: []string{"i", "a\x00"}},
			"channels[0]": {Label: "x", Agents: []string{"a"}, Channels: []string{"a\nb"}},
			"agents[0]":   {Label: "x", Agents: []string{"guest-a"}},
		} {
			_, err := h.CreateKey(asOperator(), wrong)
			requireFault(t, err, fault.Invalid, "INVALID_FIELD")
			require.Equal(t, field, fault.From(err).Fields[0].Path)
		}
	})
}
