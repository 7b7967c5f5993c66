package channels

import (
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/agents"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/internal/optional"
)

// answers returns channels of one intent in their wire form, as of the head's time. The member lists leave out agents that
// departed after they were added, even if the stored list still has them.
func (s *Service) answers(tx *database.Tx, head *intents.Head, rules []*Rules) ([]*openintentv1.Channel, error) {
	var listed []string
	seen := make(map[string]bool)
	for _, r := range rules {
		for _, m := range r.members {
			if !seen[m.agent] {
				seen[m.agent] = true
				listed = append(listed, m.agent)
			}
		}
	}
	counts, err := LoadCounts(tx, keysOf(rules))
	if err != nil {
		return nil, err
	}
	presences, err := agents.LoadPresences(tx, listed)
	if err != nil {
		return nil, err
	}
	now := head.Now()
	channels := make([]*openintentv1.Channel, len(rules))
	for i, r := range rules {
		channels[i] = r.toWire(*counts[r.Key], head, presences, now)
	}
	return channels, nil
}

// answer returns one channel in its wire form, as the transaction has stored it by now.
func (s *Service) answer(tx *database.Tx, head *intents.Head, key Key) (*openintentv1.Channel, error) {
	rules, err := loadRules(tx, head.IntentNo, head.IntentID, "channel_no = ?", key.ChannelNo)
	if err != nil {
		return nil, err
	}
	channels, err := s.answers(tx, head, rules)
	if err != nil {
		return nil, err
	}
	return channels[0], nil
}

func (r *Rules) toWire(
	count Count, head *intents.Head, presences map[string]agents.Presence, now time.Time,
) *openintentv1.Channel {
	channel := &openintentv1.Channel{
		Id:           r.ID,
		IntentId:     r.IntentID,
		Name:         r.Name,
		CreatedBy:    r.CreatedBy,
		Members:      []string{},
		MemberPolicy: openintentv1.MemberPolicy_MEMBER_POLICY_INTENT,
		Options: &openintentv1.ChannelOptions{
			Audit: proto.Bool(r.Audit), MaxMessages: proto.Int64(r.MaxMessages),
			History: openintentv1.ChannelHistory_CHANNEL_HISTORY_ALL.Enum(), TurnBudget: proto.Int64(r.TurnBudget),
			ConversationBudget: r.ConversationBudget,
		},
		Status:        openintentv1.ChannelStatus_CHANNEL_STATUS_OPEN,
		CreatedAt:     timestamppb.New(r.CreatedAt),
		MessageCount:  count.Messages,
		LastMessageAt: optional.Time(count.LastMessageAt),
	}
	if r.TaskID != "" {
		channel.TaskId = proto.String(r.TaskID)
	}
	if r.Address != "" {
		channel.Address = proto.String(r.Address)
	}
	for _, m := range r.members {
		if r.Lists(m.agent, presences[m.agent].DepartedAt) {
			channel.Members = append(channel.Members, m.agent)
		}
	}
	if r.History == HistoryFromJoin {
		channel.Options.History = openintentv1.ChannelHistory_CHANNEL_HISTORY_FROM_JOIN.Enum()
	}
	if r.Policy == PolicyExplicit {
		channel.MemberPolicy = openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT
	}
	if r.TTL > 0 {
		channel.Options.TtlSeconds = proto.Int64(int64(r.TTL / time.Second))
	}
	if closedAt, closed := r.ClosedBy(count, head, now); closed {
		channel.Status = openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED
		channel.ClosedAt = timestamppb.New(closedAt)
	}
	return channel
}

// historyOf reads the history option; unspecified means the default.
func historyOf(history openintentv1.ChannelHistory) History {
	if history == openintentv1.ChannelHistory_CHANNEL_HISTORY_FROM_JOIN {
		return HistoryFromJoin
	}
	return HistoryAll
}

// policyOf reads a member policy from the wire; unspecified means the default.
func policyOf(policy openintentv1.MemberPolicy) Policy {
	if policy == openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT {
		return PolicyExplicit
	}
	return PolicyIntent
}
