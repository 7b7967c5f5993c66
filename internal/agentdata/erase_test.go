package agentdata

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/agents"
	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/keys"
	"openintent/messaging"
	"openintent/messaging/writing"
	"openintent/search"
	"openintent/sessions"
	"openintent/subscriptions"
	"openintent/tasks"
)

// house consists of the rooms that an erasure works with, and those that make something to erase.
type house struct {
	Rooms
	t        *testing.T
	intents  *intents.Service
	channels *channels.Service
	keys     *keys.Service
}

func eachHouse(t *testing.T, run func(t *testing.T, h *house)) {
	t.Helper()
	t.Parallel()
	databasetest.EachURL(t, func(t *testing.T, url string) {
		db := databasetest.Open(t, database.Config{URL: url})
		h := &house{t: t, intents: intents.New(intents.Config{DB: db}), keys: keys.New(keys.Config{DB: db})}
		h.Rooms = Rooms{Address: url, DB: db, Agents: agents.New(agents.Config{DB: db})}
		h.channels = channels.New(channels.Config{DB: db, Intents: h.intents, Tasks: tasks.New(tasks.Config{DB: db, Intents: h.intents})})
		h.Messaging = messaging.New(messaging.Config{DB: db, Intents: h.intents, Agents: h.Agents, Channels: h.channels, LookAgain: time.Hour})
		h.Search = search.New(search.Config{DB: db, Intents: h.intents, Channels: h.channels, Messaging: h.Messaging})
		h.Subscriptions = subscriptions.New(subscriptions.Config{
			DB: db, Intents: h.intents, Agents: h.Agents, Channels: h.channels, Messaging: h.Messaging,
		})
		h.Messaging.Start()
		t.Cleanup(h.Messaging.Stop)
		run(t, h)
	})
}

func as(agent string) context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: agent, KeyID: "key-" + agent, KeyAgents: []string{agent}})
}

func asOperator() context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: caller.Operator, IsOperator: true, KeyID: "key"})
}

// channel makes an intent with a channel, both of which are alice's.
func (h *house) channel() *openintentv1.Channel {
	h.t.Helper()
	intent, err := h.intents.CreateIntent(as("alice"), &openintentv1.CreateIntentRequest{
		Title: "T", Status: openintentv1.IntentStatus_INTENT_STATUS_ACTIVE.Enum(),
	})
	require.NoError(h.t, err)
	channel, err := h.channels.CreateChannel(as("alice"), &openintentv1.CreateChannelRequest{IntentId: intent.GetId(), Name: "talk"})
	require.NoError(h.t, err)
	return channel
}

func payloadOf(text string) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{"text": structpb.NewStringValue(text)}}
}

// send sends a request if it is to somebody, and a broadcast otherwise.
func (h *house) send(in *openintentv1.Channel, from, to, text string) *openintentv1.Message {
	h.t.Helper()
	request := &openintentv1.SendMessageRequest{
		ChannelId: in.GetId(), MessageType: openintentv1.MessageType_MESSAGE_TYPE_BROADCAST.Enum(), Payload: payloadOf(text),
	}
	if to != "" {
		request.To, request.MessageType = &to, openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum()
	}
	m, err := h.Messaging.SendMessage(as(from), request)
	require.NoError(h.t, err)
	return m
}

func (h *house) erase(agent string) *Report {
	h.t.Helper()
	report, err := Erase(h.t.Context(), h.Rooms, agent)
	require.NoError(h.t, err)
	return report
}

// count counts rows of a table.
func (h *house) count(table, condition string, arguments ...any) (count int64) {
	h.t.Helper()
	require.NoError(h.t, h.DB.ReadStatement(h.t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValue(&count, "SELECT COUNT(*) FROM "+table+" x WHERE "+condition, arguments...))
	}))
	return count
}

