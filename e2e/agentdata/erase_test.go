package agentdata

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// words finds the tables in which a text occurs: in any column, whatever its type.
func words(t *testing.T, url, text string) (tables []string) {
	t.Helper()
	require.NoError(t, database.ReadSnapshot(t.Context(), url, func(tx *database.Tx) error {
		query, has := "SELECT t.name, c.name, '' FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name <> 'search_words'"+
			" AND c.name <> 'rank'", func(column, _ string) string {
			return `instr(CAST("` + column + `" AS blob), CAST(? AS blob)) > 0`
		}
		if tx.Engine() == database.PostgreSQL {
			query, has = "SELECT table_name::text, column_name::text, data_type::text FROM information_schema.columns WHERE table_schema = current_schema()",
				func(column, kind string) string {
					if kind == "bytea" {
						return `position(convert_to(?, 'UTF8') in "` + column + `") > 0`
					}
					return `position(? in "` + column + `"::text) > 0`
				}
		}
		var statements []database.Statement
		if err := tx.Pipeline(database.Statement{SQL: query, Scan: func(row database.Row) error {
			var table, column, kind string
			err := row.Scan(&table, &column, &kind)
			statements = append(statements, database.ReadValues(&tables,
				"SELECT DISTINCT '"+table+"' FROM "+table+" WHERE "+has(column, kind), text))
			return err
		}}); err != nil {
			return err
		}
		return tx.Pipeline(statements...)
	}))
	return database.Distinct(tables)
}

// line is a line of an export.
type line struct {
	Table     string         `json:"table"`
	IntentID  string         `json:"intent_id"`
	ChannelID string         `json:"channel_id"`
	Row       map[string]any `json:"row"`
}

// export exports dora's data as the page shows, and returns it as text and by table.
func export(t *testing.T, url string) (text string, byTable map[string][]line) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "dora.jsonl")
	out, complaints, err := follow(t, "export", url, "AGENT=dora", "FILE="+file)
	require.NoError(t, err, complaints)
	require.Regexp(t, `^exported \d+ rows of dora into `, out)
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	byTable = make(map[string][]line)
	for text := range strings.Lines(string(content)) {
		var one line
		require.NoError(t, json.Unmarshal([]byte(text), &one), text)
		byTable[one.Table] = append(byTable[one.Table], one)
	}
	return string(content), byTable
}

// erase runs the erasure that the page shows, and returns what it prints.
func erase(t *testing.T, url string) (out string) {
	t.Helper()
	out, complaints, err := follow(t, "erase", url, "AGENT=dora")
	require.NoError(t, err, complaints)
	return out
}

