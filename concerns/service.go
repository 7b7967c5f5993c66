package concerns

import (
	"cmp"

	"google.golang.org/grpc"

	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging/reading"
	"openintent/reach"
)

// Config is what a Service needs.
type Config struct {
	DB       *database.DB
	Intents  *intents.Service
	Channels *channels.Service
	Here     *reach.Here
	// RowsAtMost and JudgedAtMost, which only tests set, bound how many rows one page reads, and how many of these it judges.
	RowsAtMost, JudgedAtMost int
}

// Service is the room of concerns. Make it with New.
type Service struct {
	openintentv1.UnimplementedConcernServiceServer

	db      *database.DB
	intents *intents.Service
	here    *reach.Here
	reader  reading.Reader
	bounds  bounds
}

// New makes the room.
func New(cfg Config) *Service {
	return &Service{
		db: cfg.DB, intents: cfg.Intents, here: cfg.Here,
		reader: reading.Reader{Intents: cfg.Intents, Channels: cfg.Channels},
		bounds: bounds{cmp.Or(cfg.RowsAtMost, rowsAtMost), cmp.Or(cfg.JudgedAtMost, judgedAtMost)},
	}
}

// Register adds the service to a gRPC server.
func (s *Service) Register(r grpc.ServiceRegistrar) { openintentv1.RegisterConcernServiceServer(r, s) }