// An erasure first finishes what deletions of channels and the agent's departure have left to the sweep. It takes an agent that never
// registered, erases in all intents, and leaves nothing to the next one.
func TestAnErasureFinishesWhatIsLeftToDo(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		first, second, gone := h.channel(), h.channel(), h.channel()
		for _, in := range []*openintentv1.Channel{first, second, gone} {
			h.send(in, "dora", "", "erased")
		}
		h.send(gone, "bob", "", "of the deleted channel")
		kept := h.send(first, "bob", "dora", "kept")
		for range 2 { // the first run finds that something was stored, and leaves to the next one what nobody has searched
			require.NoError(t, h.Search.Index(t.Context()))
		}
		_, err := h.channels.DeleteChannel(as("alice"), &openintentv1.DeleteChannelRequest{ChannelId: gone.GetId()})
		require.NoError(t, err)
		require.EqualValues(t, 3, h.count("messages", "x.sender = 'dora'"), "the sweep has not been here")
		intentNo := h.number(first, "intent_no")
		require.NoError(t, h.DB.Write(t.Context(), func(tx *database.Tx) error {
			return writing.ScheduleWork(tx, writing.WorkDeparture, "dora", time.Now(), intentNo)
		}))

		elsewhere := []string{"contacts", "agent_reach", "console_sessions"}
		for _, agent := range []string{"dora", "bob"} {
			h.beElsewhere(agent)
		}
		report := h.erase("dora")
		require.EqualValues(t, 2, report.Erased["messages"])
		for _, table := range elsewhere {
			require.EqualValues(t, 1, report.Erased[table], table)
			require.Zero(t, h.count(table, "x.agent_id = 'dora'"), table)
			require.EqualValues(t, 1, h.count(table, "x.agent_id = 'bob'"), table)
		}
		require.Zero(t, h.count("pending_work", "x.kind IN (?, ?)", writing.WorkRemoval, writing.WorkDeparture))
		require.EqualValues(t, 2, h.count("messages", "x.sender = 'dora'"), "places stay where the channel does")
		require.Zero(t, h.count("messages", "x.sender = 'dora' AND octet_length(x.payload) > 2"))
		require.EqualValues(t, 1, h.count("messages", "x.sender = 'bob' AND x.id = ?", kept.GetId()))
		found, err := h.Search.SearchMessages(asOperator(), &openintentv1.SearchMessagesRequest{Q: "kept"})
		require.NoError(t, err)
		require.Len(t, found.GetMessages(), 1)
		require.EqualValues(t, 1, h.count("search_documents", "1 = 1"), "the index has only what bob has said and what is still there")
		require.Empty(t, h.erase("dora").Erased)

		_, err = Erase(t.Context(), h.Rooms, "nobody")
		require.ErrorIs(t, err, ErrUnknown)
		_, err = h.Agents.RegisterAgent(as("carl"), &openintentv1.RegisterAgentRequest{AgentId: new("carl")})
		require.NoError(t, err)
		_, err = Erase(t.Context(), h.Rooms, "carl")
		require.ErrorIs(t, err, agents.ErrStillRegistered)
	})
}

// beElsewhere makes rows of an agent that lie in no intent: a contact, when it was last heard, and a session at the console.
func (h *house) beElsewhere(agent string) {
	h.t.Helper()
	require.NoError(h.t, h.DB.Write(h.t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(
			database.Statement{
				SQL: "INSERT INTO contacts (agent_id, id, place, kind, address, made_by_key, created_at, code_until, code_attempts, last_problem)" +
					" VALUES (?, 'cont_1', 0, 'ntfy', 'https://ntfy.example/private', 'key', 1, 0, 0, '')",
				Args: []any{agent},
			},
			database.Statement{SQL: "INSERT INTO agent_reach (agent_id, heard_at) VALUES (?, 1)", Args: []any{agent}},
		)
	}))
	_, err := sessions.New(sessions.Config{DB: h.DB, MostOfKey: 3}).Begin(
		h.t.Context(), sessions.Holder{KeyID: "key", Agent: agent}, sessions.Digest{}, nil)
	require.NoError(h.t, err)
}

// rowsOfTable says what a test puts into a table: the column of the agent, and others with their values, in which n.i is a number of each row.
// words is the condition of rows that have not been erased.
type rowsOfTable struct{ name, agent, columns, values, words string }

// insert puts rows of an agent into a table, for some intents each.
func (h *house) insert(table rowsOfTable, agent string, offset, rows int, intentNos ...int64) {
	h.t.Helper()
	require.NoError(h.t, h.DB.Write(h.t.Context(), func(tx *database.Tx) error {
		var statements []database.Statement
		for _, intentNo := range intentNos {
			statements = append(statements, database.Statement{
				SQL: "WITH RECURSIVE n (i) AS (SELECT CAST(? AS bigint) UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO " + table.name +
					" (intent_no, " + table.agent + ", " + table.columns + ") SELECT CAST(? AS bigint), CAST(? AS text), " + table.values + " FROM n",
				Args: []any{offset + 1, offset + rows, intentNo, agent},
			})
		}
		return tx.Pipeline(statements...)
	}))
}

