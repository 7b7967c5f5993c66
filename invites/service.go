package invites

import (
	"context"
	"log/slog"

	"google.golang.org/grpc"

	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/keys"
)

// Config is what a Service needs.
type Config struct {
	DB       *database.DB
	Channels *channels.Service
	Keys     *keys.Service
	// Logger receives a line for each guest that comes, and failures; nil discards them.
	Logger *slog.Logger
}

// Service makes and ends invites. Make it with New.
type Service struct {
	openintentv1.UnimplementedInviteServiceServer

	db       *database.DB
	channels *channels.Service
	keys     *keys.Service
	logger   *slog.Logger
}

// New makes a Service.
func New(cfg Config) *Service {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Service{db: cfg.DB, channels: cfg.Channels, keys: cfg.Keys, logger: cfg.Logger}
}

// Register adds the service to a gRPC server.
func (s *Service) Register(r grpc.ServiceRegistrar) { openintentv1.RegisterInviteServiceServer(r, s) }

// CreateInvite makes an invite and returns it with its secret. It counts as a message against the quota of the caller's key, so
// that nobody makes invites faster than messages.
func (s *Service) CreateInvite(
	ctx context.Context, req *openintentv1.CreateInviteRequest,
) (*openintentv1.IssuedInvite, error) {
	draft, c, err := draftOf(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := c.Quota.Take(0); err != nil {
		return nil, err
	}
	var key *keys.Key
	var secret string
	err = s.channels.Manage(ctx, req.GetChannelId(), func(tx *database.Tx, m channels.Managed) error {
		if err := m.CheckOpen(); err != nil {
			return err
		}
		draft := draft // the transaction may run again
		draft.Invite.ChannelID, draft.Invite.IntentNo = m.ID, m.IntentNo
		key, secret, err = keys.IssueInvite(tx, draft, c)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.keys.Changed(ctx, "an invite was made", key, c)
	return &openintentv1.IssuedInvite{Invite: s.message(key), Secret: secret}, nil
}

// UpdateInvite makes the caller's key the maker of an invite. It counts as a message, as CreateInvite does.
func (s *Service) UpdateInvite(ctx context.Context, req *openintentv1.UpdateInviteRequest) (*openintentv1.Invite, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.Quota.Take(0); err != nil {
		return nil, err
	}
	var key *keys.Key
	err = s.channels.Manage(ctx, req.GetChannelId(), func(tx *database.Tx, m channels.Managed) error {
		if key, err = keys.LockInvite(tx, m.ID, req.GetInviteId()); err != nil {
			return err
		}
		return keys.TakeOver(tx, key, c)
	})
	if err != nil {
		return nil, err
	}
	s.keys.Changed(ctx, "an invite was taken over", key, c)
	return s.message(key), nil
}

// RevokeInvite ends an invite, and its guests' memberships. An invite that is revoked already stays as it is.
func (s *Service) RevokeInvite(ctx context.Context, req *openintentv1.RevokeInviteRequest) (*openintentv1.Invite, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	var key *keys.Key
	var changed bool
	err = s.channels.Manage(ctx, req.GetChannelId(), func(tx *database.Tx, m channels.Managed) error {
		if key, err = keys.LockInvite(tx, m.ID, req.GetInviteId()); err != nil {
			return err
		}
		changed, err = keys.EndInvite(tx, key)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !changed {
		return s.message(key), nil
	}
	s.keys.Changed(ctx, "an invite was revoked", key, c) // the streams end first, so that they say why
	if err := s.letGo(ctx, key); err != nil {
		s.logger.Warn("could not take a revoked invite's guests off the member list; the sweep will", "key", key.ID, "error", err)
	}
	return s.message(key), nil
}
