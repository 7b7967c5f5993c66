package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	openintent "openintent/sdk/go"
)

// wakeCommand wakes an agent's harness for what waits in the agent's inbox.
type wakeCommand struct {
	connection
	Command  []string      `arg:"" optional:"" passthrough:"" help:"The command that wakes the harness, after --."`
	Exec     string        `placeholder:"COMMAND" help:"The same as one line for sh -c."`
	Via      string        `enum:"auto,socket,exec" default:"auto" help:"How to wake: exec runs the command, socket posts to the inbox of the Claude Code session that this runs in; auto is exec with a command, and else socket."`
	Once     bool          `help:"Print what waits, instead of running a command, and exit."`
	Wait     time.Duration `default:"0s" placeholder:"DURATION" help:"With --once, how long to wait while nothing does (0s)."`
	ExitCode int           `default:"0" placeholder:"CODE" help:"With --once, the exit code that says that something waits (0). If it is another one, 0 says that nothing does."`
}

// lookTimeout is how long one look at the inbox may take at least.
const lookTimeout = 30 * time.Second

// Help explains what the command gets.
func (wakeCommand) Help() string {
	return `Follows an agent's inbox. For a message that the agent must or may answer it runs the command, which wakes the agent's harness. It
never shows what a message says: the command gets its ids, in its environment (OPENINTENT_MESSAGE, OPENINTENT_CHANNEL, OPENINTENT_INTENT,
OPENINTENT_POLICY, OPENINTENT_REASON, OPENINTENT_WAITING, OPENINTENT_AGENT_ID) and as one line of JSON on standard input.

One command runs at a time. A message is taken up once the agent has been handed, has read, answered or claimed it. While nothing is taken
up, the next command waits 30 seconds, then a minute, and at last five minutes each time. After six commands without effect it waits until
the agent takes something up by itself.

In a hook or a background command of Claude Code it needs no command: it posts a line with the ids to the session's own inbox.

For an open session of Codex, whose id /status shows, and for the last one that was closed:

  openintent wake --agent researcher --exec 'codex queue --thread ID --message "Read your inbox on openintent."'
  openintent wake --agent researcher --exec 'codex exec resume --last "Read your inbox on openintent."'

For a hook:

  openintent wake --agent researcher --once --wait 10m --exit-code 2`
}

// Run wakes until it is interrupted, or looks once.
func (c *wakeCommand) Run(ctx context.Context, to terminal) error {
	c.Command = afterDashes(c.Command)
	if c.Exec != "" {
		if len(c.Command) > 0 {
			return usagef("give the command with --exec or after --, not both")
		}
		c.Command = []string{"sh", "-c", c.Exec}
	}
	if err := c.choose(); err != nil {
		return err
	}
	switch {
	case c.Once && len(c.Command) > 0:
		return usagef("--once runs no command; it prints what waits")
	case !c.Once && (c.Wait != 0 || c.ExitCode != 0):
		return usagef("--wait and --exit-code go with --once")
	case c.Wait < 0 || c.ExitCode < 0 || c.ExitCode > 125:
		return usagef("--wait must not be below zero, and --exit-code must be from 0 to 125")
	}
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	inbox := &waitingInbox{connection: wakes{client.Connection()}}
	w := &waker{
		inbox: inbox, pause: paused, log: to.logger().With("server", client.Server()),
		run: func(ctx context.Context, p pointer) error { return runPointed(ctx, c.Command, inbox.agent, p, to) },
	}
	if c.Via == "socket" {
		session, _ := inboxOfSession()
		w.run = session.post
	}
	if c.Once {
		return c.once(ctx, w, inbox, to)
	}
	if err = w.persist(ctx, func() error { return inbox.identify(ctx) }); err == nil {
		w.log.Info("waiting for messages to answer", "agent", inbox.agent, "via", c.Via)
		beating, stop := context.WithCancel(ctx)
		defer stop()
		go inbox.beat(beating, beatEvery)
		err = w.wake(ctx)
	}
	if ctx.Err() != nil {
		w.log.Info("stopped")
		return nil
	}
	return err
}

// choose finds out how to wake, and refuses what cannot work before anything waits.
func (c *wakeCommand) choose() error {
	_, inSession := inboxOfSession()
	switch {
	case c.Once:
		return nil
	case c.Via == "auto" && len(c.Command) == 0 && inSession:
		c.Via = "socket"
	case c.Via == "auto":
		c.Via = "exec"
	}
	switch {
	case c.Via == "socket" && len(c.Command) > 0:
		return usagef("--via socket runs no command; leave the command out")
	case c.Via == "socket" && !inSession:
		return errNoSession
	case c.Via == "socket":
		return nil
	case len(c.Command) == 0:
		return usagef("expected: openintent wake --exec COMMAND, or --once")
	}
	return c.find()
}

// find refuses a command that does not exist. Of a line for the shell, it looks for the first word, if that is a plain one.
func (c *wakeCommand) find() error {
	name := c.Command[0]
	_, err := exec.LookPath(name)
	if err == nil && c.Exec != "" {
		words := strings.Fields(c.Exec)
		if len(words) == 0 {
			return usagef("--exec is empty; give the command that wakes the harness")
		}
		if name = words[0]; plainWord.MatchString(name) { // the shell knows its own commands as well
			err = exec.Command("sh", "-c", `command -v -- "$1"`, "sh", name).Run()
		}
	}
	if err != nil {
		return usagef("there is no command %s here; give the one that wakes the harness, or its path", name)
	}
	return nil
}

// plainWord is a word that the shell takes as the name of a command.
var plainWord = regexp.MustCompile(`^[\w./+@-]+$`)

// once prints what waits first, if something does in time.
func (c *wakeCommand) once(ctx context.Context, w *waker, inbox *waitingInbox, to terminal) error {
	found, err := c.wait(ctx, w, inbox)
	switch {
	case err != nil:
		return err
	case len(found) > 0:
		if err := printLine(to, chosen(found, nil).json()); err != nil || c.ExitCode == 0 {
			return err
		}
		return silent(c.ExitCode)
	case c.ExitCode != 0:
		return nil
	}
	return exitError{exitTimeout, fmt.Errorf("nothing waits for %s", inbox.agent)}
}

// wait returns what waits, and nothing if nothing came in time. The time is for waiting: it has looked once whatever the time, and a
// look may take longer. That the server could not be asked is an error.
func (c *wakeCommand) wait(ctx context.Context, w *waker, inbox *waitingInbox) (found []pointer, _ error) {
	looked := false
	look := func() error {
		ctx, cancel := context.WithTimeout(ctx, max(c.Wait, lookTimeout))
		defer cancel()
		err := inbox.identify(ctx)
		if err == nil {
			found, err = inbox.look(ctx)
		}
		looked = err == nil
		return err
	}
	if c.Wait == 0 {
		err := look()
		return found, openintent.FromError(err)
	}
	waiting, cancel := context.WithTimeout(ctx, c.Wait)
	defer cancel()
	err := w.persist(waiting, func() (err error) {
		if !looked {
			err = look()
		}
		if err == nil && len(found) == 0 {
			found, err = inbox.next(waiting)
		}
		if looked && status.Code(err) == codes.DeadlineExceeded && ctx.Err() == nil {
			return nil // the time is over, which a stream may notice before its context
		}
		return err
	})
	if looked && waiting.Err() != nil && ctx.Err() == nil && !errors.Is(err, openintent.ErrUnavailable) {
		return found, nil
	}
	return found, err
}

// paused waits for so long, or until the context ends.
func paused(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
