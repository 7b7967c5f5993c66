package main

import (
	"context"
	"errors"
	"fmt"

	"openintent/clients/workflows"
	openintent "openintent/sdk/go"
)

// applyCommand makes an intent's channels match a workflow file.
type applyCommand struct {
	connection
	File   string `arg:"" help:"The workflow file (YAML)."`
	Intent string `complete:"intents" placeholder:"ID" help:"Intent whose channels are set (else the one in the file, or the one that an earlier run made, or a new one)."`
	DryRun bool   `help:"Print what would change, and change nothing."`
	JSON   bool   `name:"json" help:"Print what was done as one JSON object."`
}

// Run prints what it did, one line for the intent and each channel: + made, ~ changed, = unchanged. When it fails
// half-way it also prints what was done, and a further run does the rest.
func (c *applyCommand) Run(ctx context.Context, to terminal) error {
	file, err := workflows.Load(c.File)
	if err != nil {
		return c.failure(err, to)
	}
	warnOf(file, to)
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	clients := workflows.Clients{Intents: client.Raw().Intents, Channels: client.Raw().Channels}
	result, err := workflows.Apply(ctx, clients, file, workflows.Options{
		IntentID: c.Intent, Agent: client.AgentID(), DryRun: c.DryRun,
	})
	if printed := c.print(result, to); printed != nil {
		return printed
	}
	return c.failure(err, to)
}

// warnOf warns of what is no mistake, and probably not what the file is meant to say.
func warnOf(file *workflows.File, to terminal) {
	for _, key := range file.Unknown {
		at := workflows.Problem{File: file.Name, Position: key.At, Text: fmt.Sprintf(
			"%q is no key of a workflow file%s", key.Name, suggestion(key.Name, workflows.Keys()))}
		to.warn("%s", at.Error())
	}
	if len(file.Channels) == 0 {
		to.warn("%s has no channels, so there is nothing to make but its intent", file.Name)
	}
}

func (c *applyCommand) print(result *workflows.Result, to terminal) error {
	if c.JSON {
		return printObject(to, result)
	}
	if result.Intent == nil {
		return nil
	}
	if err := printLine(to, result.Intent.String()); err != nil {
		return err
	}
	for _, change := range result.Channels {
		if err := printLine(to, change.String()); err != nil {
			return err
		}
	}
	return nil
}

// failure gives an error its exit code. When the file has several mistakes, it prints one line for each.
func (c *applyCommand) failure(err error, to terminal) error {
	var (
		problems workflows.Problems
		call     *workflows.CallError
		refusal  *openintent.Error
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &problems):
		for _, problem := range problems {
			to.note("%s", problem.Error())
		}
		return exitError{exitUsage, fmt.Errorf("nothing of %s was applied", c.File)}
	case errors.Is(err, workflows.ErrIntentEnded):
		return exitError{exitConflict, err}
	case errors.Is(err, workflows.ErrUnreadable):
		return exitError{exitUsage, err}
	case errors.As(err, &call) && errors.As(openintent.FromError(call.Unwrap()), &refusal):
		placed := *refusal
		placed.Message = call.Doing + ": " + placed.Message
		return &placed
	}
	return openintent.FromError(err)
}
