package repomesh

import (
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/database/migrations"
)

// channel returns the channel of the mesh that a message came to.
func (h *house) channel(t *testing.T, sent object) (channel object) {
	t.Helper()
	h.Operator().REST(t, "GET", "/v1/channels/"+sent["channel_id"].(string), "").Decode(t, &channel)
	return channel
}

// keptFrom requires that an agent can neither change nor delete a channel.
func keptFrom(t *testing.T, agent *harness.Caller, channel object) {
	t.Helper()
	path := "/v1/channels/" + channel["id"].(string)
	for _, attempt := range [][3]string{
		{"PATCH", path, `{"member_policy":"explicit"}`}, {"PATCH", path, `{"status":"closed"}`}, {"PATCH", path, `{"options":{"max_messages":1}}`},
		{"DELETE", path, ""}, {"POST", path + "/members", `{"agent_ids":["eve"]}`},
	} {
		answer := agent.REST(t, attempt[0], attempt[1], attempt[2])
		require.Contains(t, []int{http.StatusForbidden, http.StatusBadRequest, http.StatusNotFound}, answer.Status, "%v: %s", attempt, answer.Body)
	}
	require.Contains(t, string(agent.REST(t, "PATCH", path, `{"member_policy":"explicit"}`).Body), `"channel_manager"`)
}

// Whoever comes first says something in the mesh, and owns nothing of it.
func TestTheMeshsChannelsBelongToTheServer(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, stranger := h.agent("ann"), agent{h.With(harness.BoundKey, "")}
		require.Equal(t, 404, ann.REST(t, "POST", "/v1/intents/repomesh/channels", `{"name":"default","member_policy":"explicit"}`).Status)
		for _, name := range []string{"default", "work"} {
			first := ann.logs(t, object{"channel": name, "payload": object{"content": "I am first."}})
			channel := h.channel(t, first)
			require.Equal(t, []any{"system", "intent"}, []any{channel["created_by"], channel["member_policy"]}, name)
			for _, caller := range []*harness.Caller{ann.Caller, stranger.Caller} {
				keptFrom(t, caller, channel)
			}
			stranger.logs(t, object{"channel": name, "payload": object{"content": "I may speak."}})
			require.Equal(t, 200, h.Operator().REST(t, "PATCH", "/v1/channels/"+channel["id"].(string), `{"options":{"max_messages":500}}`).Status)
		}
		require.Equal(t, 409, ann.REST(t, "POST", "/v1/intents/repomesh/channels", `{"name":"default","member_policy":"explicit"}`).Status)
		var own object
		ann.REST(t, "POST", "/v1/intents/repomesh/channels/mine/messages", `{"payload":{}}`).Decode(t, &own)
		require.Equal(t, "ann", h.channel(t, own)["created_by"], "what an agent makes through the API is its own")
	})
}

// In an intent that somebody else made, the channels that the door makes are the server's, too.
func TestChannelsOfAnotherMeshBelongToTheServer(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		var intent, key object
		h.As("lead").REST(t, "POST", "/v1/intents", `{"title":"Elsewhere"}`).Decode(t, &intent)
		made := h.Operator().REST(t, "POST", "/v1/keys", `{"label":"kim","agents":["kim"],"intents":["`+intent["id"].(string)+`"]}`)
		require.Equal(t, 201, made.Status, "%s", made.Body)
		made.Decode(t, &key)
		kim := agent{h.With(key["secret"].(string), "")}
		channel := h.channel(t, kim.logs(t, object{"payload": object{"content": "I am first."}}))
		require.Equal(t, []any{intent["id"], "system"}, []any{channel["intent_id"], channel["created_by"]})
		keptFrom(t, kim.Caller, channel)
		keptFrom(t, h.As("lead"), channel)
	})
}

// A database whose default channel an agent owns, by a program of before, gets the channel back for the server.
func TestAnOlderMeshIsAdopted(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		channel := h.channel(t, h.agent("ann").logs(t, object{"payload": object{"content": "I am first."}}))
		require.NoError(t, h.Stop())
		db := databasetest.Open(t, database.Config{URL: h.DatabaseURL})
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(
				database.Statement{SQL: "UPDATE channels SET created_by = 'ann' WHERE id = ?", Args: []any{channel["id"]}},
				database.Statement{SQL: adopting(t, tx.Engine())},
			)
		}))
		require.NoError(t, db.Close())
		h.Start(t)
		require.Equal(t, "system", h.channel(t, object{"channel_id": channel["id"]})["created_by"])
		keptFrom(t, h.As("ann"), channel)
	})
}

// adopting returns what the migration does for an older mesh.
func adopting(t *testing.T, engine database.Engine) string {
	text, err := fs.ReadFile(migrations.Current.Files, engine.String()+"/00035_mesh_channel.sql")
	require.NoError(t, err)
	_, up, found := strings.Cut(string(text), "-- +goose Up")
	require.True(t, found)
	up, _, found = strings.Cut(up, "-- +goose Down")
	require.True(t, found)
	return strings.TrimSuffix(strings.TrimSpace(up), ";")
}
