package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/alecthomas/kong"

	"openintent/internal/database"
)

// databaseFlag names the database on which a command works without a server, as `serve` has it.
type databaseFlag struct {
	DatabaseURL string `name:"database-url" env:"OPENINTENT_DATABASE_URL" default:"sqlite:./openintent.db" help:"Where the data is: sqlite:PATH or postgres://USER@HOST/NAME."`
}

// backupCommand copies a SQLite database.
type backupCommand struct {
	databaseFlag
	File string `arg:"" help:"The file to make. It must not exist yet."`
}

// Help says how the copy is used.
func (backupCommand) Help() string {
	return `The copy is what the database held when the command began. A server may run meanwhile.
To restore it, stop the server, put the file in the database's place, remove the old -wal and -shm, and start the server.
PostgreSQL has tools of its own for this, pg_basebackup and pg_dump. docs/backups.md says more about both.`
}

// Run makes the copy and says how large it is and how long it took.
func (c *backupCommand) Run(ctx context.Context, parsed *kong.Context, to terminal) error {
	to, progress := to.progress()
	copied, err := database.Backup(ctx, c.DatabaseURL, c.File, func(pages, of int) {
		if pages == of {
			progress.say("checking the copy")
		} else {
			progress.say("copied %d%% of %d pages", 100*pages/of, of)
		}
	})
	progress.end()
	if errors.Is(err, database.ErrNotSQLite) {
		return usagef("%s", asGiven(err.Error(), parsed))
	}
	if err != nil {
		return err
	}
	return printLine(to, fmt.Sprintf("copied %s into %s: %d bytes in %s",
		copied.From, copied.Into, copied.Bytes, copied.Took.Round(time.Millisecond)))
}
