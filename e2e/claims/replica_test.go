package claims

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/agents"
	"openintent/caller"
	"openintent/channels"
	"openintent/conversation"
	"openintent/database"
	"openintent/database/databasetest"
	"openintent/fault"
	"openintent/intents"
	"openintent/messaging"
	"openintent/tasks"
)

// replica is one server: its rooms, with a clock of its own and commits that may lose their acknowledgement. It may restart at any
// time, which breaks off the calls that it serves.
type replica struct {
	url    string
	clock  *databasetest.Clock
	losses atomic.Int64
	// running is held by each call, and by a restart until the new server serves.
	running sync.RWMutex
	rooms
}

// rooms are what a server has while it runs.
type rooms struct {
	db       *database.DB
	intents  *intents.Service
	agents   *agents.Service
	channels *channels.Service
	talk     *messaging.Service
	claims   *conversation.Service
	// life ends when the server is killed, and with it all that the server does.
	life context.Context //nolint:containedctx // it is the life of the server, not of a call
	kill context.CancelFunc
}

func newReplica(t *testing.T, url string) *replica {
	t.Helper()
	r := &replica{url: url, clock: databasetest.NewClock()}
	require.NoError(t, r.start())
	t.Cleanup(func() { require.NoError(t, r.stop()) })
	return r
}

func (r *replica) start() error {
	life, kill := context.WithCancel(context.Background())
	db, err := database.Open(life, database.Config{URL: r.url, Clock: r.clock.Now, Hooks: database.Hooks{AfterCommit: r.acknowledge}})
	if err != nil {
		kill()
		return err
	}
	r.rooms = rooms{db: db, life: life, kill: kill}
	r.intents, r.agents = intents.New(intents.Config{DB: db}), agents.New(agents.Config{DB: db})
	work := tasks.New(tasks.Config{DB: db, Intents: r.intents})
	r.channels = channels.New(channels.Config{DB: db, Intents: r.intents, Tasks: work})
	r.talk = messaging.New(messaging.Config{DB: db, Intents: r.intents, Agents: r.agents, Channels: r.channels, LookAgain: time.Hour})
	r.claims = conversation.New(conversation.Config{DB: db, Intents: r.intents, Agents: r.agents, Messaging: r.talk})
	r.talk.Start()
	return nil
}

func (r *replica) stop() error {
	r.kill()
	r.talk.Stop()
	return r.db.Close()
}

// restart breaks off all calls, and starts a new server on the same database.
func (r *replica) restart() error {
	r.kill()
	r.running.Lock()
	defer r.running.Unlock()
	return errors.Join(r.stop(), r.start())
}

// acknowledge loses as many acknowledgements of commits as the test has asked for.
func (r *replica) acknowledge(context.Context) error {
	if r.losses.Load() <= 0 || r.losses.Add(-1) < 0 {
		return nil
	}
	return databasetest.ErrInjected
}

// as returns the context of an agent's call.
func (r *replica) as(agent string) context.Context {
	return caller.NewContext(r.life, caller.Caller{Agent: agent, KeyID: "key", KeyRoles: []string{caller.AnyRole}})
}

// call makes a call, and makes it again as long as nobody says what became of it.
func (r *replica) call(do func() error) error {
	for {
		err := r.callOnce(do)
		var refusal *fault.Fault
		switch {
		case err == nil:
			return nil
		case errors.As(err, &refusal) && refusal.Kind != fault.Unavailable && !errors.Is(err, context.Canceled):
			return err
		}
	}
}

func (r *replica) callOnce(do func() error) error {
	r.running.RLock()
	defer r.running.RUnlock()
	return do()
}

// sweep stores what time has decided, also if acknowledgements get lost.
func (r *replica) sweep(t *testing.T) {
	t.Helper()
	require.NoError(t, r.call(func() error { return r.talk.Sweep(r.life) }))
	require.NoError(t, r.call(func() error { return r.claims.SweepClaims(r.life) }))
}
