package database

import "context"

// Read runs fn on one snapshot of the database, and always rolls back. It is for the server's own work, and for the short reads that
// changes need: what a caller asks to read is for ReadFor.
func (db *DB) Read(ctx context.Context, fn func(tx *Tx) error) error {
	return db.read(ctx, reading, nil, Reader{}, fn)
}

// ReadStatement is Read for an fn that makes exactly one statement. One statement is a snapshot by itself, so this saves the round trips
// that open and end a transaction.
func (db *DB) ReadStatement(ctx context.Context, fn func(tx *Tx) error) error {
	return db.read(ctx, readingOnce, nil, Reader{}, fn)
}

// ReadFor is Read for what a caller asks to read, and for other reads that may take long. They come in turn, by their readers. When the
// context ends, a statement under way is interrupted. If too many reads are waiting, from this reader's key or in all, ReadFor returns
// ErrCrowded. fn must not begin another read, which would wait for a turn while it has one.
func (db *DB) ReadFor(ctx context.Context, by Reader, fn func(tx *Tx) error) error {
	return db.read(ctx, readingInTurn, db.reads, by, fn)
}

// ReadHeavy is ReadFor for a read that may take longer or return more: a page of a list of everything, a search, a part of an export. Such
// reads have a few connections and a line of their own. Fewer of them may wait.
func (db *DB) ReadHeavy(ctx context.Context, by Reader, fn func(tx *Tx) error) error {
	return db.read(ctx, readingHeavily, db.heavy, by, fn)
}

// WaitingReads returns how many callers' reads wait for their turns: those of ReadFor and those of ReadHeavy.
func (db *DB) WaitingReads() (reads, heavy int) { return db.reads.count(), db.heavy.count() }

// GiveWay lets other callers' reads have the place of this one, if it is their turn, and then goes on in the same snapshot. A read that may
// look at many rows calls it between its portions, so that it holds a short read up only by a portion. That is for SQLite, where reads have
// more connections than processors. On PostgreSQL a read without a connection can do nothing with a place, so GiveWay returns at once.
func (tx *Tx) GiveWay() {
	if tx.line != nil {
		tx.line.giveWay(tx.by)
	}
}

func (db *DB) read(ctx context.Context, mode mode, in *line, by Reader, fn func(tx *Tx) error) error {
	tx, err := db.take(ctx, mode, in, by)
	if err != nil {
		return err
	}
	defer tx.endRead()
	if err := fn(tx); err != nil {
		return endedBy(ctx, err)
	}
	return endedBy(ctx, tx.failed)
}

// endRead is end for reads. If the rollback costs a round trip, endRead does not wait for it.
func (tx *Tx) endRead() {
	if tx.begun && tx.Engine() == PostgreSQL {
		go tx.end(false)
		return
	}
	tx.end(false)
}

func (db *DB) take(ctx context.Context, mode mode, in *line, by Reader) (*Tx, error) {
	conn, waited, err := db.acquire(ctx, mode, in, by)
	if err != nil {
		return nil, endedBy(ctx, err)
	}
	tx := &Tx{db: db, ctx: ctx, mode: mode, conn: conn, line: in, by: by, waited: waited, begin: db.dialect.begin(mode)}
	if !mode.writes() {
		tx.readAt = db.Now()
	}
	if mode.long() {
		tx.interrupts = conn.interruptible(ctx)
	}
	return tx, nil
}

// acquireNow waits for a connection. Whoever has one of a line leaves that.
func (db *DB) acquireNow(ctx context.Context, mode mode, in *line, by Reader) (connection, error) {
	if in == nil {
		return db.dialect.acquire(ctx, mode)
	}
	if err := in.enter(ctx, by); err != nil {
		return nil, err
	}
	conn, err := db.dialect.acquire(ctx, mode)
	if err != nil {
		in.leave(by)
	}
	return conn, err
}
