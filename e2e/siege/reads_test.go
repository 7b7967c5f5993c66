package siege

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
)

// readsVariable turns the test's program into a reader without end. Its value is a readingOrder.
const readsVariable = "OPENINTENT_SIEGE_READS"

// readingOrder is what a reading process does: so many GETs at a time, without end, of one path after the other.
type readingOrder struct {
	Base, Key string
	Paths     []string
	AtOnce    int
}

// TestReadsWithoutEnd reads with one bound key what is dear to read, 64 times at once, without end. The reading process has half a
// processor. Another key's sends and its inbox must take little longer than without it, and nobody else is refused.
func TestReadsWithoutEnd(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		h := harness.StartProcess(t, harness.Options{URL: url, APIKeys: floodKeys})
		many, victim, greedy := size(300, 60_000), h.With("victim-key", ""), h.With("flood-key", "")
		own, listed, threaded, told := newPlace(t, h, "own"), largePlace(t, h, "listed"), largePlace(t, h, "threaded"), largePlace(t, h, "told")
		first, err := greedy.Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{ChannelId: listed.channel, Payload: text("first")})
		require.NoError(t, err)
		sendMany(t, greedy, listed.channel, many)
		root, err := greedy.Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{ChannelId: threaded.channel, Payload: text("root")})
		require.NoError(t, err)
		rootID := root.GetId()
		sendAll(t, greedy, many/6, &openintentv1.SendMessageRequest{ChannelId: threaded.channel, ParentId: &rootID, Payload: text("reply")})
		sendAll(t, h.Operator(), many, &openintentv1.SendMessageRequest{ChannelId: told.channel, To: ptr("flooder"), Payload: text("to you")})
		sendAll(t, h.Operator(), 20, &openintentv1.SendMessageRequest{ChannelId: own.channel, To: ptr("victim"), Payload: text("to the victim")})
		messages := "/v1/channels/" + listed.channel + "/messages"
		thread := "/v1/channels/" + threaded.channel + "/messages/" + rootID + "/thread"
		for _, attack := range []struct {
			name  string
			paths []string
		}{
			{"messages of a kind that none has", []string{messages + "?kind=nope"}},
			{"long lists", []string{messages + "?limit=1000", messages + "?limit=1000&since=" + first.GetId()}},
			{"threads", []string{thread, thread + "?limit=1000"}},
			{"all three", []string{messages + "?kind=nope", messages + "?limit=1000", thread}},
			{"a full inbox", []string{"/v1/agents/flooder/inbox?include=attention&policy=must_respond&limit=1"}},
		}[size(3, 0):] {
			besiegeWithReads(t, h, victim, own, attack.name, readingOrder{h.BaseURL(), "flood-key", attack.paths, 64})
		}
	})
}

// largePlace is a place whose channel keeps many messages.
func largePlace(t *testing.T, h *harness.Server, title string) place {
	t.Helper()
	creator := h.As("creator")
	intent, err := creator.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: title})
	require.NoError(t, err)
	channel, err := creator.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{
		IntentId: intent.GetId(), Name: title, Options: &openintentv1.ChannelOptions{MaxMessages: ptr(int64(100_000))},
	})
	require.NoError(t, err)
	return place{intent.GetId(), channel.GetId()}
}

func ptr[T any](value T) *T { return &value }

// sendAll sends the same message many times, over one stream.
func sendAll(t *testing.T, by *harness.Caller, many int, request *openintentv1.SendMessageRequest) {
	t.Helper()
	stream, err := by.Messages.SendMessages(t.Context())
	require.NoError(t, err)
	sent := make(chan error, 1)
	go func() {
		for range many {
			if err := stream.Send(request); err != nil {
				sent <- err
				return
			}
		}
		sent <- stream.CloseSend()
	}()
	for range many {
		answer, err := stream.Recv()
		require.NoError(t, err)
		require.Nil(t, answer.GetRefusal())
	}
	require.NoError(t, <-sent)
}

