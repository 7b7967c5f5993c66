package main

import (
	"context"
	"fmt"

	"openintent/internal/database"
	"openintent/server"
)

// shownBreaks is how many rows that break one rule are shown.
const shownBreaks = 100

// checkCommand checks that a database keeps its invariants.
type checkCommand struct {
	databaseFlag
}

// Help says when to use the command and how to read it.
func (checkCommand) Help() string {
	return `Each line is a rule, with how many rows it speaks of; lines below it name the rows that break it, up to 100.
The exit code is 1 if a row breaks a rule.
It only reads, on one snapshot, so servers may run meanwhile. docs/backups.md says more.`
}

// Run checks rule by rule.
func (c *checkCommand) Run(ctx context.Context, to terminal) error {
	rules, broken := 0, 0
	to, progress := to.progress()
	err := database.ReadSnapshot(ctx, c.DatabaseURL, func(tx *database.Tx) error {
		for _, room := range server.Invariants(tx.Engine()) {
			for _, invariant := range room.Invariants {
				progress.say("rule %d: checking that %s", rules+1, invariant.Rule)
				kept, err := checkOne(tx, to, room.Room, invariant)
				if err == nil {
					err = ctx.Err()
				}
				if err != nil {
					return fmt.Errorf("checking that %s: %w", invariant.Rule, err)
				}
				if rules++; !kept {
					broken++
				}
			}
		}
		return nil
	})
	progress.end()
	switch {
	case err != nil:
		return err
	case broken > 0:
		return fmt.Errorf("the database breaks %d of %d rules", broken, rules)
	}
	return printLine(to, fmt.Sprintf("the database keeps all %d rules", rules))
}

// checkOne prints what came of one rule, and reports whether all rows keep it.
func checkOne(tx *database.Tx, to terminal, room string, invariant database.Invariant) (kept bool, err error) {
	var places []string
	found := 0
	rows, err := invariant.Check(tx, func(where string) {
		if found++; found <= shownBreaks {
			places = append(places, where)
		}
	})
	if err != nil {
		return false, err
	}
	verdict := "ok"
	if found > 0 {
		verdict = "BROKEN"
	}
	lines := []string{fmt.Sprintf("%-6s  %s: %s (rows: %d)", verdict, room, invariant.Rule, rows)}
	for _, where := range places {
		lines = append(lines, fmt.Sprintf("        %s: not so: %s", room, where))
	}
	if found > len(places) {
		lines = append(lines, fmt.Sprintf("        %s: and %d more", room, found-len(places)))
	}
	for _, line := range lines {
		if err := printLine(to, line); err != nil {
			return false, err
		}
	}
	return found == 0, nil
}
