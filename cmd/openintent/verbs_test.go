package main

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// onChannel runs a test against a server on each engine. The server has an intent of alice's, which
// OPENINTENT_INTENT_ID names, with a channel "data".
func onChannel(t *testing.T, test func(t *testing.T, alice, bob shell)) {
	clearEnvironment(t)
	harness.Each(t, func(t *testing.T, h *harness.Server) { withData(t, h, test) })
}

// onSQLite is onChannel on SQLite alone, for tests that do not depend on the engine.
func onSQLite(t *testing.T, test func(t *testing.T, alice, bob shell)) {
	clearEnvironment(t)
	withData(t, harness.Start(t, harness.Options{}), test)
}

func withData(t *testing.T, h *harness.Server, test func(t *testing.T, alice, bob shell)) {
	alice, bob := shell{server: h, agent: "alice"}, shell{server: h, agent: "bob"}
	t.Setenv("OPENINTENT_INTENT_ID", alice.does(t, "intents", "create", "Research", "--status", "active"))
	alice.does(t, "channels", "create", "data")
	test(t, alice, bob)
}

func TestAskPrintsTheAnswer(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, bob shell) {
		asking := alice.begin(t.Context(), "ask", "data", "bob", `{"question": "which?"}`)
		inbox := bob.does(t, "inbox", "--wait", "1m")
		require.Equal(t, "MESSAGE SENDER TO TYPE CHANNEL READ EXPIRES PAYLOAD\n"+
			`msg-1 alice bob request data TIME {"question":"which?"}`, squeezed(masked(inbox)))
		request := idForm.FindString(inbox)
		require.Equal(t, "chan-1/msg-2", masked(bob.does(t, "reply", request, "-p", "answer=v2.3", "-p", "rows:=3")))
		answered := asking.end(t)
		require.Equal(t, exitOK, answered.exit, answered.stderr)
		require.Equal(t, `{"answer":"v2.3","rows":3}`+"\n", answered.stdout)
		require.Equal(t, "MESSAGE SENDER TO TYPE CHANNEL READ EXPIRES PAYLOAD", squeezed(bob.does(t, "inbox")),
			"an answered request leaves the inbox")
	})
}

func TestAskAllPrintsAnswersAsTheyCome(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, bob shell) {
		asking := alice.begin(t.Context(),
			"ask", "data", "bob", "--text", "Merge it?", "--all", "--min-responses", "2", "--timeout", "1m")
		request := idForm.FindString(bob.does(t, "inbox", "--wait", "1m"))
		reference := bob.does(t, "reply", request, `{"vote": 1}`)
		require.Equal(t, "SENDER  PAYLOAD", asking.line(t))
		require.Equal(t, `bob     {"vote":1}`, asking.line(t))
		channel, _, _ := strings.Cut(reference, "/")
		bob.does(t, "reply", channel+"/"+request, `{"vote": 2}`)
		require.Equal(t, `bob     {"vote":2}`, asking.line(t))
		require.Equal(t, outcome{}, asking.end(t))
	})
}

func TestAskLaterAndResume(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, bob shell) {
		asked := alice.does(t, "ask", "data", "bob", "--text", "When?", "--no-wait", "--expires", "1h")
		require.Contains(t, alice.refused(t, exitTimeout, "ask", "--resume", asked, "--timeout", "1ms"), "[MESSAGE_TIMEOUT]")
		bob.does(t, "reply", asked, `{"when": "now"}`)
		require.Equal(t, `{"when":"now"}`, alice.does(t, "ask", "--resume", asked))
		require.Equal(t, "SENDER  PAYLOAD\n"+`bob     {"when":"now"}`,
			alice.does(t, "ask", "--resume", asked, "--all", "--min-responses", "1"))
	})
}

func TestAHandlersFailureIsAnExitCode(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		asking := alice.begin(t.Context(), "ask", "data", "bob", "{}")
		request := idForm.FindString(bob.does(t, "inbox", "--wait", "1m"))
		bob.does(t, "reply", request, `{"error": {"type": "KeyError", "message": "no \u001b[31msuch\nsheet"}}`,
			"--metadata", `{"openintent_error": true}`)
		failed := asking.end(t)
		require.Equal(t, exitRemote, failed.exit)
		require.Equal(t, `openintent: bob failed: no \u001b[31msuch sheet [HANDLER_FAILED]`+"\n", failed.stderr)
		require.Empty(t, failed.stdout)
	})
}

