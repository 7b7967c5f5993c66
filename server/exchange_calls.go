package server

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// exchangedServices are those whose calls an exchange carries.
type exchangedServices struct {
	messages      openintentv1.MessageServiceServer
	reactions     openintentv1.ReactionServiceServer
	subscriptions openintentv1.SubscriptionServiceServer
}

// exchangedCall is one kind of request of an exchange: the call that it means, and how its answer is shown.
type exchangedCall struct {
	info    *grpc.UnaryServerInfo
	handler grpc.UnaryHandler
	show    func(answer *openintentv1.NumberedAnswer, response any)
	// ordered is true for what is stored in the order in which it came. asks is true for what waits for an answer of others afterwards.
	ordered, asks bool
}

// exchangedCalls has the calls that an exchange carries.
type exchangedCalls struct {
	send, sendByName, reply, ask, react, acknowledge exchangedCall
	// get reads an answer again that found no room; no request means it.
	get exchangedCall
}

func newExchangedCalls(to exchangedServices) *exchangedCalls {
	info := func(fullMethod string) *grpc.UnaryServerInfo { return &grpc.UnaryServerInfo{FullMethod: fullMethod} }
	return &exchangedCalls{
		send: exchangedCall{
			info:    info(openintentv1.MessageService_SendMessage_FullMethodName),
			handler: handlerOf(to.messages.SendMessage), show: showStored, ordered: true,
		},
		sendByName: exchangedCall{
			info:    info(openintentv1.MessageService_SendMessageByName_FullMethodName),
			handler: handlerOf(to.messages.SendMessageByName), show: showStored, ordered: true,
		},
		reply: exchangedCall{
			info:    info(openintentv1.MessageService_ReplyMessage_FullMethodName),
			handler: handlerOf(to.messages.ReplyMessage), show: showStored, ordered: true,
		},
		ask: exchangedCall{
			info:    info(openintentv1.MessageService_Ask_FullMethodName),
			handler: handlerOf(to.messages.Ask), show: showWhole, ordered: true, asks: true,
		},
		react: exchangedCall{
			info:    info(openintentv1.ReactionService_AddReaction_FullMethodName),
			handler: handlerOf(to.reactions.AddReaction), show: showReactions,
		},
		acknowledge: exchangedCall{
			info:    info(openintentv1.SubscriptionService_AcknowledgeDeliveries_FullMethodName),
			handler: handlerOf(to.subscriptions.AcknowledgeDeliveries), show: showSubscription,
		},
		get: exchangedCall{
			info:    info(openintentv1.MessageService_GetMessage_FullMethodName),
			handler: handlerOf(to.messages.GetMessage), show: showWhole,
		},
	}
}

// handlerOf gives a service's method the form that the interceptors call.
func handlerOf[Request, Response any](method func(context.Context, *Request) (*Response, error)) grpc.UnaryHandler {
	return func(ctx context.Context, request any) (any, error) { return method(ctx, request.(*Request)) }
}

// find returns the call that a request means, and what it is called with.
func (c *exchangedCalls) find(numbered *openintentv1.NumberedRequest) (*exchangedCall, proto.Message, error) {
	switch request := numbered.GetRequest().(type) {
	case *openintentv1.NumberedRequest_Send:
		return &c.send, request.Send, nil
	case *openintentv1.NumberedRequest_SendByName:
		return &c.sendByName, request.SendByName, nil
	case *openintentv1.NumberedRequest_Reply:
		return &c.reply, request.Reply, nil
	case *openintentv1.NumberedRequest_Ask:
		return &c.ask, request.Ask, nil
	case *openintentv1.NumberedRequest_React:
		return &c.react, request.React, nil
	case *openintentv1.NumberedRequest_Acknowledge:
		return &c.acknowledge, request.Acknowledge, nil
	}
	return nil, nil, fault.BadField("request", "it must be a send, a send by name, a reply, an ask, a reaction or an acknowledgement")
}

// showStored leaves out what the client has sent itself.
func showStored(answer *openintentv1.NumberedAnswer, response any) {
	stored := response.(*openintentv1.Message)
	stored.Payload, stored.Metadata = nil, nil
	showWhole(answer, stored)
}

func showWhole(answer *openintentv1.NumberedAnswer, response any) {
	answer.Answer = &openintentv1.NumberedAnswer_Message{Message: response.(*openintentv1.Message)}
}

func showReactions(answer *openintentv1.NumberedAnswer, response any) {
	answer.Answer = &openintentv1.NumberedAnswer_Reactions{Reactions: response.(*openintentv1.ListReactionsResponse)}
}

func showSubscription(answer *openintentv1.NumberedAnswer, response any) {
	answer.Answer = &openintentv1.NumberedAnswer_Subscription{Subscription: response.(*openintentv1.Subscription)}
}
