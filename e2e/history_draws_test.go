package e2e

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"openintent/e2e/model"
)

// below draws a number from 0 to n-1, each with equal probability. Package rapid's own ranges prefer small numbers,
// which makes long histories poor. Failures still shrink towards 0.
func below(t *rapid.T, label string, n int) int {
	return rapid.Custom(func(t *rapid.T) int { return uniform(t, n) }).Draw(t, label)
}

// pick draws one of some values, each with equal probability.
func pick[T any](t *rapid.T, label string, values []T) T {
	return rapid.Custom(func(t *rapid.T) T { return values[uniform(t, len(values))] }).Draw(t, label)
}

// uniform draws bit by bit.
func uniform(t *rapid.T, n int) int {
	number := 0
	for range 12 {
		number <<= 1
		if rapid.Bool().Draw(t, "bit") {
			number++
		}
	}
	return number * n >> 12
}

// seldom is true one time in eight.
func seldom(t *rapid.T, label string) bool { return below(t, label, 8) == 7 }

// sometimes is true half of the time.
func sometimes(t *rapid.T, label string) bool { return below(t, label, 2) == 1 }

func (y *history) drawAgent(t *rapid.T, label string) string { return pick(t, label, y.agents) }

// drawCaller draws an agent or, seldom, the operator.
func (y *history) drawCaller(t *rapid.T) string {
	if seldom(t, "as the operator") {
		return model.Operator
	}
	return y.drawAgent(t, "caller")
}

// drawActing draws the caller and the agent for which the call claims to act. Mostly it names none; the operator at
// times names an agent, which is allowed; an agent seldom names another agent, which is not.
func (y *history) drawActing(t *rapid.T) (caller, named string) {
	caller = y.drawCaller(t)
	if caller == model.Operator && sometimes(t, "for an agent") || seldom(t, "as another") && sometimes(t, "really") {
		named = y.drawAgent(t, "named")
	}
	return caller, named
}

// drawIntent draws the first intent more often.
func (y *history) drawIntent(t *rapid.T) *model.Intent {
	return y.world.Intents[pick(t, "intent", []int{0, 0, 1})]
}

// drawAdmin draws the caller of an action that only related agents may do: half of the time the intent's creator.
func (y *history) drawAdmin(t *rapid.T) (caller string, intent *model.Intent) {
	caller, intent = y.drawCaller(t), y.drawIntent(t)
	if sometimes(t, "the creator") {
		caller = intent.Creator
	}
	return caller, intent
}

// drawChannel draws an open channel most of the time.
func (y *history) drawChannel(t *rapid.T) *model.Channel {
	var open, over []*model.Channel
	for _, c := range y.world.Channels {
		if c.Open() {
			open = append(open, c)
		} else {
			over = append(over, c)
		}
	}
	candidates := open
	if len(open) == 0 || len(over) > 0 && seldom(t, "closed or deleted") {
		candidates = over
	}
	if len(candidates) == 0 {
		t.Skip("no channel yet")
	}
	return pick(t, "channel", candidates)
}

// drawMessage draws a message of a channel that mostly fits; nil when there is none.
func drawMessage(t *rapid.T, c *model.Channel, fits func(*model.Message) bool) *model.Message {
	var fitting []*model.Message
	for _, m := range c.Sent {
		if fits(m) {
			fitting = append(fitting, m)
		}
	}
	if len(fitting) == 0 || seldom(t, "any message") {
		fitting = c.Sent
	}
	if len(fitting) == 0 {
		return nil
	}
	return pick(t, "message", fitting)
}

// unknownMessage is a well-formed id that no message has.
const unknownMessage = "msg_01HXYZ00000000000000000000"

func idOf(m *model.Message) string {
	if m == nil {
		return unknownMessage
	}
	return m.ID
}

func modelID(m *model.Message) string { return m.ID }

// given returns an optional text of a request: "" leaves it out.
func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// stamp returns an optional time of a request: the zero time leaves it out.
func stamp(at time.Time) *timestamppb.Timestamp {
	if at.IsZero() {
		return nil
	}
	return timestamppb.New(at)
}
