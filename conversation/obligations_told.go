package conversation

import (
	"strconv"

	"openintent/channels"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/jsonvalue"
	"openintent/messaging"
	"openintent/messaging/message"
	"openintent/messaging/obligation"
	"openintent/messaging/writing"
)

const (
	// returnedTo bounds how many holders of a role one return goes to: the first ones by name.
	returnedTo = 100
	// listedAtEnd bounds how many obligations are named to the coordinator when they end with their intent or channel.
	listedAtEnd = 100
)

// told is what a message about an obligation says beside the obligation.
type told struct {
	event string
	// by is the agent whose signal is told; empty for none.
	by string
}

// returned reminds those who owe. The reminder goes to nobody who does not see the request now, and it has nothing of the content.
func (s *Service) returned(seen *messaging.Sighting, o *obligation.Obligation) error {
	owing, err := seen.Recipients()
	if err != nil {
		return err
	}
	m, channel := seen.Message, seen.Channel()
	notices := make([]writing.Notice, 0, min(len(owing), returnedTo))
	for _, agent := range owing[:min(len(owing), returnedTo)] {
		payload := describeObligation(o, told{event: "obligation_return"}).String("channel_id", channel.ID).Raw("number", strconv.AppendInt(nil, int64(o.Step), 10))
		notices = append(notices, writing.Notice{To: agent, Payload: payload.Object(), Conversation: &message.Conversation{
			Kind: "obligation_return",
			Return: &message.Return{
				Position: m.Position, From: m.Sender, ChannelName: channel.Name, ChannelID: channel.ID, MessageID: m.ID,
			},
		}})
	}
	return seen.Notify(notices...)
}

// tell tells the coordinator or the operator of an obligation. If the intent has no coordinator, the operator is told in its place, and
// the step of the operator counts as made.
func (s *Service) tell(seen *messaging.Sighting, o *obligation.Obligation, act obligation.Act, what told) error {
	to := caller.Operator
	if act == obligation.TellCoordinator {
		if to = seen.Snapshot.Access.Coordinator(seen.Snapshot.Now); to == "" {
			o.Skip(seen.Head().Now())
			to = caller.Operator
		}
	}
	seen.Tx.AfterCommit(func() {
		s.logger.Info("an obligation was escalated", "message", o.MessageID, "event", what.event, "author", o.Author, "to", o.Target,
			"told", to)
	})
	payload := describeObligation(o, what).String("channel_id", seen.Channel().ID)
	return seen.Notify(writing.Notice{To: to, Payload: payload.Object(), Conversation: &message.Conversation{Kind: what.event}})
}

// describeObligation begins what is said of an obligation: nothing of the request's content, and no subject.
func describeObligation(o *obligation.Obligation, what told) *jsonvalue.Builder {
	payload := new(jsonvalue.Builder)
	if what.event != "" {
		payload.String("event", what.event)
	}
	payload.String("message_id", o.MessageID).String("from", o.Author).String("to", o.Target).String("blocks", o.Blocks)
	if what.by != "" {
		payload.String("agent_id", what.by)
	}
	return payload
}

// endObligations closes what is open in an intent that is about to end, and lists it to the coordinator.
func (s *Service) endObligations(tx *database.Tx, head *intents.Head) error {
	return s.closeAll(tx, head, 0, "obligations_ended_with_intent")
}

// dropObligations closes what is open in a channel that is deleted, and lists it to the coordinator. If the channel is only closed,
// obligations stay open.
func (s *Service) dropObligations(tx *database.Tx, head *intents.Head, key channels.Key) error {
	return s.closeAll(tx, head, key.ChannelNo, "obligations_ended_with_channel")
}

// closeAll closes the open obligations of an intent, or of one channel unless it is 0, and lists the oldest of them to the coordinator or,
// if there is none, to the operator.
func (s *Service) closeAll(tx *database.Tx, head *intents.Head, channelNo int64, event string) error {
	open, count, err := obligation.OpenIn(tx, head.IntentNo, channelNo, listedAtEnd)
	if err != nil || count == 0 {
		return err
	}
	rules, err := s.intents.Rules(tx, head.IntentNo, head.Epoch)
	if err != nil {
		return err
	}
	to := rules.Coordinator(head.Now())
	if to == "" {
		to = caller.Operator
	}
	list := []byte{'['}
	for i, o := range open {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, describeObligation(o, told{}).Object()...)
	}
	var payload jsonvalue.Builder
	payload.String("event", event).Raw("count", strconv.AppendInt(nil, int64(count), 10)).Raw("obligations", append(list, ']'))
	if err := obligation.CloseAll(tx, head, channelNo); err != nil {
		return err
	}
	tx.AfterCommit(func() {
		s.logger.Info("open obligations were closed by the server", "event", event, "intent", head.IntentID, "count", count)
	})
	return s.messaging.Notify(tx, head, writing.Notice{
		To: to, Payload: payload.Object(), Conversation: &message.Conversation{Kind: event},
	})
}