// A no of the agent that was asked ends the wait. The command prints its note and has an exit code of its own.
func TestANoIsAnExitCode(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		asking := alice.begin(t.Context(), "ask", "data", "bob", "{}")
		request := idForm.FindString(bob.does(t, "inbox", "--wait", "1m"))
		bob.does(t, "react", request, "declined", "--note", "I only write")
		refused := asking.end(t)
		require.Equal(t, exitDeclined, refused.exit, refused.stderr)
		require.Contains(t, refused.stderr, "I only write")
	})
}

func TestMessagesAreListed(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, bob shell) {
		first := alice.does(t, "notify", "data", "bob", "--text", "one")
		alice.does(t, "notify", "data", "*", "--text", "two")
		bob.does(t, "broadcast", "data", "@"+file(t, `{"n": 3}`))
		alice.stdin = `{"n": 4}`
		alice.does(t, "notify", "data", "role:reviewer", "-")
		require.Equal(t, `TIME SENDER TO TYPE STATUS PAYLOAD
TIME alice bob notify delivered {"text":"one"}
TIME alice * notify delivered {"text":"two"}
TIME bob * broadcast delivered {"n":3}
TIME alice role:reviewer notify delivered {"n":4}`, squeezed(masked(alice.does(t, "messages", "data"))))

		_, id, _ := strings.Cut(first, "/")
		require.Equal(t, 3, rows(alice.does(t, "messages", "data", "--since", id)))
		require.Equal(t, 1, rows(alice.does(t, "messages", "data", "--since", id, "--limit", "1")))
		require.Equal(t, 4, rows(alice.does(t, "messages", "data", "--since", "1h")))
		require.Equal(t, 1, rows(alice.does(t, "messages", "data", "--type", "broadcast")))
		require.Equal(t, 0, rows(alice.does(t, "messages", "data", "--limit", "0")))
		require.Equal(t, 2, rows(alice.does(t, "messages", "data", "--to", "bob")), "to it and to everybody, not its own")
		require.Equal(t, first, strings.Split(alice.does(t, "messages", "data", "--ids"), "\n")[0])
	})
}

// rows counts the rows of a table.
func rows(printed string) int { return strings.Count(printed, "\n") }

func TestFollowPrintsWhatWasAndWhatComes(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, bob shell) {
		alice.does(t, "notify", "data", "*", "--text", "before")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		following := bob.begin(ctx, "messages", "data", "--follow")
		require.Contains(t, following.line(t), "PAYLOAD")
		require.Contains(t, following.line(t), "before")
		alice.does(t, "notify", "data", "*", "--text", "after")
		require.Contains(t, following.line(t), "after")
		cancel()
		require.Equal(t, outcome{}, following.end(t), "Ctrl-C is the way to end it")

		alice.does(t, "broadcast", "data", "--text", "earlier")
		until := bob.begin(t.Context(), "messages", "data", "--follow", "--type", "broadcast", "--json", "--limit", "1")
		require.Contains(t, until.line(t), `"payload":{"text":"earlier"}`)
		alice.does(t, "notify", "data", "*", "--text", "of another type")
		alice.does(t, "broadcast", "data", "--text", "wanted", "--idempotency-key", "once")
		require.Contains(t, until.line(t), `"payload":{"text":"wanted"}`)
		alice.does(t, "channels", "close", "data")
		require.Equal(t, outcome{stderr: "the channel is closed\n"}, until.end(t))
		require.Equal(t, 3, rows(bob.does(t, "messages", "data", "--follow", "--limit", "3")), "of a closed channel, what there is")
	})
}

