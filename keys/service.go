package keys

import (
	"context"
	"log/slog"

	"google.golang.org/grpc"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
)

// Config is what a Service needs.
type Config struct {
	DB *database.DB
	// Logger receives a line for each key that is made, rotated or revoked, without secrets; nil discards them.
	Logger *slog.Logger
}

// Service keeps the keys. Make it with New, add the hook, then serve.
type Service struct {
	openintentv1.UnimplementedKeyServiceServer

	db        *database.DB
	logger    *slog.Logger
	onChanged []func(ctx context.Context)
	// configured reports whether the server's configuration has a key; nil if nobody says. madeWith lists subscriptions.
	configured func(id string) bool
	madeWith   func(tx *database.Tx, keyID string, limit int) ([]string, error)
}

// New makes a Service.
func New(cfg Config) *Service {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Service{db: cfg.DB, logger: cfg.Logger}
}

// Register adds the service to a gRPC server.
func (s *Service) Register(r grpc.ServiceRegistrar) { openintentv1.RegisterKeyServiceServer(r, s) }

// OnChanged adds a hook that runs after each commit that changed a key, before the call answers. So a caller who has revoked a
// key knows that this server does not accept it any more. Add hooks before serving.
func (s *Service) OnChanged(fn func(ctx context.Context)) { s.onChanged = append(s.onChanged, fn) }

// Changed reports a change of an invite after its commit, as the calls of this room do for theirs.
func (s *Service) Changed(ctx context.Context, what string, k *Key, by caller.Caller) {
	s.changed(ctx, what, k, by)
}

// changed reports a change after its commit.
func (s *Service) changed(ctx context.Context, what string, k *Key, by caller.Caller) {
	s.logger.Info(what, "key", k.ID, "operator", k.Operator, "agents", len(k.Agents), "by", maker(by))
	s.LookAgain(ctx)
}

// LookAgain runs the hooks of OnChanged. It is for whoever has found that a key is over, by its time or by another server's change.
func (s *Service) LookAgain(ctx context.Context) {
	for _, fn := range s.onChanged {
		fn(ctx)
	}
}

// operator returns the caller if it is the operator, and refuses it otherwise.
func operator(ctx context.Context) (caller.Caller, error) {
	c, err := caller.Known(ctx)
	if err == nil && !c.IsOperator {
		err = errNotOperator
	}
	return c, err
}

// GetKey returns one key.
func (s *Service) GetKey(ctx context.Context, req *openintentv1.GetKeyRequest) (*openintentv1.Key, error) {
	c, err := operator(ctx)
	if err != nil {
		return nil, err
	}
	var shown *openintentv1.Key
	err = s.db.ReadFor(ctx, c.Reader(), func(tx *database.Tx) error {
		key, err := find(tx, req.GetKeyId())
		if err != nil {
			return err
		}
		if shown = s.message(key); key.Ended(s.db.Now()) {
			shown.Paused, err = s.pausedBy(tx, key.ID)
		}
		return err
	})
	return shown, err
}
