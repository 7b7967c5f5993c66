package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// largestBatch bounds how many messages one statement stores.
const largestBatch = 1000

// row is a message that waits to be stored.
type row struct {
	channel int64
	id      string
	stored  chan error
}

// The messages' table has all columns and indexes of the server's: a server has prepared the database.
const insertSchema = `
DROP TABLE IF EXISTS bare_messages, bare_channels;
CREATE TABLE bare_messages (LIKE messages INCLUDING ALL);
CREATE TABLE bare_channels (channel_no bigint PRIMARY KEY, last_position bigint NOT NULL)`

// insertBatch numbers and stores messages in one statement. $1 are their channels and $2 their ids, in the order of
// arrival; $3 and $4 are the values that all of them share.
const insertBatch = `
WITH waiting AS (
	SELECT channel_no, id, row_number() OVER (PARTITION BY channel_no ORDER BY place) AS nth
	FROM unnest($1::bigint[], $2::text[]) WITH ORDINALITY AS given (channel_no, id, place)
), counted AS (
	SELECT channel_no, count(*) AS n FROM waiting GROUP BY channel_no ORDER BY channel_no
), numbered AS (
	UPDATE bare_channels SET last_position = last_position + counted.n
	FROM counted WHERE bare_channels.channel_no = counted.channel_no
	RETURNING bare_channels.channel_no, last_position - counted.n AS before
)
INSERT INTO bare_messages (intent_no, position, channel_no, ordinal, id, sender, message_type, payload, metadata, created_at)
SELECT channel_no, before + nth, channel_no, before + nth, id, 'bench-asker', 'notify', $3, '{}', $4
FROM waiting JOIN numbered USING (channel_no)
RETURNING id, position`

// inserter stores messages in groups: one goroutine takes all messages that wait.
func inserter(ctx context.Context, j job) (worker, error) {
	conn, err := pgx.Connect(ctx, j.Address)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, insertSchema); err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "INSERT INTO bare_channels SELECT n, 0 FROM generate_series(0, $1::bigint) AS n",
		j.Channels-1); err != nil {
		return nil, err
	}
	queue := make(chan *row, largestBatch)
	go func() {
		defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
		for {
			select {
			case <-ctx.Done():
				return
			case first := <-queue:
				batch := takeWaiting(first, queue)
				err := insert(ctx, conn, batch)
				for _, r := range batch {
					r.stored <- err
				}
			}
		}
	}()
	run := strconv.FormatInt(time.Now().UnixNano(), 36) + "-"
	return func(_ context.Context, n int) error {
		r := &row{channel: int64(n % j.Channels), id: run + strconv.Itoa(n), stored: make(chan error, 1)}
		queue <- r
		return <-r.stored
	}, nil
}

func takeWaiting(first *row, queue <-chan *row) []*row {
	batch := []*row{first}
	for len(batch) < largestBatch {
		select {
		case next := <-queue:
			batch = append(batch, next)
		default:
			return batch
		}
	}
	return batch
}

// insert stores a batch and reads the numbers, as a server must do that acknowledges with them.
func insert(ctx context.Context, conn *pgx.Conn, batch []*row) error {
	channels, ids := make([]int64, len(batch)), make([]string, len(batch))
	for i, r := range batch {
		channels[i], ids[i] = r.channel, r.id
	}
	rows, err := conn.Query(ctx, insertBatch, channels, ids, payload, time.Now().UnixMicro())
	if err != nil {
		return err
	}
	positions := make(map[string]int64, len(batch))
	var id string
	var position int64
	_, err = pgx.ForEachRow(rows, []any{&id, &position}, func() error {
		positions[id] = position
		return nil
	})
	if err == nil && len(positions) != len(batch) {
		err = fmt.Errorf("%d of %d messages were stored", len(positions), len(batch))
	}
	return err
}
