package backups

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// faults are changes by SQL, by a part of the rule that each of them breaks. {intent} and the like are ids, as in fill.
var faults = map[string][]string{
	"intents refers to a row of intent_heads":   {"DELETE FROM intent_heads"},
	"intent_heads refers to a row of intents":   {"DELETE FROM intents"},
	"events refers to a row of intents":         {"DELETE FROM intents"},
	"assignments refers to a row of intents":    {"DELETE FROM intents"},
	"access_entries refers to a row of intents": {"DELETE FROM intents"},
	"coordinators refers to a row of intents":   {"DELETE FROM intents"},
	"tasks refers to a row of intents":          {"DELETE FROM intents"},
	"channels refers to a row of intents":       {"DELETE FROM intents"},
	"leases refers to a row of intents":         {"DELETE FROM intents"},
	"lease_waiters refers to a row of intents":  {"INSERT INTO lease_waiters (intent_no, place, scope, agent_id, alive_until) VALUES (-1, 1, 's', 'a', 1)"},
	"conversation_brakes refers to a row of channels": {
		"INSERT INTO conversation_brakes (intent_no, channel_no, thread_position, changed_at) VALUES (-1, 1, 0, 1)",
	},
	"search_cursors refers to a row of intents":      {"DELETE FROM intents"},
	"subscription_positions refers to a row of inte": {"DELETE FROM intents"},

	"the hash of its content and of the event before": {
		"UPDATE events SET actor = 'mallory' WHERE sequence = 2",
		"UPDATE events SET created_at = created_at - 1 WHERE sequence = 2",
		"DELETE FROM events WHERE sequence = 2",
		"UPDATE events SET previous_hash = 'sha256:x' WHERE sequence = 3",
	},
	"event_checkpoints refers to a row of intents": {
		"INSERT INTO event_checkpoints (intent_no, sequence, position, hash, created_at, removed_at) VALUES (-1, 1, 1, 'sha256:x', 1, 1)",
	},
	"the position of the last event that was removed": {"UPDATE intent_heads SET events_removed = 1"},
	"each head names the last event of its log": {
		"UPDATE intent_heads SET last_hash = 'sha256:x'",
		"UPDATE intent_heads SET last_sequence = last_sequence + 1",
		"DELETE FROM events WHERE sequence = (SELECT MAX(sequence) FROM events)",
		"DELETE FROM events",
	},
	"events' positions and times rise": {
		"UPDATE events SET position = 100000 WHERE sequence = 2",
		"UPDATE events SET created_at = 1 WHERE sequence = 2",
		"UPDATE intent_heads SET last_position = 1",
		"UPDATE intent_heads SET last_at = 1",
	},
	"an intent has an end if": {
		"UPDATE intent_heads SET ended_at = NULL",
		"UPDATE intent_heads SET status = 'abandoned'",
	},
	"each dependency is between two tasks": {"DELETE FROM tasks WHERE id = '{first task}'"},

	"an agent that holds a role":     {"UPDATE agents SET role_since = NULL WHERE agent_id = 'bob'"},
	"an agent that is presumed dead": {"UPDATE agents SET presumed_dead_at = 1 WHERE agent_id = 'bob'"},
	"an agent refuses somebody if": {
		"UPDATE agents SET refusals = NULL WHERE agent_id = 'bob'",
		"UPDATE agents SET refusals = 1 WHERE agent_id = 'alice'",
		"DELETE FROM refusals",
	},
	"whoever refuses somebody has a record":     {"DELETE FROM agents WHERE agent_id = 'bob'"},
	"channels refers to a row of channel_heads": {"DELETE FROM channel_heads"},
	"channel_heads refers to a row of channels": {"DELETE FROM channels"},
	"members refers to a row of channels":       {"DELETE FROM channels WHERE name = 'club'"},
	"insiders refers to a row of channels":      {"DELETE FROM channels WHERE name = 'opened'"},
	"no channel has a number above":             {"UPDATE intent_heads SET last_channel = 1"},
	"a channel lists at most max_messages": {
		"UPDATE channels SET max_messages = 1 WHERE name = 'talk'",
		"UPDATE channel_heads SET floor = 1000",
		"UPDATE channel_heads SET cleared = floor + 1",
		"UPDATE channel_heads SET last_message_at = NULL",
	},
	"nobody joined or opened a channel after": {
		"UPDATE members SET joined_after = 1000",
		"UPDATE insiders SET seen_after = 1000",
		"UPDATE channels SET opened_through = 1000",
	},
	"each address leads to the channel": {"DELETE FROM channel_addresses", "UPDATE channel_addresses SET channel_no = 1"},

	"have a position each": {
		"UPDATE messages SET created_at = created_at + 100000000 WHERE id = '{open}'",
		"UPDATE annotations SET position = (SELECT position FROM messages WHERE id = '{document}') WHERE annotation_type = 'message_reaction'",
		"UPDATE intent_heads SET last_position = last_position - 1",
		"UPDATE intent_heads SET last_at = last_at - 10000000",
		"UPDATE messages SET position = position + 100000 WHERE id = '{open}'",
	},
	"the log's copy of an audited message": {"UPDATE messages SET created_at = created_at - 1 WHERE id = '{audited}'"},
	"each annotation is of an earlier message": {
		"DELETE FROM messages WHERE id = '{first}'",
		"UPDATE annotations SET channel_no = 1",
		"UPDATE annotations SET message_position = (SELECT MAX(position) FROM messages)",
	},
	"messages refers to a row of channels": {"DELETE FROM channels WHERE name = 'talk'"},
	"messages' positions rise with their places": {
		"UPDATE channel_heads SET message_count = 1",
		"UPDATE messages SET ordinal = -ordinal WHERE channel_no = (SELECT channel_no FROM channels WHERE id = '{talk}')",
	},
	"each channel has all messages that it lists": {
		"DELETE FROM messages WHERE id = '{first}'",
		"UPDATE channel_heads SET message_count = message_count + 1",
		"UPDATE channel_heads SET floor = 0, cleared = 0",
	},
	"a reply comes after the first message": {
		"UPDATE messages SET thread_position = position WHERE id = '{reply}'",
		"UPDATE messages SET thread_position = (SELECT o.position FROM messages o WHERE o.id = '{open}') WHERE id = '{reply}'",
	},
	"each name that a message is from or to": {
		"DELETE FROM audiences WHERE sent",
		"DELETE FROM audiences WHERE NOT sent",
		"UPDATE messages SET sender = 'mallory' WHERE id = '{first}'",
	},
	"each open request is as its message says": {
		"UPDATE messages SET expires_at = 5 WHERE id = '{open}'",
		"UPDATE messages SET ended_at = 5 WHERE id = '{open}'",
		"UPDATE messages SET target = 'carol' WHERE id = '{open}'",
		"DELETE FROM messages WHERE id = '{open}'",
	},
	"a listed request that is not open": {
		"DELETE FROM open_requests",
		"DELETE FROM messages WHERE id = '{response}'",
	},
	"a response answers an earlier request": {
		"UPDATE messages SET correlation_id = '{open}' WHERE id = '{response}'",
		"UPDATE messages SET correlation_position = (SELECT o.position FROM messages o WHERE o.id = '{first}') WHERE id = '{response}'",
		"UPDATE messages SET correlation_position = position WHERE id = '{response}'",
	},
	"receipts refers to a row of messages":          {"DELETE FROM messages"},
	"each disposition is of a message":              {"DELETE FROM messages"},
	"evicted_requests refers to a row of messages":  {"DELETE FROM messages WHERE id = '{evicted}'"},
	"message_revisions refers to a row of messages": {"DELETE FROM messages WHERE id = '{first}'"},
	"each document is a message of its channel": {
		"DELETE FROM messages WHERE id = '{document}'",
		"UPDATE documents SET position = (SELECT position FROM messages WHERE id = '{audited}')",
	},
	"an idempotency key leads to the message": {
		"UPDATE idempotency_keys SET position = position + 1",
		"UPDATE idempotency_keys SET position = 100000",
	},
	"no row of offers lies beyond its log":       {"INSERT INTO offers (intent_no, position, agent_id, offered_at) SELECT intent_no, 100000, 'a', 1 FROM intents"},
	"no row of dead_letters lies beyond its log": {"INSERT INTO dead_letters (intent_no, position, agent_id, dead_at, reason) SELECT intent_no, 100000, 'a', 1, '' FROM intents"},
	"no row of dispositions lies beyond its log": {"INSERT INTO dispositions (intent_no, position, agent_id, surfaced_at) SELECT intent_no, 100000, 'a', 1 FROM intents"},

	"claims refers to a row of channels": {"DELETE FROM channels WHERE name = 'talk'"},
	"each claim has a fence of its own": {
		"UPDATE claims SET fence = 9000000000000000",
		secondClaim("fence"),
	},
	"each claim that has ended is of a message": {
		"UPDATE claims SET message_id = '{first}'",
		"UPDATE claims SET ended = 'expired', message_position = 100000",
	},
	"an open request lacks answers": {
		"INSERT INTO open_requests (intent_no, position, channel_no, target, created_at) SELECT intent_no, position, channel_no, target, created_at FROM messages WHERE id = '{answered}'",
		"UPDATE messages SET conversation = NULL, correlation_position = (SELECT o.position FROM messages o WHERE o.id = '{exact}') WHERE id = '{response}'; " +
			secondClaim("fence + 1"),
		"UPDATE claims SET message_position = (SELECT position FROM messages WHERE id = '{first}'); " + secondClaim("fence + 1"),
	},
	"each reaction is an annotation": {"DELETE FROM annotations", "UPDATE reactions SET agent_id = 'mallory'"},
	"each obligation is of a request": {
		"DELETE FROM messages WHERE id = '{owed}'",
		"UPDATE obligations SET message_id = '{open}'",
		"UPDATE obligations SET channel_no = 1",
	},
	"an obligation was discharged by somebody": {
		"UPDATE obligations SET discharged_at = 5",
		"UPDATE obligations SET discharged_by = 'bob'",
		"UPDATE obligations SET discharged_at = 5, discharged_by = 'bob', due_at = 5",
	},
	"no obligation is open in an intent that has ended": {"UPDATE intent_heads SET ended_at = 5, status = 'completed'"},
	"a request is kept without an end only for":         {"UPDATE evicted_requests SET due_at = 9223372036854775807"},

	"pending_work refers to a row of intents":    {"INSERT INTO pending_work (kind, key, intent_no, created_at) VALUES ('k', 'k', -1, 1)"},
	"audiences refers to a row of intents":       {"DELETE FROM intents"},
	"search_removals refers to a row of intents": {"INSERT INTO search_removals (intent_no, positions) VALUES (-1, '[]')"},
	"search_keepers refers to a row of intents":  {"INSERT INTO search_keepers (intent_no, key_id, searched_at) VALUES (-1, 'k', 1)"},
	"search_holes refers to a row of intents":    {"INSERT INTO search_holes (intent_no, low, high) VALUES (-1, 1, 2)"},
	"what the index lacks of a log":              {"INSERT INTO search_holes (intent_no, low, high) SELECT intent_no, 2, 2 FROM search_cursors"},
	"each open path is at a server that is known": {
		"INSERT INTO agent_paths (agent_id, kind, replica, since, asked) VALUES ('dora', 'stream', 'gone', 1, FALSE)",
	},
	"only a wake says when it last called": {
		"INSERT INTO agent_paths (agent_id, kind, replica, since, asked) VALUES ('dora', 'wake', 'here', 1, FALSE)",
	},
	"an agent that showed messages says when it last did": {"INSERT INTO agent_reach (agent_id, surfaces_in) VALUES ('nora', '[5]')"},
	"a contact that is switched off was proved": {
		"INSERT INTO contacts (agent_id, id, place, kind, address, made_by_key, created_at, code_until, code_attempts, off_at, last_problem)" +
			" VALUES ('nora', 'cont_1', 0, 'mail', 'n@example.com', 'k', 1, 0, 0, 5, '')",
	},
	"each name with a contact that gets pointers": {
		"INSERT INTO contacts (agent_id, id, place, kind, address, made_by_key, created_at, code_until, code_attempts, proved_at, last_problem)" +
			" VALUES ('nora', 'cont_1', 0, 'mail', 'n@example.com', 'k', 1, 0, 0, 5, '')",
	},
	"what is to be sent has a contact": {
		"INSERT INTO contact_posts (agent_id, contact_id, key_id, intent_no, position, pointer, attempts, due_at, made_at)" +
			" VALUES ('nora', 'cont_1', 'k', 1, 1, '{}', 0, 1, 1)",
	},
	"each code was sent for a key":                 {"INSERT INTO contact_codes (agent_id, contact_id, key_id, sent_at) VALUES ('nora', 'cont_1', '', 1)"},
	"each name to be looked at has been scheduled": {"INSERT INTO contact_looks (agent_id, look_at, version) VALUES ('nora', 1, 0)"},
	"there is at most one pair of keys for pushes": {"INSERT INTO web_push_keys (one, public_key, private_key, made_at) VALUES (2, 'a', 'b', 1)"},
	"each call was told once at least": {
		"INSERT INTO contact_calls (agent_id, sender, intent_no, position, sent_at, stranger, began_at, step) VALUES ('nora', 'bob', 1, 1, 1, FALSE, 1, 4)",
	},
	"one row says which version the index has":   {"DELETE FROM search_state"},
	"nobody was handed more of a channel":        {"INSERT INTO channel_offers (intent_no, channel_no, agent_id, ordinal, offered_at) SELECT intent_no, channel_no, 'dora', 1000, 1 FROM channels"},
	"an invite is for a channel":                 {"UPDATE api_keys SET intent_no = NULL", "UPDATE api_keys SET max_agents = 0", "UPDATE api_keys SET operator = TRUE"},
	"guests refers to a row of api_keys":         {"DELETE FROM api_keys"},
	"one row says whether what servers":          {"DELETE FROM api_keys_state", "INSERT INTO api_keys_state (one, tag) VALUES (2, 0)"},
	"a session is that of a key, or of somebody": {"UPDATE console_sessions SET key_check = NULL"},
	"console_tokens refers to a row of console_sessions": {
		"INSERT INTO console_tokens (session_id, issuer, subject, agents, roles, accepted_until, renewing_at)" +
			" SELECT 'gone', 'i', 's', secret_digest, secret_digest, 1, 0 FROM console_sessions",
	},
	"only somebody who has yet to take a session over": {"UPDATE console_sessions SET agent_id = ''"},
	"nobody has used a session before it began":        {"UPDATE console_sessions SET used_at = 1"},
	"one seal signs the cookies of all servers":        {"UPDATE console_state SET one = 2", "UPDATE console_state SET seal = CAST('' AS bytea)"},
	"nobody holds a lease in an intent":                {"UPDATE intent_heads SET ended_at = 5, status = 'completed'"},
	"each lease has a fence of its own": {
		"UPDATE leases SET fence = 9000000000000000",
		"INSERT INTO leases (intent_no, scope, id, agent_id, fence, acquired_at, due_at, epoch) SELECT intent_no, 'other', 'other', agent_id, fence, 1, 1, 1 FROM leases",
	},
	"the index of no intent is ahead": {"UPDATE search_cursors SET position = position + 1"},
	"the index has nothing that lies": {"UPDATE search_cursors SET position = 1", "DELETE FROM search_cursors"},
	"each message of the index":       {"DELETE FROM messages WHERE id = '{first}'"},

	"subscription_positions refers to a row of subs":  {"DELETE FROM subscriptions"},
	"subscription_deliveries refers to a row of subs": {"DELETE FROM subscriptions"},
	"subscription_waiting refers to a row of subs": {"INSERT INTO subscription_waiting (subscription_no, intent_no, position, channel_no," +
		" thread_position, sender, digest, size, sent_at) VALUES (-1, 1, 1, 1, 0, 'a', FALSE, 1, 1)"},
	"no subscription has gathered beyond":    {"UPDATE subscription_positions SET position = 100000"},
	"each delivery lies before the position": {"UPDATE subscription_positions SET position = 1"},
	"each delivery has a number":             {"UPDATE subscriptions SET last_number = 1, offered_through = 1"},
	"only a subscription with a webhook":     {"UPDATE subscriptions SET made_by_subject = 'somebody'"},
	"no subscription has delivered a number": {"UPDATE subscriptions SET offered_through = 100000"},
}

