package siege

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// pageBytes bounds an answer: the 3 MiB of a page, plus what JSON adds around them.
	pageBytes = 4 << 20
	// grownMiB bounds how much the server's memory may grow while slow readers hold pages.
	grownMiB = 300
)

// TestLargeTasksComeInPages lists tasks of the largest allowed size, also with readers that do not read.
func TestLargeTasksComeInPages(t *testing.T) {
	harness.EachProcess(t, func(t *testing.T, h *harness.Server) {
		ann := h.As("ann")
		intent, err := ann.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "large tasks"})
		require.NoError(t, err)
		many := size(40, 400)
		makeTasks(t, ann, intent.GetId(), many)
		before := residentMiB(t, ann)
		path := "/v1/intents/" + intent.GetId() + "/tasks"

		began := time.Now()
		first := ann.REST(t, "GET", path, "")
		took := time.Since(began)
		require.Equal(t, http.StatusOK, first.Status)
		require.Less(t, len(first.Body), pageBytes)
		listed, err := ann.Tasks.ListTasks(t.Context(), &openintentv1.ListTasksRequest{IntentId: intent.GetId()})
		require.NoError(t, err)
		require.Less(t, proto.Size(listed), pageBytes)

		var slow []io.ReadCloser
		for range 4 {
			request, err := ann.Request(t.Context(), "GET", path, "")
			require.NoError(t, err)
			response, err := h.HTTP.Do(request) //nolint:bodyclose // closed below, once the memory was measured
			require.NoError(t, err)
			slow = append(slow, response.Body)
		}
		during := residentMiB(t, ann)
		for _, body := range slow {
			_, err := io.Copy(io.Discard, body)
			require.NoError(t, err)
			require.NoError(t, body.Close())
		}
		pages, tasks := followLinks(t, ann, path)
		require.Equal(t, many, tasks, "each task is on the pages once")
		figure(t, "%d tasks of 256 KiB of input: the first page took %v and has %.1f MiB, %d pages in all; "+
			"RSS %d MiB before, %d MiB with four readers that do not read", many, took.Round(time.Millisecond),
			float64(len(first.Body))/(1<<20), pages, before, during)
		require.Less(t, during-before, grownMiB)
	})
}

func makeTasks(t *testing.T, by *harness.Caller, intent string, many int) {
	t.Helper()
	input, err := structpb.NewStruct(map[string]any{"text": strings.Repeat("x", 256<<10-20)})
	require.NoError(t, err)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := worker; i < many; i += 8 {
				_, err := by.Tasks.CreateTask(t.Context(), &openintentv1.CreateTaskRequest{
					IntentId: intent, Name: fmt.Sprint("task ", i), Input: input,
				})
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

var nextPage = regexp.MustCompile(`^<([^>]+)>; rel="next"$`)

// followLinks reads a list to its end and counts its pages and tasks.
func followLinks(t *testing.T, by *harness.Caller, path string) (pages, entries int) {
	t.Helper()
	seen := make(map[string]bool)
	for {
		answer := by.REST(t, "GET", path, "")
		require.Equal(t, http.StatusOK, answer.Status, string(answer.Body))
		var tasks []struct{ ID string }
		answer.Decode(t, &tasks)
		for _, task := range tasks {
			seen[task.ID] = true
		}
		pages++
		link := nextPage.FindStringSubmatch(answer.Header.Get("Link"))
		if link == nil {
			return pages, len(seen)
		}
		path = link[1]
	}
}

// TestVerifyingALogLeavesOthersAlone verifies a long log many times simultaneously, while others list messages.
func TestVerifyingALogLeavesOthersAlone(t *testing.T) {
	harness.EachProcess(t, func(t *testing.T, h *harness.Server) {
		ann, bob := h.As("ann"), h.As("bob")
		intent, err := ann.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "long log"})
		require.NoError(t, err)
		audit := true
		channel, err := ann.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{
			IntentId: intent.GetId(), Name: "audited", Options: &openintentv1.ChannelOptions{Audit: &audit},
		})
		require.NoError(t, err)
		logged := size(2_000, 55_000)
		sendMany(t, ann, channel.GetId(), logged)

		undisturbed := listingP50(t, bob, channel.GetId(), func() bool { return false })
		began := time.Now()
		whole, err := ann.Events.VerifyEvents(t.Context(), &openintentv1.VerifyEventsRequest{IntentId: intent.GetId()})
		took := time.Since(began)
		require.NoError(t, err)
		require.True(t, whole.GetValid())
		require.GreaterOrEqual(t, whole.GetEventCount(), int64(logged))
		require.Less(t, proto.Size(whole), pageBytes)

		for _, many := range []int{8, 24} {
			var disturbed time.Duration
			var unready int
			done, refused := verifyAtOnce(t, h, intent.GetId(), many, func(going func() bool) {
				disturbed = listingP50(t, bob, channel.GetId(), going)
				if bob.REST(t, "GET", "/readyz", "").Status != http.StatusOK {
					unready++
				}
			})
			figure(t, "%d events, verified in %v with an answer of %d KiB; %d callers at once: %d verified, %d refused; "+
				"another's list p50 %v, undisturbed %v", whole.GetEventCount(), took.Round(time.Millisecond),
				proto.Size(whole)>>10, many, done, refused, disturbed.Round(10*time.Microsecond),
				undisturbed.Round(10*time.Microsecond))
			require.Zero(t, unready, "/readyz failed")
			require.Less(t, disturbed, 3*undisturbed+100*time.Millisecond)
		}
	})
}

