package traces

import (
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"

	openintentv1 "openintent/gen/openintent/v1"

	"openintent/e2e/harness"
)

// A stop of the program sends what still waits.
func TestAStopSendsWhatWaits(t *testing.T) {
	collector := StartCollector(t)
	collector.Listen(t)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "600000")
	t.Setenv("OTEL_SERVICE_NAME", "desk-server")
	h := harness.StartProcess(t, harness.Options{})
	trace, _, traceparent := someTrace(1)
	_, err := h.As("alice").Intents.ListIntents(metadata.AppendToOutgoingContext(t.Context(), "traceparent", traceparent),
		&openintentv1.ListIntentsRequest{})
	require.NoError(t, err)
	require.NoError(t, h.Stop())
	spans := collector.Spans()
	require.Len(t, spans, 1)
	require.Equal(t, trace, spans[0].Trace)
	require.Equal(t, "desk-server", spans[0].Service)
}

// A collector that is away holds up no call and no stop, and makes one line in the log.
func TestACollectorThatIsAwayHoldsNobodyUp(t *testing.T) {
	for _, how := range []string{"refuses", "hangs"} {
		for _, protocol := range []string{"grpc", "http/protobuf"} {
			t.Run(how+" "+protocol, func(t *testing.T) {
				listener, err := net.Listen("tcp", "127.0.0.1:0")
				require.NoError(t, err)
				address := listener.Addr().String()
				if how == "refuses" {
					require.NoError(t, listener.Close())
				} else {
					t.Cleanup(func() { _ = listener.Close() }) // connections wait in its backlog
				}
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+address)
				t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
				t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "300")
				t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
				h := harness.StartProcess(t, harness.Options{Flags: []string{"--stop-timeout=5s"}})
				d := openDesk(t, h)
				warned := func() int { return strings.Count(h.Log(), "traces cannot be sent") }
				for deadline := time.Now().Add(harness.Patience); warned() == 0; {
					require.True(t, time.Now().Before(deadline), "the log says nothing")
					_, err := d.As("alice").Messages.SendMessage(patient(t), d.message(t, ""))
					require.NoError(t, err)
				}
				for range 200 {
					_, err := d.As("alice").Messages.SendMessage(patient(t), d.message(t, ""))
					require.NoError(t, err)
				}
				began := time.Now()
				require.NoError(t, h.Stop())
				require.Less(t, time.Since(began), 20*time.Second)
				require.Equal(t, 1, warned(), h.Log())
			})
		}
	}
}

// Wrong settings are refused or, where the specification says so, told of and not used.
func TestWrongSettings(t *testing.T) {
	collector := StartCollector(t)
	collector.Listen(t)
	t.Setenv("OTEL_TRACES_SAMPLER", "sometimes")
	h := harness.StartProcess(t, harness.Options{})
	require.NoError(t, h.Stop())
	require.Contains(t, h.Log(), `OTEL_TRACES_SAMPLER must be always_on, always_off or traceidratio, or one of these after parentbased_; it is \"sometimes\"`)
}
