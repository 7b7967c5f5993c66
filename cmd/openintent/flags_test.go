package main

import (
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database"
)

// got returns what the REST API answers alice to a path.
func (s shell) got(t *testing.T, path string) string {
	t.Helper()
	answer := s.server.As("alice").REST(t, "GET", "/v1/"+path, "")
	require.Equal(t, 200, answer.Status, "%s", answer.Body)
	return string(answer.Body)
}

// message returns a message by its reference, as the REST API has it.
func (s shell) message(t *testing.T, reference string) string {
	t.Helper()
	channel, message, _ := strings.Cut(reference, "/")
	return s.got(t, "channels/"+channel+"/messages/"+message)
}

// task makes a task of the intent.
func (s shell) task(t *testing.T) string {
	t.Helper()
	var made struct{ ID string }
	s.server.As("alice").REST(t, "POST", "/v1/intents/"+os.Getenv("OPENINTENT_INTENT_ID")+"/tasks", `{"name":"Draw"}`).Decode(t, &made)
	return made.ID
}

func TestFlagsOfIntentsReachTheServer(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		whole := os.Getenv("OPENINTENT_INTENT_ID")
		part := alice.does(t, "intents", "create", "Part", "--description", "Of the whole.", "--parent", whole)
		shown := squeezed(alice.does(t, "intents", "show", part))
		require.Contains(t, shown, "description Of the whole.\nstatus draft\n")
		require.Contains(t, shown, "part of "+whole+"\n")
		opened := alice.does(t, "intents", "open", "Found", "--description", "By its title.")
		require.Equal(t, opened, bob.does(t, "intents", "open", "Found"))
		require.Contains(t, squeezed(alice.does(t, "intents", "show", opened)), "description By its title.\n")
		require.Equal(t, whole, alice.does(t, "intents", "--ids", "--limit", "1"))
		require.Equal(t, opened, alice.does(t, "intents", "--ids", "--limit", "1", "--newest"))
		require.Equal(t, part, alice.does(t, "intents", "--ids", "--status", "draft"))

		alice.does(t, "intents", "status", whole, "blocked", "--reason", "for want of time")
		changed := alice.does(t, "events", "--type", "status_changed")
		require.Equal(t, 1, rows(changed), changed)
		require.Contains(t, changed, "for want of time")

		closed := alice.does(t, "intents", "create", "Secret", "--status", "active", "--default-policy", "closed")
		alice.does(t, "intents", "grant", closed, "bob", "--permission", "read")
		alice.does(t, "intents", "grant", closed, "carol")
		granted := alice.server.As("alice").REST(t, "GET", "/v1/intents/"+closed+"/acl", "")
		require.Regexp(t, `"bob"[^}]*"read"[^}]*}.*"carol"[^}]*"write"`, granted.Body)
	})
}

func TestFlagsOfAgentsReachTheServer(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		bob.does(t, "agents", "register", "--name", "Bob the builder", "--capability", "sql")
		require.Contains(t, squeezed(alice.does(t, "agents", "show", "bob")), "name Bob the builder\n")
		require.Equal(t, "bob", alice.does(t, "agents", "--ids", "--capability", "none", "--capability", "sql"))
		require.Empty(t, alice.does(t, "agents", "--ids", "--capability", "none"))
		require.Less(t, alice.server.As("bob").REST(t, "DELETE", "/v1/agents/bob", "").Status, 300)
		require.Empty(t, alice.does(t, "agents", "--ids"))
		require.Equal(t, "bob", alice.does(t, "agents", "--ids", "--status", "deregistered"))
	})
}

