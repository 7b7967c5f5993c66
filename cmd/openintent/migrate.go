package main

import (
	"context"
	"fmt"

	"openintent/internal/database"
)

// migrateCommand brings a database's schema up to date, apart from a server.
type migrateCommand struct {
	DatabaseURL string `name:"database-url" env:"OPENINTENT_DATABASE_URL" default:"sqlite:./openintent.db" help:"The database, as for serve: sqlite:PATH or postgres://USER@HOST/NAME."`
	Check       bool   `name:"check" help:"Only say what it would do, and exit with 10 if there is anything to do."`
}

// Help says what matters before replicas are replaced.
func (migrateCommand) Help() string {
	return `Servers of this release and of the one before go on serving while it runs, on PostgreSQL.
A SQLite file must not be open in a server. docs/upgrading.md has the steps of an upgrade.`
}

// Run migrates, and prints each migration with its release.
func (c *migrateCommand) Run(ctx context.Context, to terminal) error {
	cfg := database.Config{URL: c.DatabaseURL, Logger: to.logger()}
	does, done := "applied", database.Migrate
	if c.Check {
		does, done = "would apply", database.Inspect
	}
	outlook, err := done(ctx, cfg)
	if err != nil {
		if database.IsUnavailable(err) {
			return exitError{exitUnavailable, err}
		}
		return err
	}
	for _, m := range outlook.Pending {
		_, _ = fmt.Fprintf(to.stdout, "%s %d %s, of release %s\n", does, m.Number, m.Name, m.Release)
	}
	switch {
	case c.Check && len(outlook.Pending) > 0:
		return silent(exitBehind)
	case outlook.Newer != "" && outlook.Newer != outlook.Release:
		_, _ = fmt.Fprintf(to.stdout, "the schema is that of release %s; this program, of release %s, can serve it\n", outlook.Newer, outlook.Release)
	default:
		_, _ = fmt.Fprintf(to.stdout, "the schema is that of release %s\n", outlook.Release)
	}
	return nil
}
