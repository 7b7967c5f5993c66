package contacts

import (
	"context"

	"google.golang.org/grpc"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/webhooks"
	"openintent/messaging"
	"openintent/reach"
)

// Config is what a Service needs.
type Config struct {
	DB        *database.DB
	Messaging *messaging.Service
	Here      *reach.Here
	Webhooks  *webhooks.Sender
	// Paused returns why what some keys made is paused, by key; keys that go on are not in it.
	Paused func(tx *database.Tx, keys ...string) (map[string]string, error)
	// Mail sends mail; nil if the operator has set no relay.
	Mail *Relay
	// Address is the server's public address without a slash at its end, for links; empty for none.
	Address string
}

// Service is the room of contacts. Make it with New.
type Service struct {
	openintentv1.UnimplementedContactServiceServer
	Config
}

// New makes the room.
func New(cfg Config) *Service { return &Service{Config: cfg} }

// Register adds the service to a gRPC server.
func (s *Service) Register(r grpc.ServiceRegistrar) { openintentv1.RegisterContactServiceServer(r, s) }

// Sweep looks at the names that are due, and removes what counts no more. It is periodic work of one replica at a time.
func (s *Service) Sweep(ctx context.Context) error {
	if err := s.look(ctx); err != nil {
		return err
	}
	return s.forgetCodes(ctx)
}
