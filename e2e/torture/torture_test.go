package torture

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
)

var (
	duration = flag.Duration("torture.duration", 8*time.Second, "how long messages are sent and faults are injected")
	seed     = flag.Uint64("torture.seed", 0, "decides the schedule of faults and the clients' choices; 0 picks one")
)

func TestMain(m *testing.M) { harness.Main(m) }

// TestNothingIsLostUnderTorture runs the test that the package's documentation describes.
func TestNothingIsLostUnderTorture(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-torture.seed=%d -torture.duration=%s", *seed, *duration)
	postgres := databasetest.StartServer(t)
	url := postgres.Database(t)
	flags := []string{"--webhook-allowed-networks=127.0.0.0/8"}
	var replicas []*harness.Server
	for number := range 3 {
		options := harness.Options{URL: url, Flags: flags}
		if number == 2 {
			options.Flags = append(options.Flags[:len(flags):len(flags)], "--no-notifications")
		}
		replicas = append(replicas, harness.StartProcess(t, options))
	}

	w := newWorld(t, *seed, replicas)
	c := &chaos{
		t: t, random: rand.New(rand.NewPCG(*seed, 0)), world: w, postgres: postgres, url: url,
		injected: make(map[string]int), flooded: w.quietChannel("flooded"), longest: min(*duration/8, 20*time.Second),
	}
	w.live(func(ctx context.Context) {
		breaking, endBreaking := context.WithTimeout(ctx, *duration)
		defer endBreaking()
		c.run(breaking)
	})

	w.awaitGone()
	var findings []Finding
	w.change(func(h *History) { findings = Check(h) }) // a webhook may still be posted once more
	t.Logf("\n%s\n%s\n%s\n%s\n%s", w.report(), w.slowest(), w.sightings(), w.transports(), c.report())
	tell(t, findings)
	harness.RequireWhole(t, url)
}

// live lets agents send and receive while do runs. At the end, when all faults have stopped, senders and askers finish their work,
// everything is answered, and everyone receives the rest.
func (w *world) live(do func(ctx context.Context)) {
	receiving, endReceiving := context.WithCancel(w.t.Context())
	defer func() {
		endReceiving()
		w.receivers.Wait()
	}()
	w.startReceivers(receiving)
	sending, endSending := context.WithCancel(w.t.Context())
	defer func() {
		endSending()
		w.senders.Wait()
		w.answerers.end()
	}()
	w.startSenders(sending)
	w.startTiming(sending)
	if !w.plain {
		w.startLooking(sending)
	}
	do(w.t.Context())

	close(w.stopping)
	w.senders.Wait()
	w.awaitReceivers()
	w.answerers.end()
	w.awaitReceivers()
	w.pickUp(sending)
	w.readLogs(sending)
}

// awaitReceivers waits until every receiver has everything that it must receive, or until no missing message has come for a
// long time.
func (w *world) awaitReceivers() {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	least, progress := math.MaxInt, time.Now()
	for {
		missing, count := w.missing()
		switch {
		case count == 0:
			return
		case count < least:
			least, progress = count, time.Now()
		case time.Since(progress) > harness.Patience/2:
			w.t.Logf("still waiting for messages: %v", missing)
			return
		}
		<-again.C
	}
}

// report counts what was sent.
func (w *world) report() string {
	var sent, acknowledged, refused, answered, timedOut int
	w.history.each(func(send *Send) {
		sent++
		if send.Acknowledged {
			acknowledged++
		}
		if send.Refused {
			refused++
		}
	})
	for _, ask := range w.history.Asks {
		if len(ask.Answers) > 0 {
			answered++
		} else if ask.Complete {
			timedOut++
		}
	}
	reactions, known, denied := len(w.history.Reactions), 0, 0
	for _, reaction := range w.history.Reactions {
		if reaction.Acknowledged {
			known++
		}
		if reaction.Refused {
			denied++
		}
	}
	return fmt.Sprintf("%d sends: %d were acknowledged, %d were refused and %d have an unknown outcome\n"+
		"%d questions: %d were answered and %d ran out\n"+
		"%d reactions: %d were acknowledged, %d were refused and %d have an unknown outcome; %d annotations were received", sent, acknowledged, refused, sent-acknowledged-refused,
		len(w.history.Asks), answered, timedOut, reactions, known, denied, reactions-known-denied, w.annotations)
}

// tell fails the test if there are findings, and prints the first ones of each kind.
func tell(t *testing.T, findings []Finding) {
	t.Helper()
	const most = 10
	count := make(map[Kind]int)
	var lines []string
	for _, finding := range findings {
		if count[finding.Kind]++; count[finding.Kind] <= most {
			lines = append(lines, fmt.Sprintf("  %s: %s", finding.Kind, finding.Text))
		}
	}
	if len(findings) > 0 {
		t.Errorf("%d findings %v:\n%s", len(findings), count, strings.Join(lines, "\n"))
	}
}
