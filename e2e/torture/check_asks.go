package torture

import (
	"cmp"
	"slices"
)

// checkAsk checks that each answer belongs to its question. It also checks that every answer that the server acknowledged to
// its sender reached the asker.
func (c *checker) checkAsk(ask *Ask) {
	for _, answer := range ask.Answers {
		if answer.Answers != ask.ID || answer.To != ask.Sender || answer.Channel != ask.Channel || answer.Kind != Response {
			c.find(Misanswered, "%s asked %s (%q) and got %+v", ask.Sender, ask.ID, ask.Content, *answer)
		}
	}
	if !ask.All && len(ask.Answers) > 1 {
		c.find(Misanswered, "%s asked %s for one answer and got %d", ask.Sender, ask.ID, len(ask.Answers))
	}
	id := cmp.Or(ask.ID, c.ids[ask.Content])
	if !ask.Complete || id == "" {
		return
	}
	// An answer is accepted only before the deadline. So each accepted answer must have arrived.
	for _, send := range c.answers[id] {
		if !send.Acknowledged {
			continue
		}
		if !slices.ContainsFunc(ask.Answers, func(answer *Message) bool { return answer.ID == send.ID }) {
			c.find(Unanswered, "the answer %s of %s was accepted, but %s, the asker of %s, never got it",
				send.ID, send.Sender, ask.Sender, id)
		}
	}
}

// checkLogs checks that each log is intact and contains each audited message once.
func (c *checker) checkLogs() {
	logged := make(map[string]int)
	intents := make(map[string]bool)
	for _, log := range c.history.Logs {
		intents[log.Intent] = true
		if log.Broken != "" {
			c.find(Broken, "the log of %s does not verify: %s", log.Intent, log.Broken)
		}
		previous := Event{}
		for _, event := range log.Events {
			if event.Sequence != previous.Sequence+1 || event.Previous != previous.Hash {
				c.find(Broken, "in the log of %s, event %d does not follow event %d", log.Intent, event.Sequence, previous.Sequence)
			}
			previous = event
			if event.Message != nil {
				logged[event.Message.ID]++
			}
		}
	}
	for id, count := range logged {
		m := c.messages[id]
		if count > 1 || m.Kind != LoggedEvent && !c.history.Channels[m.Channel].Audited {
			c.find(Unlogged, "%s of channel %s is in the log %d times", id, m.Channel, count)
		}
	}
	c.history.each(func(send *Send) {
		audited := send.Kind == LoggedEvent || c.history.Channels[send.Channel].Audited
		if send.Acknowledged && audited && intents[send.Intent] && logged[send.ID] == 0 {
			c.find(Unlogged, "%s (%q) is not in the log", send.ID, send.Content)
		}
	})
}
