package messaging

import (
	"context"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/following"
	"openintent/messaging/reading"
	"openintent/reach"
)

// PositionHeader is the header by which Subscribe says that it accepts. It holds the position after which the stream
// begins, in decimal.
const PositionHeader = "openintent-position"

// Subscribe streams a channel, an intent or what reaches an agent.
func (s *Service) Subscribe(
	req *openintentv1.SubscribeRequest, server grpc.ServerStreamingServer[openintentv1.SubscribeResponse],
) error {
	ctx := server.Context()
	c, err := caller.Known(ctx)
	if err != nil {
		return err
	}
	asked := following.Stream{By: c, After: req.AfterPosition, Server: server} //nolint:protogetter // unset differs from 0
	asked.Filter, err = reading.FilterFrom(req.GetEventTypes(), req.GetMessageType(), req.GetCorrelationId(), req.GetInclude())
	if err != nil {
		return err
	}
	hears, unheard := false, func() {}
	defer func() { unheard() }()
	asked.Admitted = func(position int64) error {
		err := server.SendHeader(metadata.Pairs(PositionHeader, strconv.FormatInt(position, 10)))
		if err == nil && hears { // not before: a probe would go ahead of the header
			unheard = reach.Hear(ctx, reach.Stream)
		}
		return err
	}
	switch scope := req.GetScope().(type) {
	case *openintentv1.SubscribeRequest_AgentId:
		hears = reach.HearsFor(ctx, scope.AgentId)
		return s.followAgent(ctx, c, scope.AgentId, asked.After, asked.Filter, asked.Admitted, server.Send)
	case *openintentv1.SubscribeRequest_IntentId:
		var intentNo int64
		intentNo, err = s.locateIntent(ctx, scope.IntentId)
		asked.Scope = following.IntentScope(intentNo)
		if asked.Filter.Annotations {
			asked.Scope = following.AnnotatedIntentScope(intentNo)
		}
	default:
		var key channels.Key
		key, err = s.locate(ctx, req.GetChannelId())
		asked.Scope = following.ChannelScope(key)
		if asked.Filter.Annotations {
			asked.Scope = following.AnnotatedChannelScope(key)
		}
	}
	if err != nil {
		return err
	}
	hears = asked.Filter.Attention
	return s.tails.Follow(ctx, asked)
}

// locateIntent finds an intent by its id.
func (s *Service) locateIntent(ctx context.Context, intentID string) (intentNo int64, err error) {
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) (err error) {
		intentNo, err = s.intents.Resolve(tx, intentID)
		return err
	})
	return intentNo, err
}
