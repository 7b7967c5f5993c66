//go:build upgrade

package torture

import (
	"context"
	"flag"
	"math/rand/v2"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

var (
	previous = flag.String("torture.previous", "", "the program of the previous release; scripts/released.sh builds it")
	resting  = flag.Duration("torture.resting", 3*time.Second, "how long messages are sent between two replacements")
	killing  = flag.Bool("torture.killing", false, "kill the replicas that are replaced instead of stopping them")
)

// TestNothingIsLostWhileReplicasChangeTheirRelease replaces three replicas of the previous release by this one under load, one after the
// other, then rolls them back, and replaces them again. Before the first replacement the database is migrated apart from them. The
// agents use what the previous release has.
func TestNothingIsLostWhileReplicasChangeTheirRelease(t *testing.T) {
	require.NotEmpty(t, *previous, "name the program of the previous release with -torture.previous; make upgrade does")
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-torture.seed=%d -torture.resting=%s -torture.killing=%t", *seed, *resting, *killing)
	url, present := databasetest.StartServer(t).Database(t), harness.Executable(t)
	var replicas []*harness.Server
	for range 3 {
		replicas = append(replicas, harness.StartProcess(t, harness.Options{
			URL: url, Program: *previous, Flags: []string{"--webhook-allowed-networks=127.0.0.0/8"},
		}))
	}
	w := newWorld(t, *seed, replicas)
	w.plain = true
	w.live(func(ctx context.Context) {
		c := w.client("", "replacing of replicas")
		c.rest(ctx, *resting/2, *resting)
		t.Log(migrate(t, present, url))
		for _, program := range []string{present, *previous, present} {
			for number := range replicas {
				c.rest(ctx, *resting/2, *resting)
				w.replace(number, program)
			}
		}
		c.rest(ctx, *resting, 2**resting)
	})
	var findings []Finding
	w.change(func(h *History) { findings = Check(h) })
	t.Logf("\n%s\n%s\n%s", w.report(), w.slowest(), w.transports())
	tell(t, findings)
}

// A SQLite file of the previous release serves this one, and the previous one again, and nothing is gone.
func TestAFileGoesToTheNextReleaseAndBack(t *testing.T) {
	require.NotEmpty(t, *previous, "name the program of the previous release with -torture.previous; make upgrade does")
	present := harness.Executable(t)
	replica := harness.StartProcess(t, harness.Options{URL: databasetest.BlankURL(t, database.SQLite), Program: *previous})
	operator, ctx := replica.Operator(), t.Context()
	intent, err := operator.Intents.CreateIntent(ctx, &openintentv1.CreateIntentRequest{Title: "upgrade"})
	require.NoError(t, err)
	channel, err := operator.Channels.CreateChannel(ctx, &openintentv1.CreateChannelRequest{IntentId: intent.GetId(), Name: "talk"})
	require.NoError(t, err)
	var sent []string
	for _, program := range []string{*previous, present, *previous, present} {
		require.NoError(t, replica.Stop())
		replica.Become(t, program)
		replica.Start(t)
		message, err := replica.As("ann").Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{
			ChannelId: channel.GetId(), Payload: payloadOf("one more"),
		})
		require.NoError(t, err)
		sent = append(sent, message.GetId())
		page, err := replica.As("bob").Messages.ListMessages(ctx, &openintentv1.ListMessagesRequest{ChannelId: channel.GetId()})
		require.NoError(t, err)
		var found []string
		for _, m := range page.GetMessages() {
			found = append(found, m.GetId())
		}
		require.Equal(t, sent, found)
	}
}

// migrate brings the database up to date beside the running replicas, and says what that did.
func migrate(t *testing.T, program, url string) string {
	began := time.Now()
	output, err := exec.Command(program, "migrate", "--database-url", url).CombinedOutput()
	require.NoError(t, err, "%s", output)
	return string(output) + "in " + time.Since(began).String()
}

// replace lets a replica run another program.
func (w *world) replace(number int, program string) {
	w.disturb(number, func() {
		replica := w.replicas[number]
		if *killing {
			replica.Kill()
		} else if err := replica.Stop(); err != nil {
			w.problem("a replica did not stop properly: %v", err)
		}
		replica.Become(w.t, program)
		replica.Start(w.t)
	})
}