func TestChannelsAreLookedAfter(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, _ shell) {
		require.Equal(t, "chan-1", masked(alice.does(t, "channels", "create", "team", "-m", "alice", "-m", "bob", "--ttl", "1h")))
		require.Equal(t, `CHANNEL STATUS POLICY MESSAGES LAST NAME
chan-1 open intent 0 data
chan-2 open explicit 0 team`, squeezed(masked(alice.does(t, "channels"))))
		alice.does(t, "channels", "add", "team", "carol", "dave")
		alice.does(t, "channels", "remove", "team", "bob", "carol")
		require.Equal(t, `channel  chan-1
name     team
intent   intent-2
status   open
policy   explicit
members  alice, dave
ttl      1h0m0s
keeps    1000 messages
sent     0 messages
created  TIME by alice`, masked(alice.does(t, "channels", "show", "team")))
		require.Contains(t, alice.does(t, "channels", "close", "team"), "status   closed")
		require.Equal(t, 1, rows(alice.does(t, "channels", "list", "--status", "closed")))
		require.Contains(t, alice.does(t, "channels", "show", "team"), "closed ", "a closed channel is found when no open one has the name")
		alice.does(t, "notify", "new", "*", "--text", "first", "--create")
		require.Contains(t, alice.does(t, "channels", "show", "new"), "sent          1 messages")
		alice.does(t, "channels", "create", "quiet", "-m", "alice", "--history", "from_join", "--max-messages", "50", "--audit")
		quiet := alice.does(t, "channels", "show", "quiet")
		for _, field := range []string{"audit", "every message", "50 messages", "history", "from_join"} {
			require.Contains(t, quiet, field)
		}
	})
}

func TestAgentsRefuseSenders(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, bob shell) {
		bob.does(t, "agents", "register")
		require.Contains(t, bob.does(t, "agents", "refuse", "alice"), "alice\n")
		require.Equal(t, "SENDER REFUSED SINCE\nalice TIME", squeezed(masked(bob.does(t, "agents", "refused"))))
		operator := shell{server: alice.server}
		require.Contains(t, operator.does(t, "agents", "refused", "--of", "bob"), "alice")
		require.Empty(t, bob.does(t, "agents", "allow", "alice"))
		require.NotContains(t, bob.does(t, "agents", "refused"), "alice")
	})
}

// Nothing can be sent to this contact, so the command line says why no code came.
func TestContactsAreSetAndRemoved(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, _ shell) {
		require.Equal(t, "CONTACT KIND ADDRESS STATE FAILING SINCE", squeezed(alice.does(t, "contacts")))
		made := alice.does(t, "contacts", "set", "ntfy", "https://name.invalid/a-topic-of-alice")
		require.Contains(t, made, "name.invalid …lice")
		require.Contains(t, made, "unproved")
		require.Contains(t, made, "could not be resolved")
		id := regexp.MustCompile(`cont_\w+`).FindString(made)
		alice.does(t, "contacts", "set", "slack", "https://name.invalid/services/alice")
		require.Equal(t, 2, rows(alice.does(t, "contacts", "list")))
		refused := alice.run(t.Context(), "contacts", "prove", id, "12345678")
		require.Contains(t, refused.stderr, "The code is not the one that counts")
		require.Contains(t, alice.does(t, "contacts", "prove", id), "unproved")
		require.Empty(t, alice.does(t, "contacts", "remove", id))
		require.Equal(t, 1, rows(alice.does(t, "contacts", "list")))
		require.Contains(t, alice.run(t.Context(), "contacts", "remove", id).stderr, "has no contact "+id)
		operator := shell{server: alice.server}
		require.Equal(t, 1, rows(operator.does(t, "contacts", "list", "--of", "alice")))
	})
}

