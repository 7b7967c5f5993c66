package chat

import (
	"context"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/optional"
)

// Signals are the protocol's reactions.
var Signals = []string{"seen", "agree", "working", "queued", "claimed", "done", "declined", "blocked", "unclear"}

// react says something about an event with a signal. To set the same signal again changes nothing.
var react = newTool("chat.react", "Send a typed reaction signal as a zero-turn disposition.",
	ofEvent+`,"signal":{"enum":["seen","agree","working","queued","claimed","done","declined","blocked","unclear"]},`+
		`"note":{"type":"string","maxLength":200},"eta":{"type":"string","maxLength":200}`,
	[]string{"inReplyTo", "signal"},
	func(ctx context.Context, caller *doors.Caller, given reactArguments) (any, error) {
		message, err := messageOf(ctx, caller, given.InReplyTo)
		if err != nil {
			return nil, err
		}
		_, err = caller.Reactions.AddReaction(ctx, &openintentv1.AddReactionRequest{
			ChannelId: message.GetChannelId(), MessageId: message.GetId(), Signal: given.Signal, Note: optional.Text(given.Note), Eta: optional.Text(given.ETA),
		})
		return signalAnswer{given.InReplyTo, given.Signal}, err
	})

type reactArguments struct {
	InReplyTo string `json:"inReplyTo"`
	Signal    string `json:"signal"`
	Note      string `json:"note"`
	ETA       string `json:"eta"`
}

type signalAnswer struct {
	EventID string `json:"eventId"`
	Signal  string `json:"signal"`
}
