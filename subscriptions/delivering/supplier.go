package delivering

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"openintent/internal/database"
	"openintent/internal/loop"
	"openintent/messaging"
	"openintent/messaging/reading"
	"openintent/subscriptions/ledger"
	"openintent/subscriptions/record"
)

// Config configures a supplier.
type Config struct {
	DB        *database.DB
	Messaging *messaging.Service
	Changes   *record.GroupCommit
	Settler   *ledger.Settler
	Logger    *slog.Logger
	// Trace is told of each delivery that a consumer gets; nil when nobody wants to know.
	Trace reading.DeliveryTrace
	// LookAgain is the longest time that anyone waits for a wake-up before looking without one.
	LookAgain time.Duration
	// RenewEvery is how often consumers renew their leases; zero means every 3 seconds.
	RenewEvery time.Duration
	// ClockEndsWaits is true on a server whose clock a test moves. Elsewhere a clock that is set must not end what waits.
	ClockEndsWaits bool
}

// Supplier supplies streams, fetches, own logs and the poster with what is in subscriptions.
type Supplier struct {
	db            *database.DB
	messaging     *messaging.Service
	changes       *record.GroupCommit
	settler       *ledger.Settler
	logger        *slog.Logger
	deliveryTrace reading.DeliveryTrace
	lookAgain     time.Duration
	// clockEndsWaits is true if a fetch also ends when the clock shows that its time is over.
	clockEndsWaits bool

	consumers consumers
	turns     *turns
	renewing  *loop.Loop
}

// New makes the supplier of a replica; call Start, too.
func New(cfg Config) *Supplier {
	s := &Supplier{
		db: cfg.DB, messaging: cfg.Messaging, changes: cfg.Changes, settler: cfg.Settler, logger: cfg.Logger, deliveryTrace: cfg.Trace,
		lookAgain: cfg.LookAgain, clockEndsWaits: cfg.ClockEndsWaits, turns: newTurns(),
	}
	s.renewing = loop.New("renew the leases on subscriptions", cmp.Or(cfg.RenewEvery, renewEvery), cfg.Logger, s.Renew)
	return s
}

// Start begins to renew the leases of consumers. Where only one process serves the database, Start ends the leases of the previous
// process.
func (s *Supplier) Start() {
	if s.db.Engine() == database.SQLite {
		if err := s.forgetConsumers(context.Background()); err != nil {
			s.logger.Warn("could not end the leases of the previous process; they last until they run out", "error", err)
		}
	}
	s.renewing.Start()
}

// Stop ends that.
func (s *Supplier) Stop() { s.renewing.Stop() }

// FreshFor is how long content that was read may wait for a slow client. Content that waited longer is read again. Content
// that expires meanwhile is not sent.
const FreshFor = time.Second
