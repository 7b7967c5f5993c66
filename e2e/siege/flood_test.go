package siege

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
)

const (
	floodKeys = harness.Key + ",flood-key=flooder,victim-key=victim"
	// floodVariable turns the test's program into a flooder. Its value is the address, the channel, the number of
	// streams and the bytes of each message.
	floodVariable = "OPENINTENT_SIEGE_FLOOD"
)

// TestFloodOfOneKey sends with one bound key on many streams as fast as possible. Another key's sends must not be
// refused, and must take little longer than without the flood.
func TestFloodOfOneKey(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		h := harness.StartProcess(t, harness.Options{URL: url, APIKeys: floodKeys})
		flooded, own := newPlace(t, h, "flooded"), newPlace(t, h, "own")
		victim := h.With("victim-key", "")
		sends := size(30, 500)
		attacks := []struct {
			name           string
			streams, bytes int
			where          string
			at             place
		}{
			{"64 streams of small messages", 64, 16, "another intent", own},
			{"200 streams of 4 KB", 200, 4000, "the same intent", flooded},
			{"64 streams of small messages", 64, 16, "the same intent", flooded},
			{"200 streams of 4 KB", 200, 4000, "another intent", own},
		}
		for _, attack := range attacks[:size(2, len(attacks))] {
			calm, _ := measure(t, victim, attack.at, sends)
			flood := startFlood(t, h, flooded, attack.streams, attack.bytes)
			under, refused := measure(t, victim, attack.at, sends)
			messages := flood.end(t)
			aim := 3*quantile(calm, .5) + 10*time.Millisecond
			figure(t, "%s, the victim in %s: p50 %v calm, %v under the flood (aim %v), p99 %v; %d of %d refused; %.0f messages/s flooded",
				attack.name, attack.where, quantile(calm, .5), quantile(under, .5), aim, quantile(under, .99), refused, sends, messages)
			require.Zero(t, refused)
			assert.Less(t, quantile(under, .5), size(10*aim+500*time.Millisecond, aim)) // a busy machine is not a failure
		}
	})
}

// measure sends messages one after the other. It returns how long each took, and how many were refused.
func measure(t *testing.T, sender *harness.Caller, to place, count int) (took []time.Duration, refused int) {
	for range count {
		began := time.Now()
		_, err := sender.Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{ChannelId: to.channel, Payload: text("here")})
		if err != nil {
			t.Logf("the victim is refused: %v", err)
			refused++
		}
		took = append(took, time.Since(began))
	}
	return took, refused
}

// flood is a flooding process.
type flood struct {
	command *exec.Cmd
	began   time.Time
	stdin   io.Closer
	output  *strings.Builder
}

// startFlood makes another process flood a channel, and returns once it does so on all streams.
func startFlood(t *testing.T, h *harness.Server, at place, streams, bytes int) *flood {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d %d", floodVariable, h.GRPCAddress(), at.channel, streams, bytes))
	f := &flood{command: command, output: &strings.Builder{}}
	stdin, err := command.StdinPipe()
	require.NoError(t, err)
	stdout, err := command.StdoutPipe()
	require.NoError(t, err)
	command.Stderr = os.Stderr
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = command.Process.Kill() })
	_, err = fmt.Fscanln(stdout, new(string)) // it has begun
	require.NoError(t, err)
	f.stdin, f.began = stdin, time.Now()
	go func() { _, _ = io.Copy(f.output, stdout) }()
	return f
}

// end ends the flood and returns how many of its messages were acknowledged per second.
func (f *flood) end(t *testing.T) (rate float64) {
	seconds := time.Since(f.began).Seconds()
	require.NoError(t, f.stdin.Close())
	require.NoError(t, f.command.Wait())
	var acknowledged, refused float64
	_, err := fmt.Sscan(f.output.String(), &acknowledged, &refused)
	require.NoError(t, err)
	if refused > 0 {
		t.Logf("%.0f messages of the flood were refused", refused)
	}
	return acknowledged / seconds
}

// runFlood is the flooding process: it floods until its standard input ends, and prints what happened to its
// messages.
func runFlood(order string) {
	var address, channel string
	var streams, bytes int
	if _, err := fmt.Sscan(order, &address, &channel, &streams, &bytes); err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(metadata.AppendToOutgoingContext(context.Background(), "x-api-key", "flood-key"))
	payload := text(strings.Repeat("x", bytes))
	var mutex sync.Mutex
	var acknowledged, refused int
	var begun, all sync.WaitGroup
	for range streams {
		begun.Add(1)
		all.Go(func() {
			stored, not := floodStream(ctx, address, &openintentv1.SendMessageRequest{ChannelId: channel, Payload: payload}, begun.Done)
			mutex.Lock()
			defer mutex.Unlock()
			acknowledged, refused = acknowledged+stored, refused+not
		})
	}
	begun.Wait()
	fmt.Println("begun")
	_, _ = io.Copy(io.Discard, os.Stdin)
	cancel()
	all.Wait()
	fmt.Println(acknowledged, refused)
}

// floodStream sends the same message repeatedly on a stream, without waiting for answers.
func floodStream(
	ctx context.Context, address string, message *openintentv1.SendMessageRequest, begun func(),
) (acknowledged, refused int) {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	defer func() { _ = connection.Close() }()
	stream, err := openintentv1.NewMessageServiceClient(connection).SendMessages(ctx)
	if err != nil {
		panic(err)
	}
	go func() {
		for stream.Send(message) == nil {
		}
	}()
	for first := true; ; first = false {
		answer, err := stream.Recv()
		if first {
			begun()
		}
		switch {
		case err != nil:
			return acknowledged, refused
		case answer.GetRefusal() != nil:
			refused++
		default:
			acknowledged++
		}
	}
}