// verifyAtOnce makes callers verify a log simultaneously, and again once all are answered, while something else is
// done. It returns how often they succeeded and how often they were refused.
func verifyAtOnce(
	t *testing.T, h *harness.Server, intent string, callers int, meanwhile func(going func() bool),
) (done, refused int) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var mutex sync.Mutex
	once := func(caller *harness.Caller) {
		_, err := caller.Events.VerifyEvents(ctx, &openintentv1.VerifyEventsRequest{IntentId: intent})
		mutex.Lock()
		defer mutex.Unlock()
		switch {
		case err == nil:
			done++
		case status.Code(err) == codes.ResourceExhausted:
			refused++
		case ctx.Err() == nil:
			t.Error(err)
		}
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			var all sync.WaitGroup
			for i := range callers {
				all.Go(func() { once(h.As(fmt.Sprint("verifier-", i))) })
			}
			all.Wait()
		}
	}()
	meanwhile(func() bool {
		mutex.Lock()
		defer mutex.Unlock()
		return done+refused < callers
	})
	stop()
	<-ended
	return done, refused
}

// listingP50 lists a channel's newest messages, at least fifty times and for as long as something is going on, and
// returns the median duration.
func listingP50(t *testing.T, by *harness.Caller, channel string, going func() bool) time.Duration {
	t.Helper()
	limit := int32(10)
	var times []time.Duration
	for len(times) < 50 || going() {
		began := time.Now()
		_, err := by.Messages.ListMessages(t.Context(), &openintentv1.ListMessagesRequest{ChannelId: channel, Limit: &limit})
		require.NoError(t, err)
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	return times[len(times)/2]
}

func sendMany(t *testing.T, by *harness.Caller, channel string, many int) {
	t.Helper()
	sendAll(t, by, many, &openintentv1.SendMessageRequest{ChannelId: channel, Payload: text("one of many")})
}

// residentMiB returns the server's memory, as the server itself reports it.
func residentMiB(t *testing.T, by *harness.Caller) int {
	t.Helper()
	const name = "process_resident_memory_bytes "
	for line := range bytes.Lines(by.REST(t, "GET", "/metrics", "").Body) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(string(line)), name); ok {
			resident, err := strconv.ParseFloat(value, 64)
			require.NoError(t, err)
			return int(resident) >> 20
		}
	}
	t.Fatal("the metrics do not say how much memory the server has")
	return 0
}
