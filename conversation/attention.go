package conversation

import (
	"context"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/messaging"
	"openintent/messaging/attention"
	"openintent/messaging/message"
)

// GetAttention tells what a message asks of a recipient, and by which rules.
func (s *Service) GetAttention(
	ctx context.Context, req *openintentv1.GetAttentionRequest,
) (*openintentv1.GetAttentionResponse, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	recipient := c.Agent
	if req.AgentId != nil {
		recipient = req.GetAgentId()
	}
	if err := caller.CheckText("agent_id", recipient); err != nil {
		return nil, err
	}
	var answer *openintentv1.GetAttentionResponse
	err = s.messaging.SeeMessage(ctx, c, c.Agent, req.GetChannelId(), req.GetMessageId(), message.ByID, func(seen *messaging.Sighting) error {
		if recipient != c.Agent && seen.Message.Sender != c.Agent && !seen.Viewer.Operator {
			return message.ErrMessageNotFound
		}
		judged, rules, err := seen.Attention(recipient)
		answer = explained(judged, rules)
		return err
	})
	return answer, err
}

// explained returns the block, if there is one, with the rules beside it.
func explained(judged *attention.Judgement, rules []attention.Rule) *openintentv1.GetAttentionResponse {
	answer := &openintentv1.GetAttentionResponse{}
	for _, rule := range rules {
		answer.Rules = append(answer.Rules, &openintentv1.AttentionRule{Rule: rule.Name, Effect: rule.Effect})
	}
	if judged == nil {
		return answer
	}
	block := judged.ToWire()
	answer.Directedness, answer.Policy, answer.Injection = &block.Directedness, &block.Policy, &block.Injection
	answer.Reason, answer.Priority, answer.DeadlineMs = &block.Reason, &block.Priority, block.DeadlineMs
	answer.Claim, answer.Knock = block.Claim, block.Knock
	return answer
}

// MarkSurfaced stores that an agent's model saw several messages.
func (s *Service) MarkSurfaced(
	ctx context.Context, req *openintentv1.MarkSurfacedRequest,
) (*openintentv1.MarkSurfacedResponse, error) {
	return s.messaging.MarkSurfaced(ctx, req)
}

// HandOver notes that an agent's model is given several messages.
func (s *Service) HandOver(ctx context.Context, req *openintentv1.HandOverRequest) (*openintentv1.HandOverResponse, error) {
	return s.messaging.HandOver(ctx, req)
}
