package database

import (
	"context"
	"errors"
	"time"
)

// Limits of a lane's transactions on PostgreSQL. They are for one who cannot wait: a lock that is not to be had within
// laneLockPatience is a conflict. A session that rests inside of a transaction for laneRestPatience is ended by the server,
// with its locks: its process was frozen, or its machine has vanished.
const (
	laneLockPatience = 100 * time.Millisecond
	laneRestPatience = 10 * time.Second
)

// Lane is a way to write beside all others. On PostgreSQL it has a connection of its own, so it never stands in line behind
// transactions that wait for locks. It serves one transaction at a time. SQLite, where Write never waits for locks, has one
// line for all.
type Lane struct{ db *DB }

// Lane gives the database's lane. There is one, for whoever must never be held up.
func (db *DB) Lane() Lane { return Lane{db} }

// Write is DB.Write that runs its closure once. After an error that IsConflict, trying again is right, at a time that the
// caller chooses.
func (l Lane) Write(ctx context.Context, fn func(tx *Tx) error) error {
	tx, err := l.db.write(ctx, writingInLane, fn)
	if !tx.done(err) && !IsConflict(err) && tx != nil && IsConflict(tx.failed) {
		return errors.Join(err, tx.failed)
	}
	return err
}

// WriteAtOnce is Write for a closure that makes no statement: whatever it stores is registered with SendWithCommit, and
// everything travels in one round trip. A statement that it makes all the same fails with ErrNotAtOnce.
func (l Lane) WriteAtOnce(ctx context.Context, fn func(tx *Tx) error) error {
	return l.Write(ctx, func(tx *Tx) error {
		tx.atOnce = true
		return fn(tx)
	})
}
