//go:build failover

package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

const (
	// soonEnough is how long calls may take to succeed again once the new primary accepts writes.
	soonEnough = 5 * time.Second
	// between bounds the time between two failovers.
	between = 5 * time.Second
)

// failures are the ways in which the cluster loses its primary. Each breaks it and returns how to repair it. A Patroni that hung is
// killed, as its watchdog would do it, and begins anew: Patroni 3.0 takes the lead again if it just goes on after it has lost it.
var failures = []struct {
	name   string
	happen func(c *cluster, primary, other *node) (repair func())
}{
	{"the primary's machine is killed", func(c *cluster, primary, _ *node) func() {
		primary.hold(c.t)
		signal(syscall.SIGKILL, append([]int{primary.patroniPID(c.t)}, primary.processes(c.t)...)...)
		return func() { primary.release(c.t) }
	}},
	{"a switchover", func(c *cluster, primary, other *node) func() {
		c.await("Patroni to accept the switchover", func(ctx context.Context) bool {
			status, err := primary.ask(ctx, http.MethodPost, "/switchover", map[string]string{
				"leader": primary.name, "candidate": other.name,
			}, nil)
			return err == nil && status == http.StatusOK
		})
		return func() {}
	}},
	{"the primary's machine hangs", func(c *cluster, primary, _ *node) func() {
		patroni, frozen := primary.patroniPID(c.t), primary.processes(c.t)
		signal(syscall.SIGSTOP, append([]int{patroni}, frozen...)...)
		return func() {
			signal(syscall.SIGKILL, patroni) // as its watchdog would
			signal(syscall.SIGCONT, frozen...)
		}
	}},
	{"the primary's Patroni hangs, and PostgreSQL goes on", func(c *cluster, primary, _ *node) func() {
		patroni := primary.patroniPID(c.t)
		signal(syscall.SIGSTOP, patroni)
		return func() { signal(syscall.SIGKILL, patroni) }
	}},
}

// TestNothingIsLostInFailovers lets a cluster of PostgreSQL lose its primary again and again, each time in another way, under the
// load of the torture. Nothing of ours is restarted. Every commit is on two servers before it is acknowledged, so nothing may be
// lost.
func TestNothingIsLostInFailovers(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-torture.seed=%d -torture.duration=%s", *seed, *duration)
	c := openCluster(t)
	replicas := startReplicas(t, c)
	w := newWorld(t, *seed, replicas)
	receiving, endReceiving := context.WithCancel(t.Context())
	defer func() {
		endReceiving()
		w.receivers.Wait()
	}()
	w.startReceivers(receiving)
	sending, endSending := context.WithCancel(t.Context())
	defer func() {
		endSending()
		w.senders.Wait()
		w.answerers.end()
	}()
	w.startSenders(sending)
	timed := w.startTimed(sending, receiving)

	finish := sync.OnceFunc(func() { close(w.stopping) })
	defer finish() // also if the test fails before
	took := c.failOver(w, timed)

	finish()
	w.senders.Wait()
	w.awaitReceivers()
	w.answerers.end()
	w.awaitReceivers()
	w.pickUp(sending)
	w.readLogs(sending)
	endReceiving()
	w.receivers.Wait()
	var findings []Finding
	var verdict string
	w.change(func(h *History) { findings = Check(h); verdict = w.verdict(findings) })
	t.Logf("\n%s\n%s\n%s", w.report(), w.transports(), strings.Join(took, "\n"))
	t.Logf("%d failovers: %s", len(took), verdict)
	requireAlive(t, replicas)
	tell(t, findings)
}

// startReplicas starts two of our servers on the cluster. One of them neither sends nor receives notifications.
func startReplicas(t *testing.T, c *cluster) (replicas []*harness.Server) {
	for number := range 2 {
		options := harness.Options{URL: c.url(), Flags: []string{"--webhook-allowed-networks=127.0.0.0/8"}}
		if number == 1 {
			options.Flags = append(options.Flags, "--no-notifications")
		}
		replicas = append(replicas, harness.StartProcess(t, options))
	}
	return replicas
}

// failOver lets the cluster lose its primary in every way, in turn, until the time is over. It returns a line about each failover.
func (c *cluster) failOver(w *world, timed *timed) (took []string) {
	clock := w.client("", "failing over")
	for began, number := time.Now(), 0; time.Since(began) < *duration; number++ {
		failure := failures[number%len(failures)]
		c.awaitWhole(true)
		primary, other := c.primary()
		clock.rest(c.t.Context(), between/2, between)
		broken := time.Now()
		repair := failure.happen(c, primary, other)
		c.promoted(other)
		promoted := time.Now()
		clock.rest(c.t.Context(), 0, 3*time.Second) // nobody repairs a machine at once
		repair()
		accepted := c.accepted(other)
		c.awaitWhole(true)
		line := fmt.Sprintf("  %2d %-52s new primary after %5.1fs, accepts writes after %5.1fs", number+1, failure.name,
			promoted.Sub(broken).Seconds(), accepted.since().Sub(broken).Seconds())
		firsts, late := timed.after(c.t, accepted)
		accepted.stop()
		if len(late) > 0 {
			c.t.Errorf("failover %d (%s): too late succeeded %v", number+1, failure.name, late)
		}
		c.t.Log(line + firsts)
		took = append(took, line+firsts)
	}
	return took
}

// verdict says in one line what the findings mean for the promise that nothing is lost.
func (w *world) verdict(findings []Finding) string {
	count := make(map[Kind]int)
	for _, finding := range findings {
		count[finding.Kind]++
	}
	acknowledged, received := 0, 0
	w.history.each(func(send *Send) {
		if send.Acknowledged {
			acknowledged++
		}
	})
	for _, count := range w.received {
		received += count
	}
	return fmt.Sprintf("%d acknowledged, %d received; %d lost, %d doubled, %d out of order", acknowledged, received,
		count[Lost]+count[Unanswered]+count[Unlogged], count[Doubled]+count[Repeated], count[Reordered])
}

// requireAlive fails the test if a replica has ended by itself.
func requireAlive(t *testing.T, replicas []*harness.Server) {
	for _, replica := range replicas {
		require.NoError(t, syscall.Kill(replica.PID(t), 0))
	}
}
