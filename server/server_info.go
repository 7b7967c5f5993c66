package server

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/reach"
)

var errNotOperator = fault.New(fault.Denied, "NOT_OPERATOR",
	"Only the operator may do this; call with a key that is not bound to agents, and without X-Agent-ID.")

// serverInfo tells the operator how this server does.
type serverInfo struct {
	openintentv1.UnimplementedServerServiceServer

	cfg       Config
	db        *database.DB
	here      *reach.Here
	storing   *storing
	figures   *figures
	startedAt time.Time
}

// GetServer tells how this server does.
func (s *serverInfo) GetServer(ctx context.Context, _ *openintentv1.GetServerRequest) (*openintentv1.Server, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	if !c.IsOperator {
		return nil, errNotOperator
	}
	var others []reach.Replica
	err = s.db.ReadFor(ctx, c.Reader(), func(tx *database.Tx) (err error) {
		others, err = s.here.Replicas(tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	replicas := make([]*openintentv1.Replica, len(others))
	for i, one := range others {
		replicas[i] = &openintentv1.Replica{Name: one.Name, SeenAt: timestamppb.New(one.SeenAt)}
	}
	read, err := s.figures.read()
	if err != nil {
		return nil, err
	}
	return &openintentv1.Server{
		Version: s.cfg.Version, Commit: s.cfg.Commit, StartedAt: timestamppb.New(s.startedAt), Replica: s.here.Name(), Replicas: replicas,
		Database: &openintentv1.ServerDatabase{Engine: s.db.Engine().String(), Stores: s.storing.check() == nil},
		Figures:  read, Settings: s.cfg.shown(),
	}, nil
}
