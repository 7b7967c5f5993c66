package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"openintent/agents"
	"openintent/channels"
	"openintent/concerns"
	"openintent/contacts"
	"openintent/conversation"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/loop"
	"openintent/internal/webhooks"
	"openintent/invites"
	"openintent/keys"
	"openintent/leases"
	"openintent/messaging"
	"openintent/reach"
	"openintent/reach/asking"
	"openintent/search"
	"openintent/server/jsonform"
	"openintent/sessions"
	"openintent/subscriptions"
	"openintent/tasks"
)

// sweepInterval is how often the rooms store what time has already decided.
const sweepInterval = time.Second

// searchInterval is how often one replica looks for messages that are not in the search index yet and should be.
const searchInterval = 250 * time.Millisecond

// longestSearchPause bounds the pauses of the index while it cannot reach the database.
const longestSearchPause = 5 * time.Second

// longestUsagePause bounds the pauses of counting what intents hold while the database cannot be reached.
const longestUsagePause = 10 * time.Second

// rooms are the domain's services, connected to each other.
type rooms struct {
	intents       *intents.Service
	agents        *agents.Service
	tasks         *tasks.Service
	channels      *channels.Service
	messaging     *messaging.Service
	webhooks      *webhooks.Sender
	subscriptions *subscriptions.Service
	conversation  *conversation.Service
	contacts      *contacts.Service
	leases        *leases.Service
	search        *search.Service
	keys          *keys.Service
	invites       *invites.Service
	sessions      *sessions.Service
	stored        *storedKeys // nil until the server accepts the database's keys
	tokens        *tokens     // nil if the server accepts none
	here          *reach.Here
	reach         *asking.Service
	concerns      *concerns.Service
	sweeps        []*loop.Loop
}