func TestFlagsOfChannelsReachTheServer(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, _ shell) {
		task := alice.task(t)
		made := alice.does(t, "channels", "create", "bounded", "-m", "alice", "--policy", "intent", "--turn-budget", "0", "--conversation-budget", "3",
			"--task", task)
		shown := squeezed(alice.does(t, "channels", "show", made))
		for _, field := range []string{"policy intent\n", "turn budget 0\n", "conversation budget 3\n", "task " + task + "\n"} {
			require.Contains(t, shown, field)
		}
		require.Contains(t, alice.does(t, "channels", "create", "printed", "--json"), `"name":"printed"`)

		alice.does(t, "channels", "create", "twice")
		alice.does(t, "channels", "close", "twice")
		second := alice.does(t, "channels", "create", "twice")
		require.Contains(t, alice.does(t, "channels", "show", "twice"), second, "a name means the open channel")
		alice.does(t, "channels", "close", "twice")
		require.Contains(t, alice.does(t, "channels", "show", "twice"), second, "or the one that closed last")
	})
}

// The command lifts the brake of the named thread. Without one it lifts the brake outside threads.
func TestABrakeIsLifted(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, _ shell) {
		alice.does(t, "channels", "create", "braked", "--conversation-budget", "3")
		_, root, _ := strings.Cut(alice.does(t, "broadcast", "braked", "{}"), "/")
		ring, next := []string{"ann", "ben", "cem", "dia"}, 0
		goesOn := func(further ...string) (taken int) { // until one of the ring is refused, who is the next then
			for ; taken < 10; taken, next = taken+1, (next+1)%len(ring) {
				asking := shell{server: alice.server, agent: ring[next]}
				did := asking.run(t.Context(), append([]string{"ask", "braked", ring[(next+1)%len(ring)], "{}", "--no-wait"}, further...)...)
				if did.exit != exitOK {
					require.Contains(t, did.stderr, "[CONVERSATION_BRAKED]")
					return taken
				}
			}
			return taken
		}
		for _, thread := range []string{"", root} {
			under, lift := []string{}, []string{"channels", "lift", "braked"}
			if thread != "" {
				under, lift = []string{"--parent", "braked/" + thread}, append(lift, "--thread", thread)
			}
			require.Positive(t, goesOn(under...))
			require.Zero(t, goesOn(under...))
			require.Contains(t, alice.does(t, lift...), "braked")
			require.Positive(t, goesOn(under...))
		}
		alice.does(t, "channels", "lift", "braked")
		require.Zero(t, goesOn("--parent", "braked/"+root), "the thread is braked on")
	})
}

// Whatever sends a message takes what a message can have, and sends it once under a key.
func TestFlagsOfMessagesReachTheServer(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		asked := alice.does(t, "ask", "data", "bob", "{}", "--no-wait")
		for name, send := range map[string][]string{
			"notify": {"notify", "data", "bob", "{}"}, "broadcast": {"broadcast", "data", "{}"}, "ask": {"ask", "data", "bob", "{}", "--no-wait"},
			"reply": {"reply", asked, "{}"},
		} {
			sender := alice
			if name == "reply" {
				sender = bob
			}
			send = append(send, "--idempotency-key", "once-"+name, "--metadata", `{"k":"v"}`, "--subject", "About "+name, "--kind", "of.it")
			sent := sender.does(t, send...)
			require.Equal(t, sent, sender.does(t, send...), name)
			message := alice.message(t, sent)
			for _, field := range []string{`"metadata":{"k":"v"}`, `"subject":"About ` + name + `"`, `"kind":"of.it"`} {
				require.Contains(t, message, field, name)
			}
			if name == "reply" {
				continue
			}
			sent = sender.does(t, append(slices.Clone(send[:slices.Index(send, "--idempotency-key")]), "--expires", "1h")...)
			require.Regexp(t, `"expires_at":"\d`, alice.message(t, sent), name)
			made := slices.Replace(slices.Clone(send), 1, 2, "made-by-"+name)
			require.NotEmpty(t, sender.does(t, append(made, "--create")...))
		}
		require.Contains(t, alice.message(t, alice.does(t, "ask", "data", "role:x", "{}", "--no-wait", "--collect", "2")), `"quorum":2`)
		task := alice.task(t)
		said := alice.message(t, alice.does(t, "notify", "data", "*", "--text", "@bob, look!", "--task", task))
		require.Contains(t, said, `"task_id":"`+task+`"`)
		require.Contains(t, said, `"mentions":["bob"]`)
		said = alice.message(t, alice.does(t, "notify", "data", "*", "--text", "@bob, look!", "--mention", ""))
		require.NotContains(t, said, `"mentions":["bob"]`, "it mentions nobody")
	})
}