// Rows are erased page by page: all of the agent's, in the one intent, and nobody else's. Servers hear of it only if something changed.
func TestRowsAreErasedInPages(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		here, other := h.channel(), h.channel()
		intentNo, otherNo := h.number(here, "intent_no"), h.number(other, "intent_no")
		const rows = 2*together + 1
		for _, table := range []rowsOfTable{
			{"receipts", "agent_id", "position, read_at", "n.i, 1", "1 = 1"},
			{
				"reactions", "agent_id", "position, message_position, signal, note, eta, created_at, changes, present",
				"n.i, n.i, 'ok', 'note', '', 1, 1, TRUE", "x.note <> ''",
			},
			{
				"annotations", "agent_id", "position, channel_no, message_position, id, annotation_type, details, created_at",
				"n.i, 1, n.i, 'ann', 'message_reaction', CAST('{\"note\":\"words\"}' AS " + h.bytes() + "), 1", "octet_length(x.details) > 2",
			},
			{
				"obligations", "discharged_by", "position, channel_no, message_id, author, target, delegate, blocks, opened_at, step, extended, note",
				"n.i, 1, 'msg', 'dora', 'dora', '', 'halted', 1, 0, FALSE, 'note'", "x.note <> ''",
			},
			{
				"access_entries", "granted_by", "id, principal_id, principal_type, permission, granted_at, expiry_logged, reason",
				"CAST(n.i AS text), 'dora', 'agent', 'write', n.i, FALSE, 'words'", "x.reason IS NOT NULL",
			},
		} {
			h.insert(table, "dora", 0, rows, intentNo, otherNo)
			offset := rows
			if table.name == "receipts" {
				offset = 0 // of the same messages
			}
			h.insert(table, "bob", offset, rows, intentNo, otherNo)
			e := &eraser{Rooms: h.Rooms, agentID: "dora"}
			of := Tables[slices.IndexFunc(Tables, func(of Table) bool { return of.Name == table.name })]
			before := h.number(here, "epoch")
			erased, err := e.eraseRows(t.Context(), of, intentNo)
			require.NoError(t, err)
			require.EqualValues(t, rows, erased, table.name)
			require.Zero(t, h.count(table.name, "x."+table.agent+" = 'dora' AND x.intent_no = ? AND "+table.words, intentNo), table.name)
			require.EqualValues(t, rows, h.count(table.name, "x."+table.agent+" = 'dora' AND x.intent_no = ? AND "+table.words, otherNo), table.name)
			require.EqualValues(t, 2*rows, h.count(table.name, "x."+table.agent+" = 'bob' AND "+table.words), table.name)
			after := h.number(here, "epoch")
			require.Greater(t, after, before, table.name)
			erased, err = e.eraseRows(t.Context(), of, intentNo)
			require.NoError(t, err)
			require.Zero(t, erased, table.name)
			require.Equal(t, after, h.number(here, "epoch"), "%s: nothing changed", table.name)
		}
	})
}

func (h *house) bytes() string {
	if h.DB.Engine() == database.PostgreSQL {
		return "bytea"
	}
	return "blob"
}

// number reads a column of the head of a channel's intent.
func (h *house) number(of *openintentv1.Channel, column string) (number int64) {
	h.t.Helper()
	require.NoError(h.t, h.DB.ReadStatement(h.t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValue(&number,
			"SELECT "+column+" FROM intent_heads WHERE intent_no = (SELECT intent_no FROM channels WHERE id = ?)", of.GetId()))
	}))
	return number
}

// An export has the keys that name the agent and no others, and the former contents of what was sent to it. A report names the keys that
// are still accepted. A time that is not set is null, and others have their microseconds.
func TestAnExportHasKeysAndFormerContents(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		talk := h.channel()
		var ids []string
		for _, of := range []string{"dora", "dora", "alice"} {
			issued, err := h.keys.CreateKey(asOperator(), &openintentv1.CreateKeyRequest{Label: "of " + of, Agents: []string{of}})
			require.NoError(t, err)
			ids = append(ids, issued.GetKey().GetId())
		}
		_, err := h.keys.RevokeKey(asOperator(), &openintentv1.RevokeKeyRequest{KeyId: ids[0]})
		require.NoError(t, err)
		for _, to := range []string{"dora", "alice"} {
			m := h.send(talk, "bob", to, "former words to "+to)
			_, err := h.Messaging.UpdateMessage(as("bob"), &openintentv1.UpdateMessageRequest{
				ChannelId: talk.GetId(), MessageId: m.GetId(), Payload: payloadOf("present words to " + to),
			})
			require.NoError(t, err)
		}
		var out bytes.Buffer
		require.NoError(t, database.ReadSnapshot(t.Context(), h.Address, func(tx *database.Tx) error {
			_, err := Export(tx, "dora", &out)
			return err
		}))
		require.Contains(t, out.String(), "former words to dora")
		require.NotContains(t, out.String(), "words to alice")
		var exported []string
		for text := range strings.Lines(out.String()) {
			var line struct {
				Table string
				Row   map[string]any
			}
			require.NoError(t, json.Unmarshal([]byte(text), &line))
			switch line.Table {
			case "api_keys":
				exported = append(exported, fmt.Sprint(line.Row["key_id"]))
				require.Nil(t, line.Row["expires_at"])
			case "messages":
				at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(line.Row["created_at"]))
				require.NoError(t, err)
				require.EqualValues(t, 1, h.count("messages", "x.created_at = ?", at.UnixMicro()), "it is the time, to the microsecond")
			}
		}
		require.ElementsMatch(t, ids[:2], exported)
		require.Equal(t, ids[1:2], h.erase("dora").Keys)
	})
}
