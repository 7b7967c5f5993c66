package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"openintent/agents"
	"openintent/internal/agentdata"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/server"
)

// agentDataCommand shows or erases what a database has of one agent.
type agentDataCommand struct {
	Export agentDataExport `cmd:"" help:"Write what a database has of an agent as lines of JSON."`
	Erase  agentDataErase  `cmd:"" help:"Erase what a database has of an agent that has deregistered."`
}

// agentDataExport writes what a database has of one agent.
type agentDataExport struct {
	databaseFlag
	Agent string `arg:"" help:"The agent's id."`
	File  string `arg:"" optional:"" help:"The file to make, which must not exist yet; without it, standard output."`
}

// Help says what the lines are.
func (agentDataExport) Help() string {
	return `Each line is a row: its table, the ids of its intent and channel, and its columns. Digests and secrets are left out.
It only reads, on one snapshot, so servers may run meanwhile. docs/personal-data.md says what it writes of each table.`
}

// Run writes the lines.
func (c *agentDataExport) Run(ctx context.Context, to terminal) (err error) {
	to, progress := to.progress()
	defer progress.end()
	if c.File == "" {
		_, err := c.export(ctx, to.stdout, progress)
		return err
	}
	file, err := os.OpenFile(c.File, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists; name a new file, because an export never overwrites one", c.File)
	}
	if err != nil {
		return fmt.Errorf("the export's folder must exist and be writable: %w", err)
	}
	lines, err := c.export(ctx, file, progress)
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(c.File))
	}
	return printLine(to, fmt.Sprintf("exported %d rows of %s into %s", lines, c.Agent, c.File))
}

func (c *agentDataExport) export(ctx context.Context, to io.Writer, progress *progress) (lines int64, err error) {
	buffered := bufio.NewWriter(to)
	err = database.ReadSnapshot(ctx, c.DatabaseURL, func(tx *database.Tx) error {
		lines, err = agentdata.Export(tx, c.Agent, &counted{Writer: buffered, progress: progress})
		return err
	})
	switch {
	case err != nil:
		return 0, dataError(err)
	case lines == 0:
		return 0, dataError(agentdata.ErrUnknown)
	}
	return lines, buffered.Flush()
}

// counted counts the lines of an export.
type counted struct {
	io.Writer
	progress *progress
	lines    int
}

func (c *counted) Write(line []byte) (int, error) {
	c.lines++
	c.progress.say("exported %d rows", c.lines)
	return c.Writer.Write(line)
}

// agentDataErase erases what a database has of one agent.
type agentDataErase struct {
	databaseFlag
	Agent string `arg:"" help:"The agent's id. The agent must have deregistered."`
}

// Help says what stays, and what to do first.
func (agentDataErase) Help() string {
	return `It cannot be taken back. It deletes the contents of the agent's messages, its subscriptions, and what it said of itself and of others.
Logged events stay, because a hash chain covers them, and so do audited messages. It says what it erased, and what stays.
On PostgreSQL servers may run meanwhile; a SQLite file must not be open in a server. If it is interrupted, repeat it.
docs/personal-data.md says what becomes of each table.`
}

// Run erases, and prints what was erased and what stays.
func (c *agentDataErase) Run(ctx context.Context, to terminal) error {
	report, err := server.EraseAgent(ctx, c.DatabaseURL, c.Agent, nil)
	if err != nil {
		return dataError(err)
	}
	for _, line := range linesOf(report) {
		if err := printLine(to, line); err != nil {
			return err
		}
	}
	return nil
}

// linesOf says what an erasure did and what it left, in the order of the tables.
func linesOf(report *agentdata.Report) (lines []string) {
	for _, table := range agentdata.Tables {
		if count := report.Erased[table.Name]; count > 0 {
			lines = append(lines, fmt.Sprintf("erased  %s: %s (rows: %d)", table.Name, table.Erased, count))
		}
	}
	if len(lines) == 0 {
		lines = append(lines, "nothing was left to erase")
	}
	for _, c := range report.Audited {
		lines = append(lines, fmt.Sprintf("stays   messages of the audited channel %s (%s): events have copies (rows: %d)", c.Name, c.ID, c.Audited))
	}
	for _, table := range agentdata.Tables {
		if count := report.Stays[table.Name]; count > 0 {
			lines = append(lines, fmt.Sprintf("stays   %s: %s (rows: %d)", table.Name, table.Stays, count))
		}
	}
	for _, key := range report.Keys {
		lines = append(lines, "stays   the key "+key+", which names the agent: openintent keys revoke "+key)
	}
	return append(lines, "stays   whatever backups, exports and logs of the server have")
}

// dataError gives a refusal of these commands its exit code.
func dataError(err error) error {
	var refused *fault.Fault
	switch {
	case errors.Is(err, agentdata.ErrUnknown):
		return exitError{exitNotFound, err}
	case errors.Is(err, agents.ErrStillRegistered):
		return exitError{exitConflict, err}
	case errors.As(err, &refused) && refused.Kind == fault.Invalid:
		return usagef("%s", refused.Message)
	}
	return err
}
