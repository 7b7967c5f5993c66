package main

import (
	"errors"
	"fmt"
)

// Exit codes. Scripts branch on them, so they stay what they are.
const (
	exitOK = iota
	// exitFailed means that a command could not do its work for a reason that has no code of its own, or that the server
	// refused to start.
	exitFailed
	// exitUsage means that the command line was not understood, by the program or by the server.
	exitUsage
	// exitTimeout means that the time ran out before an answer came.
	exitTimeout
	// exitNotFound means that what was named does not exist, or not for this agent.
	exitNotFound
	// exitRefused means that the key is not known or the agent is not allowed to.
	exitRefused
	// exitUnavailable means that the server could not be reached or is full.
	exitUnavailable
	// exitRemote means that the answering agent's handler failed.
	exitRemote
	// exitBroken means that an event log does not verify.
	exitBroken
	// exitConflict means that it is too late or taken: a closed channel, an ended intent, an expired message, a name in use.
	exitConflict

	// exitInterrupted is what shells give for a program that SIGINT ended.
	exitInterrupted = 130
)

// exitError is an error with the exit code that it means.
type exitError struct {
	code int
	error
}

func (e exitError) Unwrap() error { return e.error }

// usagef refuses a command line.
func usagef(format string, arguments ...any) error {
	return exitError{exitUsage, fmt.Errorf(format, arguments...)}
}

// exitCode is the exit code for an error.
func exitCode(err error) int {
	var known exitError
	if errors.As(err, &known) {
		return known.code
	}
	return exitFailed
}
