package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
)

const (
	postgresOldest = 15

	connectPatience   = 10 * time.Second
	statementPatience = 30 * time.Second
	// A connection is given up after the server has been silent on it for about this time.
	silencePatience = 30 * time.Second
)

// postgresServer is the dialect of a PostgreSQL database.
type postgresServer struct {
	config        *pgx.ConnConfig
	writes, reads *postgresPool
	lane          *postgresPool // one connection, see Lane
	heavy, ping   *postgresPool
	waiting       waitingPlaces // among the connections for writing
	lost          atomic.Int64  // when a connection was last found to be lost, in Unix nanoseconds
	readOnly      atomic.Int64  // when a write last met a read-only session, in Unix nanoseconds
	leader        postgresLeader
	watch         *primaryWatch // nil unless the URL names several hosts
	texts         statementTexts
}

// postgresPool is a pool of connections for which callers wait in line.
type postgresPool struct {
	server *postgresServer
	db     *sql.DB
	gate   *gate[struct{}]
	// unanswered counts the connections with a commit for which its caller did not wait.
	unanswered atomic.Int64
}

func openPostgres(ctx context.Context, cfg Config) (dialect, error) {
	config, err := parsePostgres(cfg.URL)
	if err != nil {
		return nil, err
	}
	return connectPostgres(ctx, cfg, config)
}

func connectPostgres(ctx context.Context, cfg Config, config *pgx.ConnConfig) (dialect, error) {
	most := cfg.Connections.orDefaults(PostgreSQL)
	p := &postgresServer{config: config, waiting: newWaitingPlaces(most.Write), leader: postgresLeader{patience: leaderPatience}}
	p.watch = newPrimaryWatch(config, targetOf(cfg.URL), cfg.logger(), p.suspectAll)
	config.ValidateConnect = p.watch.refusing(config.ValidateConnect)
	readConfig := config.Copy()
	readConfig.RuntimeParams[readOnlySessions] = "on"
	readConfig.ValidateConnect = p.watch.refusing(targetOf(cfg.URL).reading())
	p.writes, p.reads = p.newPool(config, most.Write), p.newPool(readConfig, most.Read)
	p.lane = p.newPool(laneConfig(config), 1)
	p.heavy, p.ping = p.newPool(readConfig, most.Heavy), p.newPool(readConfig, 1)
	if err := p.check(ctx); err != nil {
		return nil, errors.Join(err, p.close(ctx))
	}
	p.watch.start()
	return p, nil
}

// suspectAll makes every idle connection be checked before its next use.
func (p *postgresServer) suspectAll() { p.lost.Store(time.Now().UnixNano()) }

// parsePostgres reads the URL and adds the settings that it leaves open. Its errors never show the password.
func parsePostgres(address string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		if _, malformed := url.Parse(address); malformed != nil {
			// The password may be anywhere in the URL, so the error repeats no part of it.
			return nil, errors.New("the database URL is malformed; its form is " +
				"postgres://user:password@host:port/database?option=value, " +
				"special characters in the password being percent-encoded")
		}
		return nil, errors.New("the database URL is not understood: " + err.Error()) // the driver masks the password
	}
	defaults := map[string]string{
		"application_name":                    ownSessions(),
		"timezone":                            "UTC",
		"lock_timeout":                        milliseconds(lockPatience),
		"statement_timeout":                   milliseconds(statementPatience),
		"idle_in_transaction_session_timeout": milliseconds(statementPatience),
		// Every statement should use an index, whatever its arguments and however small its tables still are. So PostgreSQL
		// plans it once, and never with a scan that is cheap only while a table is empty. Compiling such plans is never worth it.
		"plan_cache_mode": "force_generic_plan",
		"enable_seqscan":  "off",
		// No plan should read a whole table to join it with some rows of another.
		"enable_hashjoin":  "off",
		"enable_mergejoin": "off",
		"jit":              "off",
	}
	for name, value := range defaults {
		_, set := config.RuntimeParams[name]
		if !set && !strings.Contains(config.RuntimeParams["options"], name) {
			config.RuntimeParams[name] = value
		}
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectPatience
	}
	config.DialFunc = dialer(config.ConnectTimeout).DialContext
	config.ValidateConnect = targetOf(address).writing()
	return config, targetOf(address).check()
}

// laneConfig sets how long the lane's connection waits, whatever the URL says about other connections.
func laneConfig(config *pgx.ConnConfig) *pgx.ConnConfig {
	lane := config.Copy()
	lane.RuntimeParams["lock_timeout"] = milliseconds(laneLockPatience)
	lane.RuntimeParams["idle_in_transaction_session_timeout"] = milliseconds(laneRestPatience)
	return lane
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// dialer makes connections that notice when the server has vanished, whether they are waiting for it or have sent it data.
func dialer(timeout time.Duration) *net.Dialer {
	return &net.Dialer{
		Timeout:         timeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: silencePatience / 2, Interval: silencePatience / 6, Count: 3},
		Control:         giveUpSilentServers,
	}
}

