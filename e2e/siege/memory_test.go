package siege

import (
	"errors"
	"sync"
	"testing"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// What calls hold whose requests never end. The server's memory may not grow by callers without a key, and by one with a key
// only within its bound.
func TestUnfinishedRequests(t *testing.T) {
	for _, caller := range []struct {
		name    string
		headers []string
		// most is by how much the server may grow, in MB.
		most int
	}{
		{"without a key", nil, 64},
		{"with a key", []string{"x-api-key", harness.Key}, 300},
	} {
		t.Run(caller.name, func(t *testing.T) {
			h := harness.StartProcess(t, harness.Options{})
			before := residentMB(t, h)
			refused, begun := sendUnfinished(t, h, caller.headers)
			after := residentMB(t, h)
			figure(t, "unfinished requests %s: %d calls of 4 MiB, %d refused; %d MB before, %d MB after", caller.name, begun,
				refused, before, after)
			if after > before+caller.most {
				t.Errorf("the server grew from %d to %d MB; it may grow by %d MB", before, after, caller.most)
			}
		})
	}
}

// sendUnfinished begins calls, sends all of each request but its last byte, and counts those that are refused.
func sendUnfinished(t *testing.T, h *harness.Server, headers []string) (refused, begun int) {
	const connections = 3
	each := size(40, 100)
	body := append(prefix(4<<20), make([]byte, 4<<20-1)...)
	var mutex sync.Mutex
	var sending sync.WaitGroup
	for range connections {
		a := attack(t, h)
		sending.Go(func() {
			for range each {
				stream, err := a.call(openintentv1.MessageService_SendMessage_FullMethodName, false, headers...)
				if err == nil {
					err = a.send(stream, body)
				}
				mutex.Lock()
				begun++
				if errors.Is(err, errRefused) {
					refused++
				} else if err != nil {
					t.Error(err)
				}
				mutex.Unlock()
			}
		})
	}
	sending.Wait()
	return refused, begun
}
