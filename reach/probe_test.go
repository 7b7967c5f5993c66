package reach_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/fault"
	"openintent/reach"
)

// connected makes the replicas of a house tell each other of probes.
func (h *house) connected() {
	for i, from := range h.replicas {
		from.Telling(func(news string) {
			for j, to := range h.replicas {
				if i != j {
					to.Told(news)
				}
			}
		})
	}
}

// probed probes an agent, and returns what each kind of path did: whether it took the probe, and whether it confirmed it.
func (r *replica) probed(t *testing.T, agent string) (found map[reach.Kind]string) {
	t.Helper()
	var expected []reach.Kind
	for _, path := range r.read(t, agent).Paths {
		if path.Kind != reach.Wait {
			expected = append(expected, path.Kind)
		}
	}
	_, paths, err := r.Probe(t.Context(), agent, expected...)
	require.NoError(t, err)
	found = make(map[reach.Kind]string)
	for _, path := range paths {
		found[path.Kind] = fmt.Sprint(!path.Offered.IsZero(), !path.Confirmed.IsZero())
	}
	return found
}

// A probe reaches the paths on every replica that can take one. They confirm it themselves, or their agent does by a call, at any replica.
func TestAProbeReachesEveryPath(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.connected()
		here, there := h.first(), h.last()
		require.Empty(t, here.probed(t, "data"))
		ctx := there.calling("data", true)
		reach.TakesProbes(ctx, func(id string) (bool, error) { return false, here.ConfirmProbe("data", id, reach.Stream) })
		defer reach.Hear(ctx, reach.Stream)()
		socket := here.calling("data", true)
		reach.TakesProbes(socket, func(string) (bool, error) { return true, nil })
		defer reach.Hear(socket, reach.C2A)()
		defer reach.Hear(here.calling("data", false), reach.Wait)() // cannot be asked
		found := here.probed(t, "data")                             // although nobody has written the paths yet
		require.Equal(t, "true true", found[reach.Stream])
		h.keep(t)
		for _, from := range h.replicas {
			require.Equal(t, map[reach.Kind]string{reach.Stream: "true true", reach.C2A: "true true"}, from.probed(t, "data"))
		}
		require.ErrorIs(t, here.ConfirmProbe("data", "probe_over", reach.Stream), fault.New(fault.NotFound, "PROBE_NOT_FOUND", ""))
		require.Error(t, here.ConfirmProbe("data", "another", reach.Stream))
	})
}

// Who takes a probe and does not confirm it, or cannot be handed one, is found out after ten seconds.
func TestAProbeThatIsNotConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newMemoryHouse(t)
		silent := h.calling("data", true)
		ids := make(chan string, 1)
		reach.TakesProbes(silent, func(id string) (bool, error) { ids <- id; return false, nil })
		defer reach.Hear(silent, reach.Stream)()
		stuck := h.calling("stuck", true)
		reach.TakesProbes(stuck, func(string) (bool, error) { return false, errors.New("it reads nothing") })
		defer reach.Hear(stuck, reach.Stream)()

		begun := time.Now()
		found := make(chan []reach.Probed)
		go func() {
			_, paths, _ := h.Probe(t.Context(), "data", reach.Stream)
			found <- paths
		}()
		id := <-ids
		_, _, err := h.Probe(t.Context(), "data")
		var refusal *fault.Fault
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, "PROBE_RUNNING", refusal.Reason)
		require.Error(t, h.ConfirmProbe("other", id, reach.Stream), "it is another's probe")
		paths := <-found
		require.Len(t, paths, 1)
		require.False(t, paths[0].Offered.IsZero())
		require.True(t, paths[0].Confirmed.IsZero())
		require.Equal(t, 10*time.Second, time.Since(begun))
		require.Error(t, h.ConfirmProbe("data", id, reach.Stream), "it is over")
		require.Empty(t, h.probed(t, "stuck"))
	})
}