func (p *postgresServer) newPool(config *pgx.ConnConfig, connections int) *postgresPool {
	// After the first lost connection, check the others before their next use: the server has probably been restarted.
	suspect := func(_ context.Context, use stdlib.ShouldPingParams) bool {
		return use.IdleDuration > time.Second || time.Now().Add(-use.IdleDuration).UnixNano() <= p.lost.Load()
	}
	prepare := func(_ context.Context, config *pgx.ConnConfig) error {
		p.watch.prefer(config)
		guardCommits(config)
		return nil
	}
	db := stdlib.OpenDB(*config, stdlib.OptionShouldPing(suspect), stdlib.OptionBeforeConnect(prepare),
		stdlib.OptionAfterConnect(verified), stdlib.OptionResetSession(p.verifyAgain(config)))
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	db.SetConnMaxIdleTime(5 * time.Minute)
	db.SetConnMaxLifetime(time.Hour)
	return &postgresPool{server: p, db: db, gate: newGate(make([]struct{}, connections)...)}
}

// check refuses servers that cannot hold the schema.
func (p *postgresServer) check(ctx context.Context) error {
	var version int
	var encoding string
	row := p.writes.db.QueryRowContext(ctx, "SELECT current_setting('server_version_num'), current_setting('server_encoding')")
	if err := row.Scan(&version, &encoding); err != nil {
		return err
	}
	if version/10000 < postgresOldest {
		return fmt.Errorf("the server runs PostgreSQL %d; version %d or newer is needed", version/10000, postgresOldest)
	}
	if encoding != "UTF8" {
		return fmt.Errorf("the database's encoding is %s; create it with ENCODING 'UTF8'", encoding)
	}
	return nil
}

func (p *postgresServer) engine() Engine { return PostgreSQL }

func (p *postgresServer) acquire(ctx context.Context, mode mode) (connection, error) {
	pool := p.reads
	switch mode {
	case writing:
		pool = p.writes
	case writingInLane:
		pool = p.lane
	case readingHeavily:
		pool = p.heavy
	case pinging:
		pool = p.ping
	}
	if err := pool.enter(ctx); err != nil {
		return nil, err
	}
	conn, err := pool.db.Conn(ctx)
	if err != nil {
		pool.gate.leave(struct{}{})
		if isLost(err) {
			p.lost.Store(time.Now().UnixNano()) // an unreachable server has probably ended the other connections too
		}
		return nil, err
	}
	return &postgresConnection{Conn: conn, pool: pool}, nil
}

func (p *postgresServer) moves() int64 {
	if p.watch == nil {
		return 0
	}
	return p.watch.moves.Load()
}

func (p *postgresServer) begin(mode mode) string {
	switch {
	case mode.writes():
		return "BEGIN ISOLATION LEVEL READ COMMITTED"
	case mode.snapshot():
		return "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	}
	return ""
}

func (p *postgresServer) gorm(pool gorm.ConnPool) gorm.Dialector {
	return postgres.New(postgres.Config{Conn: pool})
}

func (p *postgresServer) migrator() (*migrator, error) {
	config := p.config.Copy()
	config.RuntimeParams["lock_timeout"] = milliseconds(migrationLockWait)
	config.RuntimeParams["statement_timeout"] = "0" // building an index may take very long
	config.RuntimeParams["idle_in_transaction_session_timeout"] = "0"
	// If several replicas start simultaneously, one migrates, and the others check every second whether it is done.
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 600))
	return &migrator{
		pool: stdlib.OpenDB(*config), books: p.writes.db, engine: PostgreSQL, dialect: goose.DialectPostgres, locker: locker,
	}, err
}

func (p *postgresServer) prepare(context.Context) error { return nil }

func (p *postgresServer) clock() string {
	return "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
}

func (p *postgresServer) forUpdate() string { return " FOR UPDATE" }

func (p *postgresServer) contains(column string) string { return "position(? IN " + column + ") > 0" }

func (p *postgresServer) indexedBy(string) string { return "" }

func (p *postgresServer) waitingPlaces() waitingPlaces { return p.waiting }

func (p *postgresServer) in(column string, values any) (string, any) {
	condition := column + " = ANY(?)"
	// gorm would turn a plain slice into several arguments.
	switch list := values.(type) {
	case []int64:
		return condition, array(list)
	case []string:
		return condition, array(list)
	}
	panic(fmt.Sprintf("database: In takes []int64 or []string, not %T", values))
}

func array[T any](list []T) pgtype.Array[T] {
	length := pgtype.ArrayDimension{Length: int32(len(list)), LowerBound: 1}
	return pgtype.Array[T]{Elements: list, Dims: []pgtype.ArrayDimension{length}, Valid: true}
}

func (p *postgresServer) close(ctx context.Context) error {
	p.watch.end()
	p.leader.close()
	var errs []error
	for _, pool := range []*postgresPool{p.heavy, p.ping, p.reads, p.writes, p.lane} {
		pool.gate.close(ctx)
		errs = append(errs, pool.db.Close())
	}
	return errors.Join(errs...)
}
