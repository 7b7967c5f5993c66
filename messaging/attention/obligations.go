package attention

import (
	"slices"

	"openintent/database"
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
	c.owed = make(map[place]struct{})
	in := columns(slices.Values(requests))
	return obligation.PrepareOpen(tx, in[0].Values.([]int64), in[1].Values.([]int64), func(intentNo, position int64) {
		c.owed[place{IntentNo: intentNo, Position: position}] = struct{}{}
	})
}

// owes tells whether the message speaks of an obligation that is open.
func (c *Common) owes(m *message.Message) bool {
	request, obliges := obligationOf(m)
	if !obliges {
		return false
	}
	_, open := c.owed[request]
	return open
}
