package writing

import (
	"errors"
	"slices"
	"strconv"

	"openintent/caller"
	"openintent/channels"
	"openintent/database"
	"openintent/intents"
	"openintent/jsonvalue"
	"openintent/messaging/message"
)

// This file brings the loop brake into the writer: which messages count where, what a braked message carries, and who is told. When a
// brake is put on and ends is decided in dialogue.go.

// brakesToldHourly bounds how often an hour a coordinator is told of brakes in an intent.
const brakesToldHourly = 20

// errUntold means that a message puts on a brake of which the coordinator is told. That takes reading.
var errUntold = errors.New("a batch that tells of a brake is not stored in one round trip")

// brake counts an admitted draft, and notes on it if it is braked. It returns whose dialogue it is if the draft is
// the first one that is braked, and otherwise nobody.
//
// What is written to or mentions somebody else than the two is no part of their dialogue: it is not counted and never braked. Neither is
// an answer to a request outside threads: the two are a pair, which ends with the answer. The operator is no agent; when it writes,
// the dialogue begins anew.
func (b *batch) brake(head *intents.Head, channel *channels.Rules, d *Draft) (agents []string) {
	budget := int(channel.TurnBudget)
	place, counts := placeOfTurn(channel, d)
	if budget == 0 || !counts {
		return nil
	}
	talk, known := b.brakes.dialogue(head.IntentNo, place)
	if !known && place.root != 0 {
		talk.recall(b.parent(d), place.root, budget)
	}
	if talk.admits(d.Sender) && talk.leaves(d.Target, d.conversation) {
		return nil
	}
	braked, first := b.brakes.turn(talk, d.Sender, database.Micros(head.Now()), budget)
	if braked {
		d.conversation = d.conversation.WithBrake()
	}
	if first {
		agents = slices.Clone(talk.agents[:])
	}
	return agents
}

// placeOfTurn returns where a draft counts, if it does.
func placeOfTurn(channel *channels.Rules, d *Draft) (place dialoguePlace, counts bool) {
	place.channelNo = channel.ChannelNo
	if d.conversation != nil {
		place.root = d.conversation.ThreadPosition
	}
	return place, place.root != 0 || d.MessageType != message.TypeResponse
}

// parent returns the message under which an admitted draft belongs that names a thread.
func (b *batch) parent(d *Draft) *message.Message {
	if d.MessageType == message.TypeResponse {
		return b.request(d)
	}
	return b.parentOf(d)
}

// recall counts what is known of a thread of which nothing is remembered: its first message, if that is the parent or the parent answers
// it. An answer goes to the sender of its request.
func (d *dialogue) recall(parent *message.Message, root int64, budget int) {
	d.begin(budget)
	at := database.Micros(parent.CreatedAt)
	writers := []string{parent.Sender}
	switch root {
	case parent.Position:
	case parent.CorrelationPosition:
		writers = []string{parent.Target, parent.Sender}
	default:
		return
	}
	for _, agent := range writers {
		if agent != caller.Operator && agent != caller.System {
			d.count(agent, at)
		}
	}
}

// tellOfBrake tells the intent's coordinator, if it has one, that a message is the first one that is braked in the dialogue of two agents.
func (b *batch) tellOfBrake(head *intents.Head, channel *channels.Rules, m *message.Message, agents []string) error {
	b.tx.AfterCommit(func() {
		b.logger.Info("a loop brake was put on", "intent", channel.IntentID, "channel", channel.ID, "message", m.ID, "agents", agents,
			"turn_budget", channel.TurnBudget)
	})
	access, err := b.intents.Rules(b.tx, head.IntentNo, head.Epoch)
	if err != nil {
		return err
	}
	to := access.Coordinator(head.Now())
	switch {
	case to == "":
		return nil
	case b.atOnce:
		return errUntold
	}
	var payload jsonvalue.Builder
	payload.String("event", "loop_brake").String("channel_id", channel.ID).String("message_id", m.ID)
	if m.NamesThread() {
		payload.String("thread_id", m.Conversation.ThreadID)
	}
	payload.Strings("agents", agents).Raw("turn_budget", strconv.AppendInt(nil, channel.TurnBudget, 10))
	return b.Notify(b.tx, head, Notice{
		To: to, Payload: payload.Object(), HourlyAtMost: brakesToldHourly, Conversation: &message.Conversation{Kind: "loop_brake"},
	})
}
