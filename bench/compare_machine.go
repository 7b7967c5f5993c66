package main

import (
	"context"
	"database/sql"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
)

// fact is a line about the machine or a version.
type fact struct{ name, value string }

// describeMachine describes, before a run begins, the machine and the measured programs.
func describeMachine(ctx context.Context, c *comparison) []fact {
	facts := []fact{
		{"processors", fmt.Sprintf("%d, %s", runtime.NumCPU(), field("/proc/cpuinfo", "model name"))},
		{"memory", field("/proc/meminfo", "MemTotal")},
		{"system", said(ctx, "uname", "-srm")},
		{"load before the run", firstWords("/proc/loadavg", 3)},
		{"this server", said(ctx, "git", "describe", "--always", "--dirty")},
		{"Go", runtime.Version()},
		{"PostgreSQL", postgresVersion(ctx)},
	}
	if own, ok := debug.ReadBuildInfo(); ok {
		facts = append(facts, versions(own, "modernc.org/sqlite", "google.golang.org/grpc")...)
	}
	if peers, err := buildinfo.ReadFile(c.program); err == nil {
		facts = append(facts, versions(peers, "github.com/nats-io/nats-server/v2", "github.com/nats-io/nats.go")...)
	}
	if c.python != "" {
		facts = append(facts, fact{"published server", said(ctx, c.python, "-c",
			"import importlib.metadata as m, sys; print('openintent', m.version('openintent'), 'on Python', sys.version.split()[0])")})
	}
	return facts
}

// field returns the text that follows a name and a colon in a file.
func field(file, name string) string {
	text, err := os.ReadFile(file) //nolint:gosec // a file of the system
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

func firstWords(file string, n int) string {
	text, err := os.ReadFile(file) //nolint:gosec // a file of the system
	words := strings.Fields(string(text))
	if err != nil || len(words) < n {
		return "unknown"
	}
	return strings.Join(words[:n], " ")
}

// said returns what a program prints.
func said(ctx context.Context, program string, arguments ...string) string {
	output, err := exec.CommandContext(ctx, program, arguments...).Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(output))
}

func postgresVersion(ctx context.Context) string {
	pool, err := sql.Open("pgx", os.Getenv(postgresSetting))
	if err != nil {
		return "unknown"
	}
	defer func() { _ = pool.Close() }()
	var version, fsync, commit string
	err = pool.QueryRowContext(ctx, `SELECT current_setting('server_version'), current_setting('fsync'),
		current_setting('synchronous_commit')`).Scan(&version, &fsync, &commit)
	if err != nil {
		return "unknown"
	}
	return fmt.Sprintf("%s, fsync %s, synchronous_commit %s", version, fsync, commit)
}

// versions returns the versions of modules that a program is built from.
func versions(info *debug.BuildInfo, modules ...string) (facts []fact) {
	for _, dependency := range info.Deps {
		for _, module := range modules {
			if dependency.Path == module {
				facts = append(facts, fact{module, dependency.Version})
			}
		}
	}
	return facts
}