// An export has everything of the agent, nothing that is private to others, and no secret.
func TestAnExportHasAllOfTheAgent(t *testing.T) {
	harness.EachProcess(t, func(t *testing.T, server *harness.Server) {
		w := fill(t, server)
		w.settle()
		text, byTable := export(t, w.DatabaseURL)
		for _, table := range []string{
			"intents", "events", "assignments", "access_entries", "coordinators", "agents", "channels", "members", "messages",
			"message_revisions", "open_requests", "receipts", "idempotency_keys", "audiences", "offers", "dispositions",
			"annotations", "reactions", "claims", "obligations", "leases", "subscriptions", "subscription_positions", "subscription_deliveries",
			"api_keys",
		} {
			assert.NotEmpty(t, byTable[table], "no rows of %s", table)
		}
		for _, said := range []string{
			"erasedname", "erasedskill", "erasedendpoint", "erasedabout", "erasednote", "erasedfirst", "erasedsecond", "erasedmeta",
			"erasedsubject", "erasedkeyed", "erasedkey", "erasedquestion", "erasedowed", "erasedlate", "eraseddocument", "erasedclub",
			"erasedclosed", "erasedevicted", "keptaudited", "erasedold", "erasedanswer", "erasedremark", "erasedeta", "erasedexcuse",
			"eraseddischarge", "erasedclaim", "erasedwork", "erasedhook", "keptreason", "theirsdirect",
		} {
			assert.Contains(t, text, said)
		}
		for _, private := range []string{"theirsprivate", "theirsnotice", "theirsremark", "theirsexact", "others", w.secret} {
			assert.NotContains(t, text, private)
		}
		require.NotEmpty(t, w.secret)
		for _, m := range byTable["messages"] {
			assert.True(t, m.Row["sender"] == "dora" || m.Row["target"] == "dora", "%v", m)
			assert.NotEmpty(t, m.IntentID)
			assert.Regexp(t, `^chan_`, m.ChannelID)
			assert.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`, m.Row["created_at"])
		}
		direct, _, err := follow(t, "export", w.DatabaseURL, "AGENT=dora", "FILE=")
		require.NoError(t, err)
		assert.Contains(t, direct, "erasedname", "without a file it goes to standard output")
	})
}

// After an erasure, the agent's words are in events and audited messages alone. The database is whole, events verify, and others go on.
// On PostgreSQL a server runs meanwhile.
func TestAnErasureLeavesOnlyWhatEventsKeep(t *testing.T) {
	harness.EachProcess(t, func(t *testing.T, server *harness.Server) {
		w := fill(t, server)
		w.settle()
		_, complaints, err := follow(t, "erase", w.DatabaseURL, "AGENT=dora")
		require.Error(t, err)
		live := !strings.HasPrefix(w.DatabaseURL, "sqlite:")
		if live {
			require.Contains(t, complaints, "deregister it first")
		} else {
			require.Contains(t, complaints, "another process has")
		}
		w.depart()
		before := ""
		for _, path := range shown { // so that the server has read it
			before += string(w.Call("alice", "GET", path, "").Body)
		}
		require.Contains(t, before, "erasedsecond")
		stream := w.watch()
		if !live {
			require.NoError(t, w.Stop())
		}
		require.NotEmpty(t, words(t, w.DatabaseURL, "erased"))

		out := erase(t, w.DatabaseURL)
		require.Regexp(t, `erased  messages: the contents of those that it sent \(rows: 12\)\n`, out)
		require.Contains(t, out, "audited channel ledger ("+w.IDs["ledger"]+"): events have copies (rows: 1)\n")
		require.Contains(t, out, "openintent keys revoke "+w.IDs["key"])
		require.Regexp(t, `stays   events: .* \(rows: \d+\)`, out)
		require.Empty(t, words(t, w.DatabaseURL, "erased"))
		for _, table := range words(t, w.DatabaseURL, "kept") {
			require.Contains(t, []string{"events", "messages", "search_words", "search_words_data", "search_words_idx"}, table)
		}
		requireOverwritten(t, w)
		harness.RequireWhole(t, w.DatabaseURL)
		again := erase(t, w.DatabaseURL)
		require.Regexp(t, `^(nothing was left to erase|erased  agent_reach: .* \(rows: 1\))\nstays `, again) // a server writes later when it heard dora

		if !live {
			w.Start(t)
		}
		w.requireOthersGoOn(stream)
		harness.RequireWhole(t, w.DatabaseURL)
	})
}

// requireOverwritten requires that a SQLite file has none of the words, not even where deleted rows were.
func requireOverwritten(t *testing.T, w *world) {
	t.Helper()
	path, sqlite := strings.CutPrefix(w.DatabaseURL, "sqlite:")
	if !sqlite {
		return
	}
	for _, name := range []string{path, path + "-wal"} {
		content, err := os.ReadFile(name)
		if !os.IsNotExist(err) {
			require.NoError(t, err)
		}
		found := regexp.MustCompile(`erased[a-z]+`).FindAll(content, 5)
		require.Empty(t, found, "%s: %s", name, found)
	}
}

// watch follows the channel talk as alice, up to where it is now.
func (w *world) watch() openintentv1.MessageService_SubscribeClient {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	w.t.Cleanup(cancel)
	stream, err := w.As("alice").Messages.Subscribe(ctx, &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: w.IDs["talk"]}, AfterPosition: proto.Int64(0),
		Include: []string{"annotations"},
	})
	require.NoError(w.t, err)
	return stream
}

// shown are calls of alice that show something of dora.
var shown = []string{
	"channels/{talk}/messages?limit=100", "channels/{club}/messages", "channels/{closing}/messages", "channels/{past}/messages",
	"channels/{talk}/messages/{first}", "channels/{talk}/messages/{first}/revisions", "channels/{talk}/messages/{signal}/reactions",
	"agents/alice/inbox?limit=100", "agents/dora", "channels/{talk}/messages?documents=true", "subscriptions/{others}/deliveries?limit=100",
}

// requireOthersGoOn requires that a running server shows nothing of what was erased, and that others read, search and send.
func (w *world) requireOthersGoOn(before openintentv1.MessageService_SubscribeClient) {
	t := w.t
	t.Helper()
	for _, path := range shown {
		answer := w.Call("alice", "GET", path, "")
		assert.NotContains(t, string(answer.Body), "erased", path)
	}
	assert.NotContains(t, string(w.Call("alice", "GET", "messages/search?q=erasedsecond", "").Body), "msg_")
	assert.Contains(t, string(w.Call("alice", "GET", "messages/search?q=keptaudited", "").Body), "msg_")
	verified := string(w.Call("alice", "GET", "intents/{intent}/events/verify", "").Body)
	assert.Contains(t, strings.ReplaceAll(verified, " ", ""), `"valid":true`)
	w.Make("new", "alice", "channels/{talk}/messages", `{"message_type": "notify", "to": "*", "payload": {"text": "onward"}}`)
	for _, stream := range []openintentv1.MessageService_SubscribeClient{before, w.watch()} {
		if stream == before && strings.HasPrefix(w.DatabaseURL, "sqlite:") {
			continue // it ended with the server
		}
		deletions := 0
		for got := ""; got != w.IDs["new"]; {
			event, err := stream.Recv()
			require.NoError(t, err)
			if got = event.GetMessage().GetId(); event.GetAnnotation().GetType() == "message_deleted" {
				deletions++
				require.Equal(t, "operator", event.GetAnnotation().GetAgentId())
			}
		}
		require.Equal(t, 7, deletions, "of first, keyed, open, owed, settled, document and answer; the time of late is over")
	}
}

// An erasure that is killed leaves a whole database, and the next one completes it.
func TestAKilledErasureIsCompleted(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		server := harness.StartProcess(t, harness.Options{URL: url})
		w := &world{Making: harness.NewMaking(t, server), t: t}
		w.Make("intent", "alice", "intents", `{"title": "Report", "status": "active"}`)
		w.Make("talk", "alice", "intents/{intent}/channels", `{"name": "talk"}`)
		const sent = 600
		for range sent {
			w.Call("dora", "POST", "channels/{talk}/messages", `{"message_type": "notify", "to": "*", "payload": {"text": "erasedtext"}}`)
		}
		require.NoError(t, server.Stop())
		const deleted = "SELECT COUNT(*) FROM annotations WHERE annotation_type = 'message_deleted'"
		command := exec.Command(harness.Executable(t), "agent-data", "erase", "--database-url", url, "dora")
		require.NoError(t, command.Start())
		require.Eventually(t, func() bool { return value(t, url, deleted) > 0 }, harness.Patience, checkEvery/10)
		require.NoError(t, command.Process.Kill())
		require.Error(t, command.Wait())
		done := value(t, url, deleted)
		require.Less(t, done, int64(sent), "it was killed in the middle")
		harness.RequireWhole(t, url)

		out := erase(t, url)
		require.Contains(t, out, "erased  messages")
		require.EqualValues(t, sent, value(t, url, deleted), "each message was deleted once")
		require.Empty(t, words(t, url, "erased"))
		harness.RequireWhole(t, url)
	})
}
