package writing

import (
	"strconv"

	"openintent/channels"
	"openintent/intents"
	"openintent/internal/jsonvalue"
	"openintent/messaging/loopbrake"
	"openintent/messaging/message"
)

// This file brings the loop brake into the writer: what a braked message carries, and who is told. Which messages count where, and when a
// brake is put on and ends, is decided in messaging/loopbrake.

// brakesToldHourly bounds how often an hour a coordinator is told of brakes in an intent.
const brakesToldHourly = 20

// brake counts an admitted draft, and notes on it if it is braked. It returns whose dialogue it is if the draft is
// the first one that is braked, and otherwise nobody.
func (b *batch) brake(head *intents.Head, channel *channels.Rules, d *Draft) (agents []string) {
	budget := loopbrake.Budget{Turns: int(channel.TurnBudget), Within: loopbrake.BrakeTime}
	place, counts := loopbrake.PlaceOf(channel.ChannelNo, d.MessageType, d.conversation)
	if budget.Turns == 0 || !counts {
		return nil
	}
	talk, known := b.brakes.dialogue(head.IntentNo, place)
	if !known && place.Root != 0 {
		talk.Recall(b.parent(d), place.Root, budget)
	}
	speaker := loopbrake.Speaker(d.Sender, d.Human)
	if talk.Leaves(speaker, d.Target, d.conversation) {
		return nil
	}
	braked, first := b.brakes.turn(talk, speaker, head.Now(), budget)
	if braked {
		d.conversation = d.conversation.WithBrake()
	}
	if first {
		agents = talk.Agents()
	}
	return agents
}

// parent returns the message under which an admitted draft belongs that names a thread.
func (b *batch) parent(d *Draft) *message.Message {
	if d.MessageType == message.TypeResponse {
		return b.request(d)
	}
	return b.parentOf(d)
}

// tellOfBrake tells the intent's coordinator, if it has one, that a message is the first one that is braked in the dialogue of two agents.
func (b *batch) tellOfBrake(head *intents.Head, channel *channels.Rules, m *message.Message, agents []string) error {
	b.tx.AfterCommit(func() {
		b.logger.Info("a loop brake was put on", "intent", channel.IntentID, "channel", channel.ID, "message", m.ID, "agents", agents,
			"turn_budget", channel.TurnBudget)
	})
	to := b.access[head.IntentNo].Coordinator(head.Now())
	if to == "" || b.remembered {
		b.needsReading = b.needsReading || to != ""
		return nil
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
