package chat

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/optional"
)

// deferEvent says that the caller will do what an event asks, but later.
var deferEvent = newTool("chat.defer", "Record that a must-respond event is deferred with a reason.",
	ofEvent+`,"reason":{"type":"string","maxLength":200},"until":{"type":"string","format":"date-time"}`,
	[]string{"inReplyTo", "reason"},
	func(ctx context.Context, caller *doors.Caller, given deferArguments) (any, error) {
		request := &openintentv1.SetDispositionRequest{Disposition: "deferred", Reason: optional.Text(given.Reason)}
		if given.Until != "" {
			until, err := time.Parse(time.RFC3339, given.Until)
			if err != nil {
				return nil, fault.BadField("until", "must be a time as in RFC 3339, such as 2030-01-01T13:00:00Z.")
			}
			request.Until = timestamppb.New(until)
		}
		return dispose(ctx, caller, given.InReplyTo, request)
	})

type deferArguments struct {
	InReplyTo string `json:"inReplyTo"`
	Reason    string `json:"reason"`
	Until     string `json:"until"`
}

// resolve ends an event: with the caller's disposition of what it received, and with the discharge of the obligation of its own request.
var resolve = newTool("chat.resolve", "Mark an event, thread, or assignment resolved, or say what else became of it.",
	ofEvent+`,"disposition":{"enum":["responded","acknowledged","ignored","superseded","failed"],"description":"responded if left out"},`+
		`"reason":{"type":"string","maxLength":200}`,
	[]string{"inReplyTo"},
	func(ctx context.Context, caller *doors.Caller, given resolveArguments) (any, error) {
		message, err := messageOf(ctx, caller, given.InReplyTo)
		if err != nil {
			return nil, err
		}
		if message.GetSender() == caller.Agent && message.GetObligation() != nil {
			_, err := caller.Obligations.DischargeObligation(ctx, &openintentv1.DischargeObligationRequest{
				ChannelId: message.GetChannelId(), MessageId: message.GetId(), Note: optional.Text(given.Reason),
			})
			return disposeAnswer{EventID: given.InReplyTo, Disposition: "discharged"}, err
		}
		request := &openintentv1.SetDispositionRequest{Disposition: given.Disposition, Reason: optional.Text(given.Reason)}
		if given.Disposition == "" {
			request.Disposition = "responded"
		}
		return disposeMessage(ctx, caller, given.InReplyTo, message, request)
	})

type resolveArguments struct {
	InReplyTo   string `json:"inReplyTo"`
	Disposition string `json:"disposition"`
	Reason      string `json:"reason"`
}

type disposeAnswer struct {
	EventID     string `json:"eventId"`
	Disposition string `json:"disposition"`
}

func dispose(
	ctx context.Context, caller *doors.Caller, event string, request *openintentv1.SetDispositionRequest,
) (any, error) {
	message, err := messageOf(ctx, caller, event)
	if err != nil {
		return nil, err
	}
	return disposeMessage(ctx, caller, event, message, request)
}

func disposeMessage(
	ctx context.Context, caller *doors.Caller, event string, message *openintentv1.Message, request *openintentv1.SetDispositionRequest,
) (any, error) {
	request.ChannelId, request.MessageId = message.GetChannelId(), message.GetId()
	made, err := caller.Attention.SetDisposition(ctx, request)
	return disposeAnswer{event, made.GetDisposition()}, err
}
