package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	openintent "openintent/sdk/go"
)

// lockCommand runs a command while it holds a lease.
type lockCommand struct {
	connection
	intentFlag
	Scope    string        `arg:"" help:"What to lease: a text on which the agents agree, or task:TASK."`
	Command  []string      `arg:"" passthrough:"" help:"The command to run, after --."`
	Wait     time.Duration `default:"0s" placeholder:"DURATION" help:"How long to wait while another agent holds the scope, at most 10m (0s)."`
	Duration time.Duration `default:"60s" placeholder:"DURATION" help:"How long the lease outlives this program if it cannot release it (60s)."`
}

// Help explains the fence and the exit code.
func (lockCommand) Help() string {
	return `Leases a scope of an intent, runs the command, and releases the scope when it ends. The lease renews itself. If it is lost,
the command gets SIGTERM. The exit code is the command's, or 9 while another agent holds the scope.

The command finds OPENINTENT_FENCE in its environment, a number that is higher than that of every earlier lease. Have what the scope
protects refuse lower numbers than it has seen.

  openintent lock --intent ID src/parser.go --wait 5m -- make generate`
}

// Run leases, runs and releases.
func (c *lockCommand) Run(ctx context.Context, to terminal) error {
	c.Command = afterDashes(c.Command)
	intent, err := c.needed()
	switch {
	case err != nil:
		return err
	case len(c.Command) == 0:
		return usagef("expected: openintent lock SCOPE -- COMMAND")
	case c.Wait < 0 || c.Wait > 10*time.Minute || c.Duration < time.Second || c.Duration > 24*time.Hour:
		return usagef("--wait must be at most 10m, and --duration from 1s to 24h")
	}
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	lease, err := client.Lease(ctx, intent, c.Scope, openintent.LeaseOptions{Duration: c.Duration, Wait: c.Wait})
	if err != nil {
		return err
	}
	ran := runHolding(ctx, lease.Context(), c.Command, "OPENINTENT_FENCE="+strconv.FormatInt(lease.Fence, 10), to)
	releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.Patience)
	defer cancel()
	if cause := context.Cause(lease.Context()); errors.Is(cause, openintent.ErrLeaseLost) {
		return lost(fmt.Sprintf("the lease of %q", c.Scope), cause, ran)
	}
	return errors.Join(ran, lease.Release(releasing))
}
