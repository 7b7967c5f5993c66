package replica

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/agents"
	"openintent/channels"
	"openintent/conversation"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/internal/webhooks"
	"openintent/leases"
	"openintent/messaging"
	"openintent/subscriptions"
	"openintent/tasks"
)

// Replica is one server.
type Replica struct {
	url string
	// Clock is the replica's own clock; a restart keeps it.
	Clock *databasetest.Clock
	// Faults makes commits fail, or lose their acknowledgement.
	Faults databasetest.CommitFaults
	// running is held by each call, and by a restart until the new server serves.
	running sync.RWMutex
	// subscribes tells whether the room of subscriptions is built too.
	subscribes bool
	Rooms
}

// Option changes what a replica is.
type Option func(*Replica)

// WithSubscriptions gives the replicas a room of durable subscriptions.
func WithSubscriptions(r *Replica) { r.subscribes = true }

// Rooms are what a server has while it runs.
type Rooms struct {
	DB        *database.DB
	Intents   *intents.Service
	Agents    *agents.Service
	Channels  *channels.Service
	Messaging *messaging.Service
	Claims    *conversation.Service
	Leases    *leases.Service
	// Subscriptions is nil without WithSubscriptions.
	Subscriptions *subscriptions.Service
	// Life ends when the server is killed, and with it all that the server does.
	Life context.Context //nolint:containedctx // it is the life of the server, not of a call
	kill context.CancelFunc
}

// Start starts as many replicas as the engine can have, one on SQLite and two on PostgreSQL, on one new database. They stop when
// the test ends.
func Start(t *testing.T, engine database.Engine, options ...Option) (replicas []*Replica) {
	t.Helper()
	url, count := databasetest.URL(t, engine), 2
	if engine == database.SQLite {
		count = 1
	}
	for range count {
		r := &Replica{url: url, Clock: databasetest.NewClock()}
		for _, apply := range options {
			apply(r)
		}
		require.NoError(t, r.start())
		t.Cleanup(func() { require.NoError(t, r.stop()) })
		replicas = append(replicas, r)
	}
	return replicas
}

func (r *Replica) start() error {
	life, kill := context.WithCancel(context.Background())
	db, err := database.Open(life, database.Config{URL: r.url, Clock: r.Clock.Now, Hooks: r.Faults.Hooks()})
	if err != nil {
		kill()
		return err
	}
	s := Rooms{DB: db, Life: life, kill: kill}
	s.Intents, s.Agents = intents.New(intents.Config{DB: db}), agents.New(agents.Config{DB: db})
	work := tasks.New(tasks.Config{DB: db, Intents: s.Intents})
	s.Channels = channels.New(channels.Config{DB: db, Intents: s.Intents, Tasks: work})
	s.Messaging = messaging.New(messaging.Config{
		DB: db, Intents: s.Intents, Agents: s.Agents, Channels: s.Channels, LookAgain: time.Hour, Notifications: true,
	})
	s.Claims = conversation.New(conversation.Config{DB: db, Intents: s.Intents, Agents: s.Agents, Channels: s.Channels, Messaging: s.Messaging})
	s.Leases = leases.New(leases.Config{DB: db, Intents: s.Intents, Tasks: work, Messaging: s.Messaging, LookAgain: time.Second})
	if r.subscribes {
		sender, err := webhooks.New(webhooks.Config{})
		if err != nil {
			return err
		}
		s.Subscriptions = subscriptions.New(subscriptions.Config{
			DB: db, Intents: s.Intents, Agents: s.Agents, Channels: s.Channels, Messaging: s.Messaging, Webhooks: sender,
			LookAgain: time.Hour, RenewEvery: time.Hour,
		})
	}
	s.Messaging.Start()
	if r.subscribes {
		s.Subscriptions.Start()
	}
	r.Rooms = s
	return nil
}

func (r *Replica) stop() error {
	r.kill()
	if r.subscribes {
		r.Subscriptions.Stop()
	}
	r.Messaging.Stop()
	return r.DB.Close()
}

// Restart breaks off all calls, and starts a new server on the same database.
func (r *Replica) Restart() error {
	r.kill()
	r.running.Lock()
	defer r.running.Unlock()
	return errors.Join(r.stop(), r.start())
}

// As returns the context of an agent's call.
func (r *Replica) As(agent string) context.Context {
	return caller.NewContext(r.Life, caller.Caller{Agent: agent, KeyID: "key", KeyRoles: []string{caller.AnyRole}})
}

// Call makes a call, and makes it again as long as nobody says what became of it.
func (r *Replica) Call(do func() error) error {
	for {
		err := r.once(do)
		var refusal *fault.Fault
		switch {
		case err == nil:
			return nil
		case errors.As(err, &refusal) && refusal.Kind != fault.Unavailable && !errors.Is(err, context.Canceled):
			return err
		}
	}
}

func (r *Replica) once(do func() error) error {
	r.running.RLock()
	defer r.running.RUnlock()
	return do()
}
