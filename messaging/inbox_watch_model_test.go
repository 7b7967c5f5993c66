package messaging

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"openintent/internal/database/databasetest"
)

// modelledWait is a call that waits while a model goes on.
type modelledWait struct {
	done <-chan waitedFor
	end  context.CancelFunc
}

// waitFor begins a wait, with a limit of its own, and returns once its page has been read.
func (h *house) waitFor(t require.TestingT, agent string, limit int32) modelledWait {
	ctx, end := context.WithCancel(as(agent))
	done, before := make(chan waitedFor, 1), h.waits(agent)
	go func() {
		page, err := h.tryInbox(ctx, &inboxRequest{AgentId: agent, WaitSeconds: ptr(600.0), Limit: &limit})
		done <- waitedFor{page, err}
	}()
	eventually(t, func() bool { return h.waits(agent) > before && h.settled(agent) }, "it does not wait")
	return modelledWait{done, end}
}

// Several calls wait for each inbox while messages are sent, read and answered, roles change hands, and intents begin to reach the
// agents and cease to. The slow timer is an hour away. Whenever something stands in an inbox, all that waited for it have ended.
func TestWaitsForInboxesMissNothing(t *testing.T) {
	databasetest.SearchBriefly(t)
	eachEngine(t, func(t *testing.T, h *house) {
		rapid.Check(t, func(t *rapid.T) {
			m, waiting := newInboxModel(t, h), make(map[string][]modelledWait)
			actions := []func(t *rapid.T){m.send, m.send, m.answer, m.read, m.takeRole, m.leave, m.changeMembers, m.changeAccess}
			defer func() {
				for _, waits := range waiting {
					for _, one := range waits {
						one.end()
						<-one.done
					}
				}
			}()
			for range rapid.IntRange(1, 8).Draw(t, "rounds") {
				for _, agent := range m.agents {
					if waiting[agent] == nil && len(idsIn(h.inbox(t, agent))) == 0 {
						waiting[agent] = []modelledWait{h.waitFor(t, agent, 1), h.waitFor(t, agent, 2), h.waitFor(t, agent, 2)}
					}
				}
				h.clock.Advance(time.Millisecond)
				actions[rapid.IntRange(0, len(actions)-1).Draw(t, "action")](t)
				for agent, waits := range waiting {
					if len(idsIn(h.inbox(t, agent))) == 0 {
						continue
					}
					for _, one := range waits {
						require.NotEmpty(t, received(t, one.done), agent)
						one.end()
					}
					delete(waiting, agent)
				}
			}
		})
	})
}
