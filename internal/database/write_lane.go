package database

import (
	"context"
	"errors"
	"time"
)

// Limits of a lane's transactions on PostgreSQL. They are for a caller that cannot wait: a lock that is not available within
// laneLockPatience is a conflict. The server ends a session that does nothing inside a transaction for laneRestPatience, and
// releases its locks, because the session's process is frozen or its machine has vanished.
const (
	laneLockPatience = 100 * time.Millisecond
	laneRestPatience = 10 * time.Second
)

// Lane is a separate way to write. On PostgreSQL it has its own connection, so its transactions never wait in line behind
// transactions that wait for locks. It serves one transaction at a time. On SQLite, where Write never waits for locks, all
// transactions use one line.
type Lane struct{ db *DB }

// Lane returns the database's only lane. It is for the caller that must never be delayed.
func (db *DB) Lane() Lane { return Lane{db} }

// Write is DB.Write, but runs its closure only once. After an error that IsConflict recognizes, the caller should try again, at
// a time of its choice.
func (l Lane) Write(ctx context.Context, fn func(tx *Tx) error) error {
	tx, err := l.db.write(ctx, writingInLane, fn)
	if !tx.done(err) && !IsConflict(err) && tx != nil && IsConflict(tx.failed) {
		return errors.Join(err, tx.failed)
	}
	return err
}

// WriteAtOnce is Write for a closure that makes no statements. It registers everything that it stores with SendWithCommit, and
// the whole transaction takes one round trip. A statement that the closure makes nevertheless fails with ErrNotAtOnce.
func (l Lane) WriteAtOnce(ctx context.Context, fn func(tx *Tx) error) error {
	return l.Write(ctx, func(tx *Tx) error {
		tx.atOnce = true
		return fn(tx)
	})
}
