package search

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"google.golang.org/grpc"

	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging"
	"openintent/messaging/reading"
)

// Config is what a Service needs.
type Config struct {
	DB        *database.DB
	Intents   *intents.Service
	Channels  *channels.Service
	Messaging *messaging.Service
	// Off keeps no index: it removes what there is, and every search is refused.
	Off bool
	// Logger is told when the index begins and ends to be filled; nil discards it.
	Logger *slog.Logger
}

// Service is the room of search. Make it with New.
type Service struct {
	openintentv1.UnimplementedSearchServiceServer

	db        *database.DB
	intents   *intents.Service
	channels  *channels.Service
	messaging *messaging.Service
	reader    reading.Reader
	logger    *slog.Logger
	off       bool

	indexer *indexer
	// emptied is true once a service that is off has removed the index.
	emptied bool
	// behind is how many entries of the logs that are kept the index lacked at the last look of this replica, and indexed how many messages
	// it has put into the index.
	behind, indexed atomic.Int64

	mutex    sync.Mutex
	underWay map[string]*searches // by key
}

// New makes the room, and registers what must happen here when messages are removed.
func New(cfg Config) *Service {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{
		db: cfg.DB, intents: cfg.Intents, channels: cfg.Channels, messaging: cfg.Messaging, logger: cfg.Logger, off: cfg.Off,
		reader:   reading.Reader{Intents: cfg.Intents, Channels: cfg.Channels},
		underWay: make(map[string]*searches),
	}
	s.indexer = newIndexer(s)
	if !cfg.Off {
		cfg.Messaging.OnRemoved(removed)
	}
	return s
}

// Register adds the service to a gRPC server.
func (s *Service) Register(r grpc.ServiceRegistrar) { openintentv1.RegisterSearchServiceServer(r, s) }

// Index brings the intents that are kept up to date in the index and, while the server has nothing else to do, the others too; or it
// removes the index if the service is off. It is periodic work of one replica at a time, and may last some seconds.
func (s *Service) Index(ctx context.Context) error {
	if s.off {
		return s.empty(ctx)
	}
	return s.indexer.run(ctx)
}

// Progress returns how many entries of the logs that are kept the index lacked when this replica last looked, and how many messages it has
// put into the index since it started. A replica that is not the one to fill the index has not looked.
func (s *Service) Progress() (behind, indexed int64) { return s.behind.Load(), s.indexed.Load() }
