package database

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// noticeLocks distinguishes the locks of listeners from other locks in the same database.
const noticeLocks = 0x6f6a

// postgresNotices is a connection for notifications.
type postgresNotices struct{ conn *pgx.Conn }

// connectNotices makes a connection whose commits do not wait for the disk: a NOTIFY holds a lock of the whole server until its
// commit is done, and a notification need not survive a crash.
func (p *postgresServer) connectNotices(ctx context.Context) (noticeConnection, error) {
	conn, err := p.connectBeside(ctx, map[string]string{"synchronous_commit": "off", "idle_session_timeout": "0"})
	if err != nil {
		return nil, err
	}
	return &postgresNotices{conn}, nil
}

// connectBeside makes a connection outside the pools, with further settings.
func (p *postgresServer) connectBeside(ctx context.Context, settings map[string]string) (*pgx.Conn, error) {
	config := p.config.Copy()
	for name, value := range settings {
		config.RuntimeParams[name] = value
	}
	p.watch.prefer(config)
	return pgx.ConnectConfig(ctx, config)
}

// closeBeside closes a connection from connectBeside, even a lost one, and waits until nothing of it is running.
func closeBeside(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), finishPatience)
	defer cancel()
	_ = conn.Close(ctx) // an error means that it is closed already
	select {
	case <-conn.PgConn().CleanupDone():
	case <-ctx.Done():
	}
}

// listen also takes a lock that all listeners share; counting its holders counts the listeners.
func (c *postgresNotices) listen(ctx context.Context, channel string) error {
	if _, err := c.conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return err
	}
	_, err := c.conn.Exec(ctx, "SELECT pg_advisory_lock_shared($1, hashtext($2))", noticeLocks, channel)
	return err
}

func (c *postgresNotices) listeners(ctx context.Context, channel string) (count int, err error) {
	const held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted" +
		" AND database = (SELECT oid FROM pg_database WHERE datname = current_database())" +
		" AND classid::bigint = $1 AND objid::bigint = hashtext($2)::bigint & 4294967295"
	err = c.conn.QueryRow(ctx, held, noticeLocks, channel).Scan(&count)
	return count, err
}

func (c *postgresNotices) receive(ctx context.Context) (string, error) {
	for {
		waiting, cancel := context.WithTimeout(ctx, silentNotices)
		received, err := c.conn.WaitForNotification(waiting)
		cancel()
		switch {
		case received != nil:
			return received.Payload, nil
		case ctx.Err() != nil:
			return "", ctx.Err()
		case !errors.Is(err, context.DeadlineExceeded):
			return "", err
		}
		if err := c.ask(ctx); err != nil {
			return "", err
		}
	}
}

// ask makes the server answer. Without this, a connection that something on the way has dropped looks like an idle one.
func (c *postgresNotices) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, finishPatience)
	defer cancel()
	return c.conn.Ping(ctx)
}

func (c *postgresNotices) send(ctx context.Context, channel string, payloads []string) error {
	_, err := c.conn.Exec(ctx, "SELECT pg_notify($1, payload) FROM unnest($2::text[]) payload", channel, payloads)
	return err
}

func (c *postgresNotices) close() { closeBeside(c.conn) }