// wire builds the domain's rooms from the lowest to the highest. Each room registers, with the rooms below it, what
// must happen in their transactions.
func wire(db *database.DB, cfg Config, sender *webhooks.Sender, metrics *metrics, traced *spans, logger *slog.Logger) *rooms {
	db.ChargeTo(accountOf)
	r := &rooms{
		webhooks: sender,
		intents: intents.New(intents.Config{
			DB: db, Logger: logger, DefaultAccess: intents.Policy(cfg.DefaultAccess), EventRetention: cfg.EventRetention,
			QuotaBytes: cfg.QuotaIntentBytes, Stock: cfg.stock(),
			ObserveLead: metrics.behindLog.Inc, Kept: cfg.Kept,
		}),
		here: reach.New(reach.Config{DB: db, Logger: logger}),
	}
	r.agents = agents.New(agents.Config{DB: db, Logger: logger, Reach: r.here})
	r.keys = keys.New(keys.Config{DB: db, Logger: logger})
	r.tasks = tasks.New(tasks.Config{DB: db, Intents: r.intents, Logger: logger})
	r.channels = channels.New(channels.Config{
		DB: db, Intents: r.intents, Tasks: r.tasks, Logger: logger,
		MaxNameLength: cfg.MaxNameLength, MaxMembers: cfg.MaxMembers, Kept: cfg.Kept,
	})
	r.messaging = messaging.New(messaging.Config{
		DB: db, Intents: r.intents, Agents: r.agents, Channels: r.channels, Logger: logger,
		MaxPayloadBytes: cfg.MaxPayloadBytes, MaxUnreadFromStrangers: cfg.MaxUnread, Retention: cfg.Retention, LookAgain: cfg.LookAgain,
		Notifications: cfg.Notifications, Refusal: refusalForm(logger), Kept: cfg.Kept, LookedAt: cfg.LookedAt,
		ObserveBatch: metrics.batchCommitted, ObserveNotifications: metrics.notified, ObserveRefused: metrics.messageRefused,
		Tracing: traced.ofDrafts(), DeliveryTrace: traced.ofDeliveries(),
		ObserveLoss: metrics.entriesLost, Reach: r.here,
	})
	r.invites = invites.New(invites.Config{DB: db, Channels: r.channels, Keys: r.keys, Logger: logger})
	r.sessions = sessions.New(sessions.Config{DB: db, MostOfKey: cfg.MaxSessionsPerKey})
	metrics.watchQueue(r.messaging.Waiting)
	metrics.watchReads(db.WaitingReads)
	r.subscriptions = subscriptions.New(subscriptions.Config{
		DB: db, Intents: r.intents, Agents: r.agents, Channels: r.channels, Messaging: r.messaging, Webhooks: sender,
		Encode: func(m proto.Message) ([]byte, error) { return jsonform.Append(nil, m) },
		Paused: r.keys.PausedOf, ShownMaker: keys.ShownMaker,
		Logger: logger, LookAgain: cfg.LookAgain, DeliveryTrace: traced.ofDeliveries(), Posting: traced.ofPosting(),
		ClockEndsWaits: cfg.TestClock,
	})
	r.here.Webhooks(r.subscriptions.ReadWebhooks)
	r.reach = asking.New(asking.Config{DB: db, Here: r.here, Intents: r.intents, Messaging: r.messaging})
	r.keys.OnListing(subscriptions.PostedBy)
	r.conversation = conversation.New(conversation.Config{
		DB: db, Intents: r.intents, Agents: r.agents, Channels: r.channels, Messaging: r.messaging, Logger: logger,
	})
	relay, _ := cfg.mailRelay() // it was checked with the other settings
	r.contacts = contacts.New(contacts.Config{
		DB: db, Messaging: r.messaging, Here: r.here, Webhooks: sender, Paused: r.keys.PausedOf, Mail: relay, Address: cfg.linkAddress(),
	})
	r.leases = leases.New(leases.Config{
		DB: db, Intents: r.intents, Tasks: r.tasks, Messaging: r.messaging, Logger: logger, LookAgain: cfg.waitersLookAgain(),
		ClockEndsWaits: cfg.TestClock,
	})
	r.search = search.New(search.Config{
		DB: db, Intents: r.intents, Channels: r.channels, Messaging: r.messaging, Off: !cfg.Search, Logger: logger,
	})
	metrics.watchSearch(r.search.Progress)
	r.concerns = concerns.New(concerns.Config{DB: db, Intents: r.intents, Channels: r.channels, Here: r.here})
	sweep := func(name string, work func(context.Context) error) *loop.Loop {
		return loop.New(name, sweepInterval, logger, db.ByLeader(name, work)) // one replica's sweep serves all replicas
	}
	r.sweeps = []*loop.Loop{
		sweep("intents", r.intents.Sweep),
		sweep("events", r.intents.SweepEvents),
		sweep("agents", r.agents.Sweep),
		sweep("channels", r.channels.Sweep),
		sweep("messages", r.messaging.Sweep),
		sweep("claims", r.conversation.SweepClaims),
		sweep("obligations", r.conversation.SweepObligations),
		sweep("leases", r.leases.Sweep),
		sweep("subscriptions", r.subscriptions.Sweep),
		sweep("invites", r.invites.Sweep),
		sweep("sessions", r.sessions.Sweep),
		sweep("contacts", r.contacts.Sweep),
		sweep("posts to contacts", r.contacts.Post),
		loop.New("what keys hold", sweepInterval, logger, r.intents.Stock().Recount).Slowing(longestUsagePause), // each replica for itself
		sweep("statistics", db.RenewStatistics),
		loop.New("what intents hold", sweepInterval, logger, r.intents.Usage().Recount).Slowing(longestUsagePause), // each replica for itself
		loop.New("search", searchInterval, logger, db.ByLeader("search", r.search.Index)).Slowing(longestSearchPause),
	}
	return r
}

// accountOf returns the account of whoever has the context's transactions written; nil for nobody.
func accountOf(ctx context.Context) database.Account {
	if counted, is := ctx.Value(storedRowsKey{}).(*storedRows); is {
		return counted
	}
	if who, known := caller.From(ctx); known && who.Account != nil {
		return who.Account
	}
	return nil
}

// accept lets callers prove who they are. It must be called before start.
func (r *rooms) accept(known *Keys, cfg Config, now func() time.Time, logger *slog.Logger) {
	r.acceptKeys(known, now, logger)
	r.acceptOthers(known, cfg, now, logger)
	r.acceptSessions(known, cfg, logger)
}

