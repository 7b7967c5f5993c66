package main

import (
	"context"
	"errors"
	"strconv"

	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/clients/replay"
	openintent "openintent/sdk/go"
)

// replayCommand says how attention judges what an agent received in an intent.
type replayCommand struct {
	connection
	Intent        string `arg:"" complete:"intents" help:"The intent whose log is read."`
	About         string `complete:"agents" placeholder:"ID" help:"For whom (the calling agent). Only the operator may name another."`
	Rules         string `type:"path" placeholder:"FILE" help:"Judge by the rules in this file (YAML), not by those of today."`
	NeverDisposed bool   `help:"Show only the messages that ask something and with which the agent has done nothing."`
	JSON          bool   `name:"json" help:"Print each message as one JSON object, and then one with the rules and the totals."`
}

// Help shows how to compare.
func (replayCommand) Help() string {
	return `Reads the log of an intent and says of each message how attention judges it for an agent, and what that comes to: how many messages come
whole, as a knock or in a digest, how many must be answered, and with which the agent has never done anything. With --rules it does so under
other rules, which a file gives:

  digested_kinds: [status, progress, log, ci.result]
  turn_budget: 10
  compose_seconds: 3
  digest_seconds: 300

  openintent replay INTENT --agent reviewer
  openintent replay INTENT --about reviewer --rules quieter.yaml`
}

// Run prints a table and the totals.
func (c *replayCommand) Run(ctx context.Context, to terminal) error {
	rules := replay.Today()
	if c.Rules != "" {
		var err error
		if rules, err = replay.LoadRules(c.Rules); err != nil {
			return exitError{exitUsage, err}
		}
	}
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	raw := client.Raw()
	_, progress := to.progress()
	result, err := replay.Run(ctx,
		replay.Clients{Agents: raw.Agents, Channels: raw.Channels, Messages: raw.Messages, Attention: raw.Attention},
		replay.Options{
			IntentID: c.Intent, Agent: c.About, Rules: rules,
			Progress: func(read int) { progress.say("read %d entries of the log", read) },
		})
	progress.end()
	switch {
	case errors.Is(err, replay.ErrAgentMissing):
		return usagef("%w, with --about or --agent", err)
	case errors.Is(err, replay.ErrNotTheAgent):
		return exitError{exitRefused, err}
	case err != nil:
		return openintent.FromError(err)
	case c.JSON:
		return c.printJSON(to, result)
	}
	return c.print(to, result)
}

func (c *replayCommand) shows(m *replay.Message) bool { return !c.NeverDisposed || m.NeverDisposed() }

func (c *replayCommand) print(to terminal, result *replay.Result) error {
	printed := newTable("MESSAGE", "SENT", "SENDER", "TYPE", "POLICY", "INJECTION", "REASON", "DISPOSITION", "SUBJECT")
	for _, m := range result.Messages {
		if c.shows(m) {
			printed.add(reference(m.ChannelID, m.ID), clock(timestamppb.New(m.CreatedAt)), m.Sender, word(m.Type), word(m.Policy),
				word(m.Injection), m.Reason, m.Disposition, m.Subject)
		}
	}
	if err := printed.print(to); err != nil {
		return err
	}
	if err := printLine(to, ""); err != nil {
		return err
	}
	return totals(result.Totals).print(to)
}

// totals are the totals as a table, without what did not happen.
func totals(t replay.Totals) *table {
	printed := newTable("TOTAL", "COUNT")
	for _, row := range []struct {
		name  string
		count int
	}{
		{"messages", t.Messages},
		{"whole", t.Full},
		{"deliveries of these", t.FullDeliveries},
		{"knocks", t.Knocks},
		{"digested", t.Digested},
		{"digests", t.Digests},
		{"left in the mailbox", t.Mailbox},
		{"must respond", t.MustRespond},
		{"may respond", t.MayRespond},
		{"acknowledge only", t.AckOnly},
		{"must not respond", t.MustNotRespond},
		{"braked", t.Braked},
		{"never disposed of", t.NeverDisposed},
		{"of these, must respond", t.MustRespondNeverDisposed},
		{"characters in all", t.Characters.Whole},
		{"characters delivered", t.Characters.Delivered},
		{"characters shown", t.Characters.Shown},
	} {
		printed.add(row.name, strconv.Itoa(row.count))
	}
	return printed
}

// replayed is a message as JSON.
type replayed struct {
	MessageID    string  `json:"message_id"`
	ChannelID    string  `json:"channel_id"`
	ChannelName  string  `json:"channel_name"`
	Position     int64   `json:"position"`
	CreatedAt    string  `json:"created_at"`
	Sender       string  `json:"sender"`
	To           *string `json:"to"`
	MessageType  string  `json:"message_type"`
	Subject      *string `json:"subject"`
	Directedness string  `json:"directedness"`
	Policy       string  `json:"policy"`
	Injection    string  `json:"injection"`
	Reason       string  `json:"reason"`
	Disposition  *string `json:"disposition"`
	Characters   int     `json:"characters"`
}

// replayEnd is the last JSON object of a replay.
type replayEnd struct {
	IntentID string        `json:"intent_id"`
	AgentID  string        `json:"agent_id"`
	Rules    replay.Rules  `json:"rules"`
	Totals   replay.Totals `json:"totals"`
}

func (c *replayCommand) printJSON(to terminal, result *replay.Result) error {
	for _, m := range result.Messages {
		if !c.shows(m) {
			continue
		}
		err := printObject(to, replayed{
			MessageID: m.ID, ChannelID: m.ChannelID, ChannelName: m.Channel, Position: m.Position,
			CreatedAt: m.CreatedAt.UTC().Format("2006-01-02T15:04:05.000000Z"), Sender: m.Sender, To: present(m.To), MessageType: word(m.Type),
			Subject: present(m.Subject), Directedness: word(m.Directedness), Policy: word(m.Policy), Injection: word(m.Injection),
			Reason: m.Reason, Disposition: present(m.Disposition), Characters: m.Characters,
		})
		if err != nil {
			return err
		}
	}
	return printObject(to, replayEnd{result.IntentID, result.Agent, result.Rules, result.Totals})
}
