package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"openintent/e2e/harness"
	"openintent/e2e/model"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// These set how the histories are made when the flags of package rapid do not: the number of histories in a round,
// and their average number of steps. Each engine runs several rounds, and more until every outcome of mustReach has
// occurred.
const (
	historiesInARound = 3
	stepsOfAHistory   = 80
	leastRounds       = 3
	mostRounds        = 30
)

// farFuture is longer than all histories of a test together, so that nothing is purged meanwhile.
const farFuture = 100 * 365 * 24 * time.Hour

// TestTheServerDoesAsTheModelSays runs random histories of several agents against the server and the model. Every
// answer and every refusal must be the model's, and each agent must see what the model shows. On PostgreSQL two
// servers take the calls in turn. Run it with -v for a table of what was reached, and with -rapid.checks and
// -rapid.steps for longer searches.
func TestTheServerDoesAsTheModelSays(t *testing.T) {
	databasetest.SearchWith(t, map[string]int{"rapid.checks": historiesInARound, "rapid.steps": stepsOfAHistory})
	reached := make(reached)
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			clock := databasetest.NewClock()
			options := harness.Options{URL: databasetest.URL(t, engine), Configure: func(cfg *server.Config) {
				cfg.Clock, cfg.LookAgain, cfg.Retention = clock.Now, 10*time.Millisecond, farFuture
				cfg.LogLevel = "error" // refusals are expected here
			}}
			servers := []*harness.Server{harness.Start(t, options)}
			if engine == database.PostgreSQL {
				servers = append(servers, harness.Start(t, options))
			}
			t.Run("histories", func(t *testing.T) {
				for round := 0; !t.Failed() && (round < leastRounds || round < mostRounds && len(reached.missing(mustReach)) > 0); round++ {
					wanted := make(map[string]bool)
					if round >= leastRounds {
						for _, step := range reached.missing(mustReach) {
							wanted[step.operation], wanted[comesBefore[step.outcome]] = true, true
						}
					}
					rapid.Check(t, func(t *rapid.T) { newHistory(t, servers, clock, reached, wanted).run(t) })
				}
			})
			for _, h := range servers {
				require.NoError(t, h.Stop())
			}
			left := storage(t, options.URL)
			left.annotated = true
			left.holds(t)
		})
	}
	if t.Failed() {
		return
	}
	t.Logf("what was reached, and how often:\n%s", reached)
	require.Empty(t, reached.missing(mustReach), "the generator does not reach these any more")
}

// reached counts how often an operation had an outcome.
type reached map[step]int

type step struct {
	operation string
	outcome   model.Outcome
}

// mustReach are the outcomes without which the histories prove little. When several operations decide an outcome in
// the same place, not each of them needs to reach it.
var mustReach = map[string]string{
	"register":         "OK AGENT_EXISTS NOT_AGENT_OWNER",
	"take role":        "OK",
	"move agent":       "OK INVALID_TRANSITION AGENT_NOT_FOUND",
	"deregister":       "OK AGENT_NOT_FOUND",
	"set status":       "OK FORBIDDEN INVALID_TRANSITION VERSION_MISMATCH",
	"set access":       "OK FORBIDDEN",
	"grant":            "OK FORBIDDEN",
	"assign":           "OK FORBIDDEN INTENT_ENDED ASSIGNMENT_NOT_FOUND",
	"coordinate":       "OK FORBIDDEN COORDINATOR_EXISTS",
	"end coordination": "COORDINATOR_NOT_FOUND",
	"end task":         "OK INVALID_TRANSITION",
	"create channel":   "OK FORBIDDEN INTENT_ENDED TASK_ENDED INVALID_FIELD CHANNEL_NAME_TAKEN SENDER_MISMATCH",
	"update channel":   "OK FORBIDDEN CHANNEL_CLOSED",
	"close channel":    "OK FORBIDDEN",
	"delete channel":   "OK FORBIDDEN",
	"add members":      "OK FORBIDDEN",
	"remove member":    "OK FORBIDDEN",
	"get channel":      "OK",
	"list channels":    "OK FORBIDDEN",
	"send": "OK FORBIDDEN NOT_A_MEMBER TARGET_NOT_A_MEMBER TARGET_WITHOUT_ACCESS CHANNEL_CLOSED CHANNEL_NOT_FOUND INVALID_FIELD" +
		" SENDER_MISMATCH IDEMPOTENCY_KEY_REUSED",
	"send by name": "OK INVALID_FIELD INTENT_ENDED NOT_A_MEMBER",
	"reply":        "OK NOT_A_MEMBER CHANNEL_CLOSED MESSAGE_NOT_FOUND NOT_A_REQUEST OWN_REQUEST MESSAGE_EXPIRED MESSAGE_DELETED",
	"retry":        "again",
	"ask":          "OK MESSAGE_TIMEOUT CHANNEL_CLOSED NOT_A_MEMBER INVALID_FIELD",
	"ask all":      "OK",
	"mark read":    "OK NOT_A_MEMBER MESSAGE_NOT_FOUND OWN_MESSAGE MESSAGE_EXPIRED SENDER_MISMATCH",
	"get":          "OK NOT_A_MEMBER MESSAGE_NOT_FOUND",
	"list":         "OK FORBIDDEN NOT_A_MEMBER CHANNEL_NOT_FOUND INVALID_FIELD",
	"responses":    "OK NOT_A_MEMBER MESSAGE_NOT_FOUND NOT_A_REQUEST NOT_THE_ASKER",
	"follow":       "OK FORBIDDEN NOT_A_MEMBER",
	"edit":         "OK NOT_THE_SENDER MESSAGE_NOT_FOUND ANSWERED MESSAGE_DELETED",
	"delete":       "OK NOT_THE_SENDER MESSAGE_NOT_FOUND AUDITED",
	"react":        "OK MESSAGE_NOT_FOUND",
	"look closely": "OK MESSAGE_NOT_FOUND",
}

// comesBefore is the operation that must have succeeded for an outcome.
var comesBefore = map[model.Outcome]string{
	"ANSWERED": "reply", "NOT_THE_ASKER": "reply", "MESSAGE_DELETED": "delete", "INTENT_ENDED": "set status",
}

// note counts an outcome. It counts separately the accepted sends that returned an earlier message again.
func (r reached) note(operation string, outcome model.Outcome) {
	r[step{operation, cmp.Or(outcome, "OK")}]++
}

// missing returns the steps that must be reached and were not.
func (r reached) missing(must map[string]string) []step {
	var missing []step
	for operation, outcomes := range must {
		for _, outcome := range strings.Fields(outcomes) {
			if wanted := (step{operation, model.Outcome(outcome)}); r[wanted] == 0 {
				missing = append(missing, wanted)
			}
		}
	}
	return missing
}

// String returns a table with one line for each operation.
func (r reached) String() string {
	steps := slices.SortedFunc(maps.Keys(r), func(a, b step) int {
		return cmp.Or(cmp.Compare(a.operation, b.operation), cmp.Compare(r[b], r[a]))
	})
	var table strings.Builder
	last := ""
	for _, s := range steps {
		if s.operation != last {
			fmt.Fprintf(&table, "\n%-17s", s.operation)
			last = s.operation
		}
		fmt.Fprintf(&table, " %s %d ", s.outcome, r[s])
	}
	return table.String()
}