// acceptKeys lets callers use the keys of the database, beside the configured ones.
func (r *rooms) acceptKeys(known *Keys, now func() time.Time, logger *slog.Logger) {
	r.stored = newStoredKeys(r.keys, known.rates, now, logger)
	known.stored, r.stored.guests = r.stored, r.invites
	known.unreplaced = &unreplacedKeys{logger: logger, now: now}
	r.keys.KnowConfigured(known.hasID)
	r.keys.OnChanged(func(ctx context.Context) { _ = r.stored.looks.after(ctx) })
	r.sweeps = append(r.sweeps, loop.New("API keys", keyPoll, logger, r.stored.maintain)) // each replica for itself
}

// acceptOthers lets callers use tokens and certificates in place of keys, as far as they are configured.
func (r *rooms) acceptOthers(known *Keys, cfg Config, now func() time.Time, logger *slog.Logger) {
	known.tokens, known.certificates = newTokens(cfg, now, logger), newCertificates(cfg, now)
	if known.tokens != nil || known.certificates != nil {
		r.sweeps = append(r.sweeps, loop.New("expiries", keyPoll, logger, func(context.Context) error {
			known.expiries.end(now())
			return nil
		}))
	}
	if r.tokens = known.tokens; r.tokens != nil {
		refresh := loop.New("keys of the issuer of tokens", issuerPoll, logger, r.tokens.issuer.Refresh)
		refresh.Wake() // the first run comes immediately
		r.sweeps = append(r.sweeps, refresh)
	}
}

// acceptSessions lets people sign in at the console, unless the settings want none.
func (r *rooms) acceptSessions(known *Keys, cfg Config, logger *slog.Logger) {
	if !cfg.Console {
		return
	}
	known.sessions = r.sessions
	keep := loop.New("sessions of the console", keyPoll, logger, func(ctx context.Context) error { // each replica for itself
		return errors.Join(r.sessions.Keep(ctx), known.endEndedSessions(ctx))
	}).Slowing(longestUsagePause)
	keep.Wake() // the first run comes immediately
	r.sweeps = append(r.sweeps, keep)
}

// watchTLS uses what becomes of the TLS files while the server runs; nil stands for none. It must be called before start.
func (r *rooms) watchTLS(files *tlsFiles, cfg Config, logger *slog.Logger) {
	if files != nil {
		r.sweeps = append(r.sweeps, loop.New("TLS files", cmp.Or(cfg.LookAgain, tlsPoll), logger, files.reloadIfChanged))
	}
}

// register adds the rooms' services to a registrar.
func (r *rooms) register(registrar grpc.ServiceRegistrar) {
	r.intents.Register(registrar)
	r.agents.Register(registrar)
	r.tasks.Register(registrar)
	r.channels.Register(registrar)
	r.messaging.Register(registrar)
	r.subscriptions.Register(registrar)
	r.conversation.Register(registrar)
	r.contacts.Register(registrar)
	r.leases.Register(registrar)
	r.search.Register(registrar)
	r.keys.Register(registrar)
	r.invites.Register(registrar)
	r.reach.Register(registrar)
	r.concerns.Register(registrar)
}

// paths keeps the paths to agents at this server.
func (r *rooms) paths() *reach.Here { return r.here }

// start begins the rooms' own work: the writer, the posting of webhooks and the sweeps.
func (r *rooms) start() {
	r.here.Start()
	r.messaging.Start()
	r.subscriptions.Start()
	for _, sweep := range r.sweeps {
		sweep.Start()
	}
}

// stop ends the rooms' own work and waits for it, at most until the context ends.
func (r *rooms) stop(ctx context.Context) error {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for _, sweep := range r.sweeps {
			sweep.Stop()
		}
		r.subscriptions.Stop()
		r.webhooks.Close()
		r.messaging.Stop()
		r.here.Stop()
		if r.stored != nil {
			r.stored.looks.stop()
		}
		if r.tokens != nil {
			r.tokens.issuer.Stop()
		}
	}()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
