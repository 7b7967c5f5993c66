package attention

import (
	"slices"

	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/obligation"
)

// obligationOf returns where the request is whose obligation the message speaks of: a request that came with one is that request itself,
// and a reminder names it.
func obligationOf(m *message.Message) (request place, obliges bool) {
	if reminder := m.Returns(); reminder != nil {
		return place{IntentNo: m.IntentNo, Position: reminder.Position}, true
	}
	return placeOf(m), m.Obliges()
}

// owedStatement finds out which of the obligations are open.
func (c *Common) owedStatement(tx *database.Tx, requests []place) database.Statement {
	c.owed = make(map[place]string)
	in := columns(slices.Values(requests))
	return obligation.PrepareOpen(tx, in[0].Values.([]int64), in[1].Values.([]int64), func(intentNo, position int64, subject string) {
		c.owed[place{IntentNo: intentNo, Position: position}] = subject
	})
}

// owes reports whether the message speaks of an obligation that is open, and what the subject of its request is now.
func (c *Common) owes(m *message.Message) (open bool, subject string) {
	request, obliges := obligationOf(m)
	if obliges {
		subject, open = c.owed[request]
	}
	return open, subject
}
