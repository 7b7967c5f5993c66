package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// runHolding runs a command until it ends, with one more setting in its environment. It gets SIGTERM when what is held is lost, which ends
// the context of that name, and when this program is interrupted.
func runHolding(ctx, held context.Context, words []string, setting string, to terminal) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(held, stop)()
	return runCommand(running, words, []string{setting}, to)
}

// lost says that a lease or a claim was lost while a command ran, and how the command ended. The exit code is the command's if it has one.
func lost(what string, cause, ran error) error {
	err := fmt.Errorf("%s was lost while the command ran: %w", what, cause)
	if ran != nil {
		err = fmt.Errorf("%w; %w", err, ran)
	}
	return exitError{exitCode(err), err}
}

// runPointed runs a command that learns which message waits, and reads the same on its standard input.
func runPointed(ctx context.Context, words []string, agent string, p pointer, to terminal) error {
	to.stdin = strings.NewReader(p.json() + "\n")
	return runCommand(ctx, words, p.settings(agent), to)
}

// runCommand runs a command until it ends, with further settings in its environment. It gets SIGTERM when the context ends. That it
// ended with another code than 0 is an exitError.
func runCommand(ctx context.Context, words, settings []string, to terminal) error {
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	command.Stdin, command.Stdout, command.Stderr = to.stdin, to.stdout, to.stderr
	command.Env = append(os.Environ(), settings...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	err := command.Run()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.Exited() {
		return exitError{ended.ExitCode(), fmt.Errorf("the command ended with %d", ended.ExitCode())}
	}
	return err
}

// afterDashes returns the words of a command that follows "--".
func afterDashes(words []string) []string {
	if len(words) > 0 && words[0] == "--" {
		return words[1:]
	}
	return words
}