// besiegeWithReads measures a victim's sends and inboxes, alone and beside a reading process.
func besiegeWithReads(t *testing.T, h *harness.Server, victim *harness.Caller, at place, name string, order readingOrder) {
	calls := size(30, 500)
	calmSends, calmInboxes := sendsAndInboxes(t, victim, at, calls)
	before := residentMB(t, h)
	end := startReading(t, order)
	sends, inboxes := sendsAndInboxes(t, victim, at, calls)
	grown := residentMB(t, h) - before
	answered, refused := end()
	figure(t, "%s, 64 at once: sends p50 %v calm, %v beside them, p99 %v; inboxes p50 %v calm, %v beside them, p99 %v; "+
		"%d MB more memory; the reader got %d answers and %d refusals", name,
		quantile(calmSends, .5), quantile(sends, .5), quantile(sends, .99),
		quantile(calmInboxes, .5), quantile(inboxes, .5), quantile(inboxes, .99), grown, answered, refused)
	assert.Less(t, grown, grownMiB)
	if !*full { // a busy machine is not a failure
		return
	}
	for what, took := range map[string][2][]time.Duration{"sends": {calmSends, sends}, "inboxes": {calmInboxes, inboxes}} {
		assert.LessOrEqual(t, quantile(took[1], .5), 3*quantile(took[0], .5)+10*time.Millisecond, "%s beside %s", what, name)
		assert.Less(t, quantile(took[1], .99), 250*time.Millisecond, "%s beside %s", what, name)
	}
}

// sendsAndInboxes sends messages and reads an inbox in turn. It returns how long each took; none may be refused.
func sendsAndInboxes(t *testing.T, by *harness.Caller, to place, count int) (sends, inboxes []time.Duration) {
	for range count {
		began := time.Now()
		_, err := by.Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{ChannelId: to.channel, Payload: text("here")})
		require.NoError(t, err)
		sends = append(sends, time.Since(began))
		began = time.Now()
		_, err = by.Messages.GetInbox(t.Context(), &openintentv1.GetInboxRequest{AgentId: "victim"})
		require.NoError(t, err)
		inboxes = append(inboxes, time.Since(began))
	}
	return sends, inboxes
}

// startReading starts a reading process, and returns once it reads. end ends it, and returns how many answers and refusals it got.
func startReading(t *testing.T, order readingOrder) (end func() (answered, refused int64)) {
	t.Helper()
	value, err := json.Marshal(order)
	require.NoError(t, err)
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), readsVariable+"="+string(value))
	stdin, err := command.StdinPipe()
	require.NoError(t, err)
	stdout, err := command.StdoutPipe()
	require.NoError(t, err)
	command.Stderr = os.Stderr
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = command.Process.Kill() })
	_, err = fmt.Fscanln(stdout, new(string)) // it has begun
	require.NoError(t, err)
	return func() (answered, refused int64) {
		require.NoError(t, stdin.Close())
		_, err := fmt.Fscan(stdout, &answered, &refused)
		require.NoError(t, err)
		require.NoError(t, command.Wait())
		return answered, refused
	}
}

// runReads is the reading process: it reads until its standard input ends, and prints how many answers and refusals it got.
func runReads(value string) {
	var order readingOrder
	if err := json.Unmarshal([]byte(value), &order); err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: order.AtOnce}}
	var answered, refused atomic.Int64
	var begun, all sync.WaitGroup
	begun.Add(order.AtOnce)
	pace := newHalfAProcessor()
	for worker := range order.AtOnce {
		all.Go(func() {
			begun.Done()
			for n := worker; ctx.Err() == nil; n++ {
				pace.wait(ctx)
				switch readOnce(ctx, client, order.Base+order.Paths[n%len(order.Paths)], order.Key) {
				case http.StatusOK:
					answered.Add(1)
				case http.StatusTooManyRequests:
					refused.Add(1)
				}
			}
		})
	}
	begun.Wait()
	fmt.Println("begun")
	_, _ = io.Copy(io.Discard, os.Stdin)
	cancel()
	all.Wait()
	fmt.Println(answered.Load(), refused.Load())
}

// readOnce returns the status of the answer to a GET, or 0.
func readOnce(ctx context.Context, client *http.Client, url, key string) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		panic(err)
	}
	request.Header.Set("X-API-Key", key)
	response, err := client.Do(request)
	if err != nil {
		return 0
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return 0
	}
	if response.StatusCode >= http.StatusBadRequest && response.StatusCode != http.StatusTooManyRequests {
		panic(fmt.Sprint(strings.TrimPrefix(url, "http://"), " is answered with ", response.Status))
	}
	return response.StatusCode
}

// halfAProcessor keeps this process to half a processor.
type halfAProcessor struct{ began time.Time }

func newHalfAProcessor() halfAProcessor { return halfAProcessor{time.Now()} }

// wait waits until the process has used no more than half of the time that has passed.
func (p halfAProcessor) wait(ctx context.Context) {
	for ctx.Err() == nil {
		var used syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
			panic(err)
		}
		ahead := 2*time.Duration(used.Utime.Nano()+used.Stime.Nano()) - time.Since(p.began)
		if ahead <= 0 {
			return
		}
		select {
		case <-time.After(ahead):
		case <-ctx.Done():
		}
	}
}