// A question for whose answer the command waits has all of that, too.
func TestFlagsOfAQuestionReachTheServer(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, _ shell) {
		for _, further := range [][]string{{}, {"--all"}} {
			subject := "Waits" + strings.Join(further, "")
			ask := append([]string{"ask", "data", "bob", "{}", "--timeout", "50ms", "--subject", subject, "--metadata", `{"k":"v"}`,
				"--idempotency-key", subject, "--obligation", "none", "--delegate", "dora"}, further...)
			alice.refused(t, exitTimeout, ask...)
			alice.refused(t, exitTimeout, ask...)
			var found []string
			for line := range strings.Lines(alice.does(t, "messages", "data", "--json")) {
				if strings.Contains(line, `"subject":"`+subject+`"`) {
					found = append(found, line)
				}
			}
			require.Len(t, found, 1, "it was asked once")
			require.Contains(t, found[0], `"metadata":{"k":"v"}`)
			require.Contains(t, found[0], `"delegate":"dora"`)
		}
	})
}

func TestAnswersToOneRequestAreListedAndFollowed(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		one, other := alice.does(t, "ask", "data", "bob", "{}", "--no-wait"), alice.does(t, "ask", "data", "bob", "{}", "--no-wait")
		_, request, _ := strings.Cut(one, "/")
		first := bob.does(t, "reply", one, "{}")
		bob.does(t, "reply", other, "{}")
		require.Equal(t, first, alice.does(t, "messages", "data", "--ids", "--answering", request))
		following := alice.begin(t.Context(), "messages", "data", "--ids", "--follow", "--answering", request)
		require.Equal(t, first, following.line(t))
		bob.does(t, "reply", other, "{}")
		require.Equal(t, bob.does(t, "reply", one, "{}"), following.line(t))
		alice.does(t, "channels", "close", "data")
		require.Equal(t, outcome{stderr: "the channel is closed\n"}, following.end(t))
	})
}

// A claim lasts as long as it was asked for, and what answers within its command needs no fence on the line.
func TestFlagsOfClaimsReachTheServer(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		request := alice.does(t, "ask", "data", "role:desk", "{}", "--no-wait", "--collect", "one")
		shell{server: alice.server}.does(t, "agents", "register", "bob", "--role", "desk")
		var claim struct {
			Fence     int64
			ExpiresAt time.Time `json:"expires_at"`
		}
		require.NoError(t, json.Unmarshal([]byte(bob.does(t, "claim", request, "--ttl", "50m", "--json")), &claim))
		require.WithinDuration(t, time.Now().Add(50*time.Minute), claim.ExpiresAt, 5*time.Minute)
		t.Setenv("OPENINTENT_CLAIM_FENCE", strconv.FormatInt(claim.Fence, 10))
		bob.does(t, "reply", request, "{}")
	})
}

