package database

import (
	"context"
	"fmt"
)

// Rewrite writes a SQLite file anew, without what it keeps of rows that were deleted or changed until their space is used again. It takes
// as much free space as the file has. On PostgreSQL, where vacuum does that, it does nothing.
func (db *DB) Rewrite(ctx context.Context) error {
	if db.Engine() != SQLite {
		return nil
	}
	conn, err := db.dialect.acquire(ctx, writing)
	if err != nil {
		return err
	}
	for _, statement := range []string{"VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if _, err = conn.ExecContext(ctx, statement); err != nil {
			err = fmt.Errorf("writing the SQLite file anew: %w", err)
			break
		}
	}
	conn.leave(err)
	return err
}
