package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const pgbenchTable = `CREATE TABLE singles (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, channel bigint NOT NULL,
	sender text NOT NULL, payload text NOT NULL, created_at timestamptz NOT NULL DEFAULT clock_timestamp())`

// pgbench measures PostgreSQL alone: rows of a message's size, each in its own transaction, without numbers.
func (c *comparison) pgbench(ctx context.Context) ([]contest, error) {
	program, err := exec.LookPath("pgbench")
	if err != nil {
		installed, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
		if len(installed) == 0 {
			c.leaveOut("pgbench, which is not installed")
			return nil, nil
		}
		program = installed[len(installed)-1]
	}
	address, err := c.databaseURL(ctx, "postgres", "pgbench")
	if err != nil {
		return nil, err
	}
	pool, err := sql.Open("pgx", address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = pool.Close() }()
	if _, err := pool.ExecContext(ctx, pgbenchTable); err != nil {
		return nil, err
	}
	script := filepath.Join(c.scratch, "single.sql")
	err = os.WriteFile(script, []byte("INSERT INTO singles (channel, sender, payload) VALUES (1, '"+asker+"', '"+text+"');\n"), 0o600)
	if err != nil {
		return nil, err
	}
	// pgbench counts in whole seconds.
	lasting := max(c.duration.Round(time.Second), time.Second)
	return []contest{{
		row: row{doSend, pgbenchInsert, "-"}, processes: c.postgres, lasting: lasting,
		measure: func(ctx context.Context, callers int) (figure, error) {
			return runPgbench(ctx, program, address, script, callers, lasting)
		},
	}}, nil
}

// leastPgbench is how many seconds pgbench gets at least: with many clients it spends the first second on connecting.
const leastPgbench = 2

func runPgbench(ctx context.Context, program, address, script string, callers int, lasting time.Duration) (figure, error) {
	at, err := url.Parse(address)
	if err != nil {
		return figure{}, err
	}
	logs, err := os.MkdirTemp(filepath.Dir(script), "pgbench")
	if err != nil {
		return figure{}, err
	}
	defer func() { _ = os.RemoveAll(logs) }()
	run := exec.CommandContext(ctx, program, "--no-vacuum", "--protocol", "prepared", "--file", script,
		"--client", strconv.Itoa(callers), "--jobs", strconv.Itoa(min(callers, 2)), "--time", strconv.Itoa(max(leastPgbench, int(lasting.Seconds()))),
		"--log", "--log-prefix", filepath.Join(logs, "log"),
		"--host", at.Hostname(), "--port", at.Port(), "--username", at.User.Username(), at.Path[1:])
	output, err := run.CombinedOutput()
	if err != nil {
		return figure{}, fmt.Errorf("pgbench: %w: %s", err, output)
	}
	took, err := pgbenchTimes(logs)
	if err != nil {
		return figure{}, fmt.Errorf("reading pgbench's log: %w", err)
	}
	if len(took) == 0 {
		return figure{}, errors.New("pgbench logged nothing")
	}
	_, rest, _ := strings.Cut(string(output), "tps = ")
	perSecond, err := strconv.ParseFloat(strings.Fields(rest + " -")[0], 64)
	return figure{perSecond: perSecond, median: took[len(took)/2], slow: took[len(took)*99/100]}, err
}

// pgbenchTimes reads how long each transaction took, in ascending order, from the third field of each line.
func pgbenchTimes(directory string) (took []time.Duration, err error) {
	names, err := filepath.Glob(filepath.Join(directory, "log.*"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		log, err := os.Open(name) //nolint:gosec // pgbench wrote it where it was told
		if err != nil {
			return nil, err
		}
		for lines := bufio.NewScanner(log); lines.Scan(); {
			fields := strings.Fields(lines.Text())
			if len(fields) < 3 {
				continue
			}
			microseconds, err := strconv.ParseInt(fields[2], 10, 64)
			if err != nil {
				continue
			}
			took = append(took, time.Duration(microseconds)*time.Microsecond)
		}
		_ = log.Close()
	}
	slices.Sort(took)
	return took, nil
}
