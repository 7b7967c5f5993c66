package replay

import (
	"openintent/internal/caller"
	"openintent/messaging/loopbrake"
	"openintent/messaging/message"
)

// turns say which messages the loop brake holds back, as the server's writer does, which sees them in the same order.
type turns struct {
	rules Rules
	// budgets are those of the channels, by id.
	budgets map[string]int
	talks   map[loopbrake.Place]*loopbrake.Dialogue
	// outside are the messages outside threads, under which threads may still begin, by id and without what they say.
	outside map[string]*message.Message
}

func newTurns(rules Rules, budgets map[string]int) *turns {
	return &turns{
		rules: rules, budgets: budgets, talks: make(map[loopbrake.Place]*loopbrake.Dialogue), outside: make(map[string]*message.Message),
	}
}

// braked counts a message, whoever receives it, and tells whether the brake holds it back. What the server says itself is no turn.
func (t *turns) braked(m *message.Message) bool {
	budget := t.budget(m.ChannelID)
	if budget.Turns == 0 || m.Sender == caller.System {
		return false
	}
	place, counts := loopbrake.PlaceOf(m.ChannelNo, m.Type, m.Conversation)
	if place.Root == 0 {
		t.outside[m.ID] = &message.Message{
			Position: m.Position, CorrelationPosition: m.CorrelationPosition, Sender: m.Sender, Target: m.Target, CreatedAt: m.CreatedAt,
		}
		if m.ByHuman() {
			t.outside[m.ID].Conversation = (*message.Conversation)(nil).FromHuman()
		}
	}
	if !counts {
		return false
	}
	talk := t.talk(m, place, budget)
	speaker := loopbrake.Speaker(m.Sender, m.ByHuman())
	if talk.Leaves(speaker, m.Target, m.Conversation) {
		return false
	}
	braked, _ := talk.Turn(speaker, m.CreatedAt, budget)
	return braked
}

// talk returns the dialogue of a place. A thread begins with what it stands under, if that was read.
func (t *turns) talk(m *message.Message, place loopbrake.Place, budget loopbrake.Budget) *loopbrake.Dialogue {
	talk := t.talks[place]
	if talk != nil {
		return talk
	}
	talk = new(loopbrake.Dialogue)
	t.talks[place] = talk
	if place.Root == 0 {
		return talk
	}
	under := m.Conversation.ParentID
	if m.Type == message.TypeResponse {
		under = m.CorrelationID
	}
	if parent := t.outside[under]; parent != nil {
		talk.Recall(parent, place.Root, budget)
	}
	return talk
}

// budget returns what two agents may write to each other in a channel.
func (t *turns) budget(channelID string) loopbrake.Budget {
	budget := loopbrake.Budget{Turns: t.budgets[channelID], Within: seconds(t.rules.TurnSeconds)}
	if t.rules.TurnBudget != nil {
		budget.Turns = *t.rules.TurnBudget
	}
	return budget
}