// A lease is held while a command runs, and whoever wants the same scope fails or waits.
func TestALockIsHeldWhileACommandRuns(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		lock := func(who shell, flags []string, words ...string) []string { // what stands after -- belongs to the command
			return slices.Concat([]string{"lock", "chapter 3"}, who.connection(), flags, []string{"--"}, words)
		}
		did := at(t, "", lock(alice, nil, "sh", "-c", "echo fence $OPENINTENT_FENCE; exit 3")...)
		require.Equal(t, 3, did.exit, "the command's own: %s", did.stderr)
		require.Regexp(t, `^fence \d+\n$`, did.stdout)

		stdin, end, err := os.Pipe()
		require.NoError(t, err)
		t.Cleanup(func() { _, _ = stdin.Close(), end.Close() })
		holding := beginAt(t.Context(), stdin, lock(alice, []string{"--duration", "5h"}, "sh", "-c", "echo begun; cat")...)
		require.Equal(t, "begun", holding.line(t))
		type lease struct {
			AgentID    string    `json:"agent_id"`
			AcquiredAt time.Time `json:"acquired_at"`
			ExpiresAt  time.Time `json:"expires_at"`
			Status     string
		}
		var held struct{ Leases []lease }
		path := "/v1/intents/" + os.Getenv("OPENINTENT_INTENT_ID") + "/leases"
		alice.server.As("alice").REST(t, "GET", path, "").Decode(t, &held)
		held.Leases = slices.DeleteFunc(held.Leases, func(l lease) bool { return l.Status != "active" })
		require.Len(t, held.Leases, 1)
		require.Equal(t, "alice", held.Leases[0].AgentID)
		require.Equal(t, 5*time.Hour, held.Leases[0].ExpiresAt.Sub(held.Leases[0].AcquiredAt))

		require.Equal(t, exitConflict, at(t, "", lock(bob, nil, "true")...).exit, "somebody holds it")
		waits := beginAt(t.Context(), nil, lock(bob, []string{"--wait", "1m"}, "echo", "mine")...)
		require.Eventually(t, func() bool { return len(waits.ended) > 0 || leaseWaiters(t, bob) == 1 }, harness.Patience, 5*time.Millisecond)
		require.NoError(t, end.Close())
		require.Equal(t, outcome{}, holding.end(t))
		require.Equal(t, outcome{stdout: "mine\n"}, waits.end(t))

		for _, flags := range [][]string{{"--wait", "11m"}, {"--duration", "25h"}, {"--duration", "500ms"}} {
			require.Equal(t, exitUsage, at(t, "", lock(bob, flags, "true")...).exit, flags)
		}
	})
}

// leaseWaiters returns how many calls wait for a lease.
func leaseWaiters(t *testing.T, s shell) (waiters int64) {
	t.Helper()
	assert.NoError(t, database.ReadSnapshot(t.Context(), s.server.DatabaseURL, func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValue(&waiters, "SELECT COUNT(*) FROM lease_waiters"))
	}))
	return waiters
}

// A command whose lease is lost gets SIGTERM, because somebody else may work on the same by then.
func TestACommandEndsWithItsLease(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, _ shell) {
		working := beginAt(t.Context(), nil, slices.Concat([]string{"lock", "chapter 3", "--duration", "1s"}, alice.connection(), []string{
			"--", "sh", "-c", `trap 'echo stopped; exit 7' TERM; echo begun; for i in $(seq 1000); do sleep 0.02; done`,
		})...)
		require.Equal(t, "begun", working.line(t))
		path := "/v1/intents/" + os.Getenv("OPENINTENT_INTENT_ID") + "/leases"
		var held struct{ Leases []struct{ ID string } }
		alice.server.As("alice").REST(t, "GET", path, "").Decode(t, &held)
		require.Len(t, held.Leases, 1)
		alice.server.As("alice").REST(t, "DELETE", path+"/"+held.Leases[0].ID, "") // unless its time is over by itself
		did := working.end(t)
		require.Equal(t, 7, did.exit, did.stderr)
		require.Equal(t, "stopped\n", did.stdout)
		require.Contains(t, did.stderr, `the lease of "chapter 3" was lost while the command ran`)
	})
}

// A question tries no longer to reach its server than it waits for its answer.
func TestAQuestionHasThePatienceOfItsTimeout(t *testing.T) {
	clearEnvironment(t)
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		did := at(t, "", "ask", "chan_01M7YCHKJ11MAM2FWJ1DX9NJHS", "bob", "{}", "--timeout", "4s", "--patience", "1h", "--server", nobodyThere)
		require.Equal(t, exitUnavailable, did.exit, did.stderr)
		require.Less(t, time.Since(began), 10*time.Second)
	})
}