// secondClaim adds another agent's claim with a fence.
func secondClaim(fence string) string {
	return "INSERT INTO claims (intent_no, message_position, agent_id, channel_no, message_id, fence, claim_key, expires_at, ended, due_at, epoch)" +
		" SELECT intent_no, message_position, 'dora', channel_no, message_id, " + fence + ", '', expires_at, ended, due_at, epoch FROM claims"
}

var errUndone = errors.New("the fault is taken back")

// Each rule finds each of its planted faults, and finds nothing where there is none.
func TestCheckFindsPlantedFaults(t *testing.T) {
	harness.EachProcess(t, func(t *testing.T, server *harness.Server) {
		h := fill(t, server)
		h.settle()
		require.NoError(t, h.Stop())
		harness.RequireWhole(t, h.DatabaseURL)
		db, err := database.Open(t.Context(), database.Config{URL: h.DatabaseURL})
		require.NoError(t, err)
		defer func() { require.NoError(t, db.Close()) }()
		all := rules(db.Engine())
		held := make(map[string]bool)
		for part, changes := range faults {
			named := slices.DeleteFunc(slices.Clone(all), func(rule database.Invariant) bool { return !strings.Contains(rule.Rule, part) })
			require.Len(t, named, 1, "one rule is called %q", part)
			require.False(t, held[named[0].Rule], "the faults of the rule %q stand under one name", named[0].Rule)
			held[named[0].Rule] = true
			for _, change := range changes {
				assert.NotZero(t, h.breaks(db, named[0], change), "%s breaks the rule %q, but the check does not find it", change, part)
			}
		}
		for _, rule := range all {
			require.True(t, held[rule.Rule], "no fault is planted for the rule %q", rule.Rule)
		}
	})
}

