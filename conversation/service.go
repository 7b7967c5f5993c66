package conversation

import (
	"log/slog"

	"google.golang.org/grpc"

	"openintent/agents"
	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging"
	"openintent/messaging/claim"
)

// Config is what a Service needs.
type Config struct {
	DB        *database.DB
	Intents   *intents.Service
	Agents    *agents.Service
	Channels  *channels.Service
	Messaging *messaging.Service
	// Logger is told what could not be done; nil discards it.
	Logger *slog.Logger
}

// Service is the room of conversation. Make it with New.
type Service struct {
	openintentv1.UnimplementedAttentionServiceServer
	openintentv1.UnimplementedClaimServiceServer
	openintentv1.UnimplementedObligationServiceServer
	openintentv1.UnimplementedReactionServiceServer

	db        *database.DB
	intents   *intents.Service
	agents    *agents.Service
	messaging *messaging.Service
	logger    *slog.Logger

	// claimsRound is where the next run of SweepClaims goes on.
	claimsRound claim.Round
	// swept is at how many obligations one run of SweepObligations looks.
	swept int
}

// New makes the room, and registers what must happen here when an intent ends or a channel is deleted.
func New(cfg Config) *Service {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{
		db: cfg.DB, intents: cfg.Intents, agents: cfg.Agents, messaging: cfg.Messaging, logger: cfg.Logger,
		swept: sweptObligations,
	}
	cfg.Intents.OnEnding(s.endObligations)
	cfg.Channels.OnDeleting(s.dropObligations)
	return s
}

// Register adds the room's gRPC services.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	openintentv1.RegisterAttentionServiceServer(r, s)
	openintentv1.RegisterClaimServiceServer(r, s)
	openintentv1.RegisterObligationServiceServer(r, s)
	openintentv1.RegisterReactionServiceServer(r, s)
}