func TestIntentsAgentsAndEvents(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, bob shell) {
		operator := shell{server: alice.server}
		require.Contains(t, operator.does(t, "agents", "register", "bob", "--role", "data", "--capability", "sql", "--capability", "csv"),
			"role          data\n")
		require.Equal(t, "INTENT STATUS CREATED BY CREATED TITLE\nintent-1 active alice TIME Research",
			squeezed(masked(alice.does(t, "intents"))))
		require.Equal(t, "AGENT ROLE STATUS HEARTBEAT CAPABILITIES NOTE\nbob data active TIME sql, csv",
			squeezed(masked(alice.does(t, "agents", "--role", "data"))))
		require.Contains(t, bob.does(t, "agents", "show", "bob"), "role          data\n")
		id := idForm.FindString(alice.does(t, "intents"))
		require.Contains(t, alice.does(t, "intents", "status", id, "completed", "--reason", "done"), "status   completed")
		require.Contains(t, alice.does(t, "intents", "show", id), "title    Research")
		closed := alice.does(t, "intents", "create", "Secret", "--status", "active", "--default-policy", "closed")
		bob.refused(t, exitRefused, "intents", "show", closed)
		require.Empty(t, alice.does(t, "intents", "grant", closed, "bob", "carol", "--permission", "read"))
		require.Contains(t, bob.does(t, "intents", "show", closed), "title    Secret")
		bob.refused(t, exitRefused, "intents", "grant", closed, "dora")
		require.Equal(t, `SEQUENCE TIME TYPE ACTOR PAYLOAD
1 TIME intent_created alice {"status":"active","title":"Research"}`, squeezed(masked(alice.does(t, "events", "--after", "0", "--limit", "1"))))
		require.Equal(t, "events verified: 2", alice.does(t, "events", "verify"))
	})
}

// --json prints exactly what the REST API answers.
func TestJSONIsTheRESTForm(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		sent := alice.does(t, "notify", "data", "bob", "--text", "x < y\u202e", "--metadata", `{"k": [1, null]}`, "--json")
		rest := alice.server.As("alice")
		var message struct {
			ID        string `json:"id"`
			ChannelID string `json:"channel_id"`
		}
		require.NoError(t, json.Unmarshal([]byte(sent), &message))
		answer := rest.REST(t, "GET", "/v1/channels/"+message.ChannelID+"/messages/"+message.ID, "")
		require.JSONEq(t, string(answer.Body), sent)
		answer = rest.REST(t, "GET", "/v1/channels/"+message.ChannelID, "")
		require.JSONEq(t, string(answer.Body), alice.does(t, "channels", "show", "data", "--json"))
		for _, line := range strings.Split(bob.does(t, "inbox", "--json")+"\n"+alice.does(t, "events", "--json")+"\n"+
			alice.does(t, "intents", "--json")+"\n"+alice.does(t, "channels", "--json"), "\n") {
			require.True(t, json.Valid([]byte(line)), line)
			require.Equal(t, escaped(line), line, "nothing that a terminal could act upon")
		}
	})
}

// A key that is bound to one agent names it for all commands.
func TestTheKeysOwnAgentIsTheDefault(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, _ shell) {
		owner := func(arguments ...string) string {
			did := at(t, "", append(arguments, "--server", alice.server.GRPCAddress(), "--api-key", harness.BoundKey)...)
			require.Equal(t, exitOK, did.exit, did.stderr)
			return did.stdout
		}
		for range 2 {
			alice.does(t, "notify", "data", harness.BoundAgent, "{}")
		}
		request := alice.does(t, "ask", "data", harness.BoundAgent, "{}", "--no-wait")
		require.Equal(t, 4, rows(owner("inbox", "--mark-read")), "a heading and three rows")
		_, message, _ := strings.Cut(request, "/")
		owner("reply", message, "{}")
		require.Equal(t, 1, rows(owner("inbox")))
		require.Contains(t, owner("agents", "register"), harness.BoundAgent)
		owner("notify", "data", "alice", "--text", "mine")
		require.Contains(t, alice.does(t, "messages", "data"), harness.BoundAgent)
	})
}

func TestInboxMarksRead(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		for range 3 {
			alice.does(t, "notify", "data", "bob", "{}")
		}
		did := bob.run(t.Context(), "inbox", "--limit", "2", "--mark-read")
		require.Equal(t, "3 unread, 0 to answer\n", did.stderr)
		require.Equal(t, 3, rows(did.stdout), "a heading and two rows")
		require.Equal(t, 1, rows(bob.does(t, "inbox")), "the third is left")
		bob.does(t, "inbox", "--mark-read")
		nothing := bob.run(t.Context(), "inbox", "--wait", "1ms", "--json")
		require.Equal(t, outcome{exitTimeout, "", "openintent: nothing came in time\n"}, nothing)
	})
}
