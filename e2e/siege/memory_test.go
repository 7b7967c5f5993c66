package siege

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// TestUnfinishedRequests measures what calls hold whose requests never end. Callers without a key must not make the
// server's memory grow, and a caller with a key only within its bound. At full size the server's deadline passes too,
// and nothing may be left after it.
func TestUnfinishedRequests(t *testing.T) {
	for _, caller := range []struct {
		name    string
		method  string
		headers []string
		status  string
		// most is by how many MB the server may grow. Where requests are read before they are refused, up to 128 MB
		// of garbage waits for collection.
		most int
	}{
		{"without a key", openintentv1.MessageService_SendMessage_FullMethodName, nil, statusStranger, 64},
		{"without a key, to a method that needs none", healthv1.Health_Check_FullMethodName, nil, statusDeadline, 160},
		{"with a key", openintentv1.MessageService_SendMessage_FullMethodName, []string{"x-api-key", harness.Key}, statusDeadline, 160},
	} {
		t.Run(caller.name, func(t *testing.T) {
			h := harness.StartProcess(t, harness.Options{})
			before := residentMB(t, h)
			attackers := sendUnfinished(t, h, caller.method, caller.headers)
			after, refused := residentMB(t, h), 0
			for _, a := range attackers {
				refused += a.count(statusStranger) + a.count(statusExhausted)
			}
			figure(t, "unfinished requests %s: %d calls of 4 MiB, %d refused; %d MB before, %d MB after", caller.name,
				len(attackers)*callsEach(), refused, before, after)
			if after > before+caller.most {
				t.Errorf("the server grew from %d to %d MB; it may grow by %d MB", before, after, caller.most)
			}
			if *full {
				for _, a := range attackers {
					a.until("the end of all calls", func() bool { return len(a.statuses) == callsEach() || a.ended != nil })
				}
				figure(t, "unfinished requests %s: %d MB after the deadline", caller.name, residentMB(t, h))
			}
		})
	}
}

func callsEach() int { return size(40, 100) }

// sendUnfinished begins calls on three connections and sends all of each request except its last byte.
func sendUnfinished(t *testing.T, h *harness.Server, method string, headers []string) []*attacker {
	t.Helper()
	body := append(prefix(4<<20), make([]byte, 4<<20-1)...)
	attackers := []*attacker{attack(t, h), attack(t, h), attack(t, h)}
	var sending sync.WaitGroup
	for _, a := range attackers {
		sending.Go(func() {
			for range callsEach() {
				stream, err := a.call(method, false, headers...)
				if err == nil {
					err = a.send(stream, body)
				}
				if err != nil && !errors.Is(err, errRefused) {
					t.Error(err)
				}
			}
		})
	}
	sending.Wait()
	return attackers
}

// TestUnfinishedRequestsInTinyPieces sends tiny pieces, which cost the server more memory than their content takes.
func TestUnfinishedRequestsInTinyPieces(t *testing.T) {
	h := harness.StartProcess(t, harness.Options{})
	before := residentMB(t, h)
	a := attack(t, h)
	calls, pieces := size(4, 20), size(50_000, 200_000)
	for range calls {
		stream, err := a.call(openintentv1.MessageService_SendMessage_FullMethodName, false, "x-api-key", harness.Key)
		require.NoError(t, err)
		err = a.send(stream, prefix(4<<20))
		for i := 0; i < pieces && err == nil; i++ {
			err = a.send(stream, []byte{0})
		}
	}
	after := residentMB(t, h)
	figure(t, "unfinished requests in pieces of one byte: %d calls of %d pieces; %d MB before, %d MB after", calls, pieces, before, after)
	require.Less(t, after, before+160)
}

// TestStreamsWithoutAKey checks the bound on streams that need no key.
func TestStreamsWithoutAKey(t *testing.T) {
	h := harness.StartProcess(t, harness.Options{})
	before := residentMB(t, h)
	connections, each := 4, size(250, 10_000)
	refused, places := 0, 100 // for one address
	for range connections {
		a := attack(t, h)
		for range each {
			stream, err := a.call(healthv1.Health_Watch_FullMethodName, false)
			require.NoError(t, err)
			require.NoError(t, a.framer.WriteData(stream, true, prefix(0)))
		}
		a.until("refusals", func() bool { return len(a.statuses) == each-places || a.ended != nil })
		refused, places = refused+a.count(statusExhausted), 0
	}
	after := residentMB(t, h)
	figure(t, "watches of health without a key: %d begun, %d refused; %d MB before, %d MB after", connections*each, refused, before,
		after)
	require.Equal(t, connections*each-100, refused)
	require.Less(t, after, before+size(100, 200))
}

// TestCallsTakenBack checks that a client that begins calls and resets them is cut off, and that the log reports it
// once.
func TestCallsTakenBack(t *testing.T) {
	h := harness.StartProcess(t, harness.Options{})
	a := attack(t, h)
	begun := 0
	for range 50_000 {
		stream, err := a.call(openintentv1.MessageService_Subscribe_FullMethodName, false, "x-api-key", harness.Key)
		if err == nil {
			err = a.reset(stream)
		}
		if err != nil {
			break
		}
		begun++
	}
	a.until("the end of the connection", func() bool { return a.ended != nil })
	figure(t, "calls taken back: the connection was closed after at most %d calls", begun)
	require.Eventually(t, func() bool { return strings.Contains(h.Log(), "kept resetting calls") }, harness.Patience, time.Millisecond)
	require.Equal(t, 1, strings.Count(h.Log(), "kept resetting calls"), "exactly one line reports it")
	_, err := h.Operator().Intents.ListIntents(t.Context(), &openintentv1.ListIntentsRequest{})
	require.NoError(t, err, "others are served")
}
