package c2a

import (
	"context"
	"encoding/json"
	"strconv"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
)

// progress says how far something has come. It is no message: the door shows it as the note of the agent's presence, where the others see
// what the agent does.
type progress struct {
	Progress json.Number `json:"progress"`
	Total    json.Number `json:"total"`
	Message  string      `json:"message"`
}

// longestNote is how many bytes of a message become the note. A note has at most 200 characters.
const longestNote = 150

// notified takes a notification of the harness. One that the door does not know says nothing to it. A call of a tool has ended before a
// cancellation of it is read, because the door answers one request after the other.
func (c *connection) notified(ctx context.Context, f frame) {
	var said progress
	if c.terms == nil || f.Method != noteProgress || json.Unmarshal(f.Params, &said) != nil {
		return
	}
	note := said.note()
	if note == "" {
		return
	}
	_, err := c.caller.Agents.Heartbeat(ctx, &openintentv1.HeartbeatRequest{AgentId: c.caller.Agent, StatusNote: &note})
	if err != nil {
		c.log.Debug("a harness's progress is not shown", "reason", doors.RefusalOf(err).Reason)
	}
}

// note returns the progress in one line.
func (p progress) note() string {
	note := doors.Beginning(p.Message, longestNote)
	done, err := p.Progress.Float64()
	if err != nil {
		return note
	}
	count := strconv.FormatFloat(done, 'g', 6, 64)
	if total, err := p.Total.Float64(); err == nil {
		count += "/" + strconv.FormatFloat(total, 'g', 6, 64)
	}
	if note != "" {
		note += " "
	}
	return note + "(" + count + ")"
}
