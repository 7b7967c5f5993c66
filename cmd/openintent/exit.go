package main

import (
	"context"
	"errors"
	"fmt"

	openintent "openintent/sdk/go"
)

// Scripts branch on these exit codes, so the codes must not change.
const (
	exitOK = iota
	// exitFailed means that a command failed for a reason that has no exit code of its own, or that the server
	// refused to start.
	exitFailed
	// exitUsage means that the command line was not understood, by the program or by the server.
	exitUsage
	// exitTimeout means that the time ran out before an answer came.
	exitTimeout
	// exitNotFound means that the named thing does not exist, or is hidden from this agent.
	exitNotFound
	// exitRefused means that the key is unknown or that the agent may not do this.
	exitRefused
	// exitUnavailable means that the server could not be reached or is full.
	exitUnavailable
	// exitRemote means that the answering agent's handler failed.
	exitRemote
	// exitBroken means that an event log does not verify.
	exitBroken
	// exitConflict means that the call came too late or that something is taken: a closed channel, an ended intent,
	// an expired message, a name in use.
	exitConflict
	// exitBehind means that a database lacks migrations.
	exitBehind
	// exitDeclined means that the agent that was asked said no.
	exitDeclined

	// exitInterrupted is the code that shells report for a program that SIGINT ended.
	exitInterrupted = 130
)

// exitError is an error with its exit code.
type exitError struct {
	code int
	error
}

func (e exitError) Unwrap() error { return e.error }

// silent is an exit code that the user asked for. Nothing is wrong, so nothing is said.
type silent int

func (s silent) Error() string { return fmt.Sprintf("exit code %d", int(s)) }

// usagef makes the error that refuses a command line.
func usagef(format string, arguments ...any) error {
	return exitError{exitUsage, fmt.Errorf(format, arguments...)}
}

// codesOf maps the reasons and codes of servers to exit codes.
var codesOf = map[string]int{
	"INVALID_ARGUMENT":    exitUsage,
	"DEADLINE_EXCEEDED":   exitTimeout,
	"NOT_FOUND":           exitNotFound,
	"UNAUTHENTICATED":     exitRefused,
	"PERMISSION_DENIED":   exitRefused,
	"UNAVAILABLE":         exitUnavailable,
	"RESOURCE_EXHAUSTED":  exitUnavailable,
	"ALREADY_EXISTS":      exitConflict,
	"FAILED_PRECONDITION": exitConflict,
	"ABORTED":             exitConflict,
}

// exitCode returns the exit code for an error.
func exitCode(err error) int {
	var (
		known   exitError
		remote  *openintent.RemoteError
		refusal *openintent.Error
	)
	switch {
	case errors.As(err, &known):
		return known.code
	case errors.As(err, &remote):
		return exitRemote
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, openintent.ErrDeclined):
		return exitDeclined
	case errors.As(err, &refusal) && codesOf[refusal.Code] != 0:
		return codesOf[refusal.Code]
	}
	return exitFailed
}

// sentence describes an error for people. For a server's refusal it returns the server's sentence followed by the
// reason, on which scripts can branch.
func sentence(err error) string {
	var (
		known   exitError
		remote  *openintent.RemoteError
		refusal *openintent.Error
	)
	switch {
	case errors.As(err, &known):
		return known.Error()
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.As(err, &remote):
		return fmt.Sprintf("%s [HANDLER_FAILED]", remote.Error())
	case !errors.As(err, &refusal):
		return err.Error()
	}
	text, reason := refusal.Message, refusal.Reason
	if reason == "" {
		reason = refusal.Code
	}
	if about := refusal.MessageID(); about != "" {
		text += " (" + about + ")"
	}
	return fmt.Sprintf("%s [%s]", text, reason)
}
