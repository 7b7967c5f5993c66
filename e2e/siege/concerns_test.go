package siege

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
)

// atOnce is how many callers of one key ask at the same time.
const atOnce = 64

// TestConcernsWithoutEnd asks with one bound key for what needs its agent, 64 times at once and without end, and then over connections whose
// answers it hardly reads. Thousands of requests wait for the agent, and thousands of its own for somebody else, so that there is much to look
// through, also for what is not there. Another key's sends and its inbox must take little longer than without it, and nobody else is refused.
func TestConcernsWithoutEnd(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		h := harness.StartProcess(t, harness.Options{URL: url, APIKeys: floodKeys})
		// A key leaves some 10,000 messages with an agent that does not know their sender, and no more.
		many, victim, greedy := size(200, 9_000), h.With("victim-key", ""), h.With("flood-key", "")
		own, asked, waiting := newPlace(t, h, "own"), largePlace(t, h, "asked"), largePlace(t, h, "waiting")
		request := openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum()
		sendAll(t, h.Operator(), many, &openintentv1.SendMessageRequest{
			ChannelId: asked.channel, To: ptr("flooder"), MessageType: request, Payload: text("to you"),
		})
		sendAll(t, greedy, many, &openintentv1.SendMessageRequest{
			ChannelId: waiting.channel, To: ptr("nobody"), MessageType: request, Payload: text("to nobody"),
		})
		sendAll(t, h.Operator(), 20, &openintentv1.SendMessageRequest{ChannelId: own.channel, To: ptr("victim"), Payload: text("to the victim")})
		for _, attack := range []struct {
			name string
			path string
		}{
			{"concerns", "/v1/concerns"},
			{"concerns of somebody who is not there", "/v1/concerns?agent_id=nobody-else"},
		} {
			besiegeWithReads(t, h, victim, own, attack.name, readingOrder{h.BaseURL(), "flood-key", []string{attack.path}, atOnce})
		}
		besiegeWithSlowReaders(t, h, victim, own)
	})
}

// besiegeWithSlowReaders measures a victim's sends and inboxes while one key has 64 connections full of requests for concerns, and takes a
// little of each answer now and then.
func besiegeWithSlowReaders(t *testing.T, h *harness.Server, victim *harness.Caller, at place) {
	t.Helper()
	rounds := size(3, 20)
	calmSends, calmInboxes := sendsAndInboxes(t, victim, at, 10*rounds)
	before := residentMB(t, h)
	slow := askWithoutReading(t, h, "/v1/concerns", "flood-key")
	var sends, inboxes []time.Duration
	for range rounds {
		slow.read(t, 512)
		moreSends, moreInboxes := sendsAndInboxes(t, victim, at, 10)
		sends, inboxes = append(sends, moreSends...), append(inboxes, moreInboxes...)
	}
	grown := residentMB(t, h) - before
	figure(t, "concerns, read slowly on 64 connections: sends p50 %v calm, %v beside them; inboxes p50 %v calm, %v beside them; %d MB more memory",
		quantile(calmSends, .5), quantile(sends, .5), quantile(calmInboxes, .5), quantile(inboxes, .5), grown)
	assert.Less(t, grown, grownMiB)
	if *full { // a busy machine is not a failure
		assert.LessOrEqual(t, quantile(sends, .5), 3*quantile(calmSends, .5)+10*time.Millisecond)
		assert.LessOrEqual(t, quantile(inboxes, .5), 3*quantile(calmInboxes, .5)+10*time.Millisecond)
	}
}

// slowReaders are connections with more answers than anybody takes.
type slowReaders []net.Conn

// askWithoutReading opens 64 connections and sends 200 requests for a path on each, without reading an answer.
func askWithoutReading(t *testing.T, h *harness.Server, path, key string) (all slowReaders) {
	t.Helper()
	var dialer net.Dialer
	requests := strings.Repeat(fmt.Sprintf("GET %s HTTP/1.1\r\nHost: localhost\r\nX-API-Key: %s\r\n\r\n", path, key), 200)
	for range atOnce {
		connection, err := dialer.DialContext(context.Background(), "tcp", strings.TrimPrefix(h.BaseURL(), "http://"))
		require.NoError(t, err)
		t.Cleanup(func() { _ = connection.Close() })
		_, err = connection.Write([]byte(requests))
		require.NoError(t, err)
		all = append(all, connection)
	}
	return all
}

// read takes a few bytes of what has come on each connection, and does not wait for more.
func (s slowReaders) read(t *testing.T, bytes int) {
	t.Helper()
	buffer := make([]byte, bytes)
	for _, connection := range s {
		require.NoError(t, connection.SetReadDeadline(time.Now().Add(time.Millisecond)))
		if _, err := connection.Read(buffer); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Logf("the server has cut off a connection: %v", err)
		}
	}
}
