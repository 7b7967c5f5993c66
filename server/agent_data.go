package server

import (
	"context"
	"errors"
	"log/slog"

	"openintent/internal/agentdata"
	"openintent/internal/database"
)

// EraseAgent erases what a database has of one agent, beside the servers of a PostgreSQL. A SQLite file that a server has open is refused.
// It uses the rooms as a server does that takes no calls, and sweeps nothing.
func EraseAgent(ctx context.Context, address, agentID string, logger *slog.Logger) (report *agentdata.Report, err error) {
	if err := database.ReadSnapshot(ctx, address, func(*database.Tx) error { return nil }); err != nil {
		return nil, err // which also refuses a file that is not there, before Open makes it
	}
	cfg := DefaultConfig()
	cfg.DatabaseURL = address
	db, err := database.Open(ctx, database.Config{URL: address, Logger: logger, AsItIs: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	sender, err := cfg.webhooks()
	if err != nil {
		return nil, err
	}
	defer sender.Close()
	rooms := wire(db, cfg, sender, newMetrics(), nil, logger)
	rooms.messaging.Start() // it tells the servers
	defer rooms.messaging.Stop()
	return agentdata.Erase(ctx, agentdata.Rooms{
		Address: address, DB: db, Agents: rooms.agents, Messaging: rooms.messaging, Subscriptions: rooms.subscriptions, Search: rooms.search,
	}, agentID)
}
