package main

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit in which Linux reports processor time.
const tick = 10 * time.Millisecond

// processorOf returns the processor time that processes have used so far; 0 where there is no /proc.
func processorOf(processes []int) (used time.Duration) {
	for _, process := range processes {
		fields := statistics(strconv.Itoa(process))
		if len(fields) < 15 {
			continue
		}
		// These fields count the process itself, and those of its children that have ended.
		for _, field := range fields[11:15] {
			ticks, _ := strconv.Atoi(field)
			used += time.Duration(ticks) * tick
		}
	}
	return used
}

// statistics returns the fields of /proc/PROCESS/stat from the process's state on: the second field, before the
// state, is in parentheses and may contain anything.
func statistics(process string) []string {
	text, err := os.ReadFile(filepath.Join("/proc", process, "stat"))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
}

// parentOf returns a process's parent, or 0.
func parentOf(process string) int {
	fields := statistics(process)
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(fields[1])
	return parent
}

// postgresProcesses finds the processes of a PostgreSQL: its main process and all children of that.
func postgresProcesses(ctx context.Context, url string) (func() []int, error) {
	pool, err := sql.Open("pgx", url)
	if err != nil {
		return nil, err
	}
	defer func() { _ = pool.Close() }()
	var session int
	if err := pool.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&session); err != nil {
		return nil, err
	}
	postmaster := parentOf(strconv.Itoa(session))
	return func() []int {
		processes := []int{postmaster}
		entries, _ := filepath.Glob("/proc/[0-9]*")
		for _, entry := range entries {
			if process := filepath.Base(entry); postmaster != 0 && parentOf(process) == postmaster {
				number, _ := strconv.Atoi(process)
				processes = append(processes, number)
			}
		}
		return processes
	}, nil
}

// together returns the processes of several contestants.
func together(all ...func() []int) func() []int {
	return func() (processes []int) {
		for _, some := range all {
			processes = append(processes, some()...)
		}
		return processes
	}
}

func only(process int) func() []int { return func() []int { return []int{process} } }
