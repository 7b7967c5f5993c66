package main

import (
	"context"
	"strconv"
	"time"

	"openintent/internal/database"
)

// baseline is the design that group commit replaces: each message has its own transaction, which numbers it under a
// row lock. It uses the same database layer and row, so that only the design differs.
type baseline struct {
	db  *database.DB
	run string
}

const baselineSchema = `CREATE TABLE IF NOT EXISTS bench_channels (id bigint PRIMARY KEY, last_position bigint NOT NULL)`

const baselineMessages = `CREATE TABLE IF NOT EXISTS bench_messages (channel bigint NOT NULL, position bigint NOT NULL,
	id text NOT NULL, sender text NOT NULL, payload text NOT NULL, created_at bigint NOT NULL, PRIMARY KEY (channel, position))`

func openBaseline(ctx context.Context, url string) (*baseline, error) {
	db, err := database.Open(ctx, database.Config{URL: url})
	if err != nil {
		return nil, err
	}
	b := &baseline{db: db, run: strconv.FormatInt(time.Now().UnixNano(), 36)}
	return b, db.Write(ctx, func(tx *database.Tx) error {
		statements := []database.Statement{{SQL: baselineSchema}, {SQL: baselineMessages}}
		return tx.Pipeline(statements...)
	})
}

func (b *baseline) close() { _ = b.db.Close() }

// sender numbers and stores a message under its channel's lock.
func (b *baseline) sender(channels int) func(context.Context) (worker, error) {
	return func(ctx context.Context) (worker, error) {
		err := b.db.Write(ctx, func(tx *database.Tx) error {
			ids, zeros := make([]int64, channels), make([]int64, channels)
			for i := range ids {
				ids[i] = int64(i)
			}
			return tx.Pipeline(tx.InsertIgnore("bench_channels",
				database.Column{Name: "id", Values: ids}, database.Column{Name: "last_position", Values: zeros})...)
		})
		return func(ctx context.Context, n int) error {
			return b.db.Write(ctx, func(tx *database.Tx) error { return b.send(tx, n%channels) })
		}, err
	}
}

func (b *baseline) send(tx *database.Tx, channel int) error {
	var position int64
	err := tx.Pipeline(database.Statement{
		SQL:  "SELECT last_position FROM bench_channels WHERE id = ?" + tx.ForUpdate(),
		Args: []any{channel},
		Scan: func(row database.Row) error { return row.Scan(&position) },
	})
	if err != nil {
		return err
	}
	position++
	err = tx.Pipeline(database.Statement{
		SQL:  "INSERT INTO bench_messages (channel, position, id, sender, payload, created_at) VALUES (?, ?, ?, ?, ?, ?)",
		Args: []any{channel, position, b.run, asker, text, time.Now().UnixMicro()},
	})
	if err != nil {
		return err
	}
	return tx.Pipeline(database.Statement{
		SQL: "UPDATE bench_channels SET last_position = ? WHERE id = ?", Args: []any{position, channel},
	})
}

// committer stores single rows, each in its own transaction: an ask makes at least two such commits.
func (b *baseline) committer() func(context.Context) (worker, error) {
	first := -time.Now().UnixNano()
	return func(context.Context) (worker, error) {
		return func(ctx context.Context, n int) error {
			return b.db.Write(ctx, func(tx *database.Tx) error {
				tx.SendWithCommit(database.Statement{
					SQL: "INSERT INTO bench_messages (channel, position, id, sender, payload, created_at)" +
						" VALUES (?, ?, ?, ?, ?, ?)",
					Args: []any{first, n, b.run, asker, text, time.Now().UnixMicro()},
				})
				return nil
			})
		}, nil
	}
}
