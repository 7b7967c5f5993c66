package messaging

import (
	"context"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"openintent/caller"
	"openintent/channels"
	"openintent/database"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/following"
	"openintent/messaging/reading"
)

// PositionHeader is the header by which Subscribe says that it accepts. It holds the position after which the stream
// begins, in decimal.
const PositionHeader = "openintent-position"

// Subscribe streams a channel, an intent or what reaches an agent. Very many streams may be idle here, so it keeps little on its
// stack.
func (s *Service) Subscribe(
	req *openintentv1.SubscribeRequest, server grpc.ServerStreamingServer[openintentv1.SubscribeResponse],
) error {
	if scope, ok := req.GetScope().(*openintentv1.SubscribeRequest_AgentId); ok {
		asked, err := agentStream(req, scope.AgentId, server)
		if err != nil {
			return err
		}
		return s.followAgent(server.Context(), asked)
	}
	return s.subscribeLog(req, server)
}

// agentStream returns what a request asks for in the agent scope.
func agentStream(
	req *openintentv1.SubscribeRequest, agentID string, server grpc.ServerStreamingServer[openintentv1.SubscribeResponse],
) (*AgentStream, error) {
	c, err := caller.Known(server.Context())
	if err != nil {
		return nil, err
	}
	filter, err := filterOf(req)
	return &AgentStream{
		By: c, AgentID: agentID, After: req.AfterPosition, Filter: filter, //nolint:protogetter // unset differs from 0
		Admitted: admits(server), Send: server.Send,
	}, err
}

func filterOf(req *openintentv1.SubscribeRequest) (reading.Filter, error) {
	return reading.FilterFrom(req.GetEventTypes(), req.GetMessageType(), req.GetCorrelationId(), req.GetInclude())
}

// admits returns a function that accepts a stream.
func admits(server grpc.ServerStream) func(position int64) error {
	return func(position int64) error {
		return server.SendHeader(metadata.Pairs(PositionHeader, strconv.FormatInt(position, 10)))
	}
}

// subscribeLog streams a channel or an intent.
func (s *Service) subscribeLog(
	req *openintentv1.SubscribeRequest, server grpc.ServerStreamingServer[openintentv1.SubscribeResponse],
) error {
	ctx := server.Context()
	c, err := caller.Known(ctx)
	if err != nil {
		return err
	}
	//nolint:protogetter // unset differs from 0
	asked := following.Stream{By: c, After: req.AfterPosition, Server: server, Admitted: admits(server)}
	if asked.Filter, err = filterOf(req); err != nil {
		return err
	}
	if scope, ok := req.GetScope().(*openintentv1.SubscribeRequest_IntentId); ok {
		var intentNo int64
		intentNo, err = s.locateIntent(ctx, scope.IntentId)
		asked.Scope = following.IntentScope(intentNo)
		if asked.Filter.Annotations {
			asked.Scope = following.AnnotatedIntentScope(intentNo)
		}
	} else {
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
