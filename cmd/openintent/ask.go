package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// leastPatience is how long a question may look for its channel, even if it waits for its answer less than that.
const leastPatience = 2 * time.Second

// askCommand asks a question and prints the answer.
type askCommand struct {
	connection
	output
	Channel string `complete:"channels" arg:"" optional:"" help:"Channel: its id (chan_...), or its name on the intent that --intent names."`
	To      string `complete:"agents" arg:"" optional:"" help:"Agent, or role:ROLE."`
	payloadFlags
	intentFlag
	createFlag
	factFlags
	parentFlag
	aboutFlags
	expiryFlag
	Collect      string        `placeholder:"N|WORD" help:"How many answers of a role count: any (the default), one, all, or exactly N of different agents. For one and N, who answers needs a claim."`
	Obligation   string        `enum:"halted,degraded,none," default:"" placeholder:"WORD" help:"The question stays open until you discharge it (openintent owed). What stands still meanwhile: halted, degraded or none."`
	Delegate     string        `complete:"agents" placeholder:"AGENT" help:"With --obligation: an agent that may discharge it too."`
	Timeout      time.Duration `default:"30s" aliases:"wait" placeholder:"DURATION" help:"How long to wait for the answer (also --wait), at most 10m (30s). Then the question expires; with --resume it stays open."`
	All          bool          `help:"Print all answers as they arrive, until the time is over."`
	MinResponses int           `placeholder:"N" help:"With --all, stop after this many answers."`
	NoWait       bool          `help:"Print the question's reference, CHANNEL/MESSAGE, and do not wait."`
	Resume       string        `placeholder:"REFERENCE" help:"Do not ask; wait for the answer to a question that was asked earlier."`
}

// Help explains the exit codes and shows examples.
func (askCommand) Help() string {
	return `Prints the answer's payload. Exit code 3: nobody answered in time (with --all: nobody, or fewer than --min-responses);
7: the answering agent's handler failed; 11: the agent said no, and --resume finds its answer if it changes its mind.

  openintent ask --intent ID data-clarification data-agent '{"question": "which schema?"}'
  openintent ask --intent ID votes role:reviewer --text "Merge it?" --all --min-responses 2
  openintent ask --resume "$(openintent ask CHANNEL data-agent -p question=which --no-wait)"`
}

// Run asks, or resumes.
func (c *askCommand) Run(ctx context.Context, to terminal) error {
	if err := c.check(); err != nil {
		return err
	}
	c.Patience = min(c.Patience, max(c.Timeout, leastPatience))
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	if c.Resume != "" {
		return c.resume(ctx, client, to)
	}
	place, err := c.place()
	if err != nil {
		return err
	}
	draft, err := c.draft(c.payloadFlags, c.expiryFlag, place, to)
	if err != nil {
		return err
	}
	channel, err := channelArgument{c.Channel, c.intentFlag}.findOrCreate(ctx, client, c.Create)
	if err != nil {
		return err
	}
	if c.NoWait {
		draft.To, draft.MessageType = c.To, openintent.Request
		sent, err := client.SendMessage(ctx, channel.GetId(), draft)
		if err != nil {
			return err
		}
		return printSent(c.output, sent, to)
	}
	question := openintent.Question{
		To: c.To, Payload: draft.Payload, Metadata: draft.Metadata, IdempotencyKey: draft.IdempotencyKey,
		Timeout: c.Timeout, MinResponses: c.MinResponses, Conversation: place,
	}
	if c.All {
		return c.gather(ctx, client, channel.GetId(), question, to)
	}
	response, err := client.Ask(ctx, channel.GetId(), question)
	if err != nil {
		return err
	}
	return printAnswer(c.output, response, to)
}

// check refuses flags that do not go together.
func (c *askCommand) check() error {
	switch {
	case c.Resume == "" && (c.Channel == "" || c.To == ""):
		return usagef("expected: openintent ask CHANNEL TO PAYLOAD, or ask --resume REFERENCE")
	case c.Resume != "" && (c.Channel != "" || c.NoWait):
		return usagef("--resume waits for the answer to an earlier question; it takes no channel, payload or --no-wait")
	case c.Timeout <= 0 || c.MinResponses < 0:
		return usagef("--timeout and --min-responses must be above zero")
	case c.Delegate != "" && c.Obligation == "":
		return usagef("--delegate goes with --obligation")
	case c.MinResponses > 0 && !c.All:
		return usagef("--min-responses goes with --all")
	case c.NoWait && c.All:
		return usagef("--no-wait waits for no answers, so it does not go with --all")
	case c.Expires != 0 && !c.NoWait:
		return usagef("a question expires with its --timeout; --expires goes with --no-wait")
	}
	return nil
}

// place returns where the question belongs, and how many answers it wants.
func (c *askCommand) place() (openintent.Conversation, error) {
	place, err := c.under(c.conversation())
	if n, notANumber := strconv.Atoi(c.Collect); notANumber == nil {
		place.Collect = openintent.CollectQuorum(n)
	} else {
		place.Collect = openintent.Collect(c.Collect)
	}
	if c.Obligation != "" {
		place.Obligation = &openintent.Obligation{Blocks: openintent.Blocks(c.Obligation), Delegate: c.Delegate}
	}
	return place, err
}

// gather prints the answers as they arrive.
func (c *askCommand) gather(
	ctx context.Context, client *openintent.Client, channelID string, question openintent.Question, to terminal,
) error {
	came := 0
	printed := newTable("SENDER", "PAYLOAD")
	for response, err := range client.AskAllIter(ctx, channelID, question) {
		if err != nil {
			return err
		}
		came++
		message, err := messageOf(response)
		if err != nil {
			return err
		}
		if err := listAnswers(c.output, printed, to, message); err != nil {
			return err
		}
	}
	return enough(came, c.MinResponses)
}

// enough returns an error when there are too few answers.
func enough(came, wanted int) error {
	switch {
	case came == 0:
		return exitError{exitTimeout, fmt.Errorf("nobody answered in time")}
	case came < wanted:
		return exitError{exitTimeout, fmt.Errorf("only %d of %d answers came in time", came, wanted)}
	}
	return nil
}

// printAnswer prints an answer's payload or, as JSON, the whole message.
func printAnswer(o output, response *openintent.Message, to terminal) error {
	message, err := messageOf(response)
	if err != nil {
		return err
	}
	if o.JSON {
		return lines(to, message)
	}
	return printPayload(to, message.GetPayload())
}

// listAnswers prints who answered what.
func listAnswers(o output, printed *table, to terminal, responses ...*openintentv1.Message) error {
	return list(o, to, printed, responses, func(m *openintentv1.Message) []string {
		return []string{m.GetSender(), inline(m.GetPayload())}
	})
}
