package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// runHolding runs a command until it ends, with one more setting in its environment. It gets SIGTERM when what is held is lost, which ends
// the context of that name, and when this program is interrupted.
func runHolding(ctx, held context.Context, words []string, setting string, to terminal) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(held, stop)()
	command := exec.CommandContext(running, words[0], words[1:]...)
	command.Stdin, command.Stdout, command.Stderr = to.stdin, to.stdout, to.stderr
	command.Env = append(os.Environ(), setting)
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