// breaks returns how many rows break a rule after a change, and takes the change back.
func (h *house) breaks(db *database.DB, rule database.Invariant, change string) (found int) {
	h.t.Helper()
	for name, id := range h.IDs {
		change = strings.ReplaceAll(change, "{"+name+"}", id)
	}
	err := db.Write(h.t.Context(), func(tx *database.Tx) error {
		found = 0
		for statement := range strings.SplitSeq(change, "; ") {
			var affected int64
			if err := tx.Pipeline(database.Statement{SQL: statement, Affected: &affected}); err != nil {
				return err
			}
			assert.NotZero(h.t, affected, "%s changes nothing", statement)
		}
		if _, err := rule.Check(tx, func(string) { found++ }); err != nil {
			return err
		}
		return errUndone
	})
	require.ErrorIs(h.t, err, errUndone, change)
	return found
}

// rules are the rules of all rooms about rows. Those about the pages of the file are tested with damaged files.
func rules(engine database.Engine) (all []database.Invariant) {
	for _, room := range server.Invariants(engine) {
		if room.Room != "database" {
			all = append(all, room.Invariants...)
		}
	}
	return all
}

// Each table of the schema occurs in a rule, so that a new table gets one. The books of migrations are read before any rule.
func TestEveryTableHasARule(t *testing.T) {
	var spoken strings.Builder
	for _, rule := range rules(database.SQLite) {
		spoken.WriteString(" " + rule.Of + " " + rule.Broken)
	}
	words := strings.FieldsFunc(spoken.String(), func(r rune) bool { return r != '_' && !unicode.IsLetter(r) })
	var tables []string
	require.NoError(t, database.ReadSnapshot(t.Context(), databasetest.URL(t, database.SQLite), func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValues(&tables, `SELECT name FROM sqlite_schema WHERE type = 'table'
			AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'goose%' AND name NOT LIKE 'schema\_%' ESCAPE '\'
			AND name NOT LIKE 'search\_words%' ESCAPE '\'`))
	}))
	require.NotEmpty(t, tables)
	for _, table := range tables {
		require.True(t, slices.Contains(words, table), "no rule speaks of the table %s", table)
	}
}
