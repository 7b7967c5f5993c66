package channels

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/fault"
)

// UpdateChannel changes the fields that the mask names. A request may close the channel and make other changes as well; the
// closing then comes last.
func (s *Service) UpdateChannel(
	ctx context.Context, req *openintentv1.UpdateChannelRequest,
) (*openintentv1.Channel, error) {
	wanted, err := s.update(req.GetChannel(), req.GetUpdateMask())
	if err != nil {
		return nil, err
	}
	return s.change(ctx, req.GetChannel().GetId(), func(tx *database.Tx, subject *subject) error {
		closedAt, closed := subject.closed()
		switch {
		case closed && wanted.closing && len(wanted.named) == 1:
			return s.makeLasting(tx, subject, closedAt)
		case closed:
			return ErrChannelClosed
		case wanted.names(statusField) && !wanted.closing:
			return fault.BadField("status", "is open already; the only status that can be set is closed.")
		}
		return s.apply(tx, subject, wanted)
	})
}

// The fields that a mask may name.
const (
	membersField      = "members"
	memberPolicyField = "member_policy"
	auditField        = "options.audit"
	ttlField          = "options.ttl_seconds"
	maxMessagesField  = "options.max_messages"
	historyField      = "options.history"
	turnBudgetField   = "options.turn_budget"
	conversationField = "options.conversation_budget"
	statusField       = "status"

	optionsField = "options" // all six
	idField      = "id"      // names the channel; a body may repeat it
)

// update is a checked UpdateChannelRequest: the named fields and their new values.
type update struct {
	named       map[string]bool
	members     []string
	policy      Policy
	audit       bool
	ttl         time.Duration
	maxMessages int64
	history     History
	turnBudget  int64
	closing     bool

	conversationBudget *int64
}

func (u *update) names(field string) bool { return u.named[field] }

// update reads a request. An option that the mask names but the request leaves unset goes back to its default; unset members
// mean an empty list; the policy and the status cannot be unset.
func (s *Service) update(channel *openintentv1.Channel, mask *fieldmaskpb.FieldMask) (*update, error) {
	named, err := namedFields(channel, mask.GetPaths())
	if err != nil {
		return nil, err
	}
	u := &update{
		named:   named,
		policy:  policyOf(channel.GetMemberPolicy()),
		audit:   channel.GetOptions().GetAudit(),
		history: historyOf(channel.GetOptions().GetHistory()),
		closing: named[statusField] && channel.GetStatus() == openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED,
	}
	options := channel.GetOptions()
	if options == nil {
		options = &openintentv1.ChannelOptions{}
	}
	if u.names(membersField) {
		if u.members, err = s.checkMembers(channel.GetMembers()); err != nil {
			return nil, err
		}
	}
	if u.names(ttlField) {
		if u.ttl, err = ttlOf(options.TtlSeconds); err != nil {
			return nil, err
		}
	}
	if u.names(maxMessagesField) {
		if u.maxMessages, err = maxMessagesOf(options.MaxMessages); err != nil {
			return nil, err
		}
	}
	if u.names(turnBudgetField) {
		if u.turnBudget, err = turnBudgetOf(options.TurnBudget); err != nil {
			return nil, err
		}
	}
	if u.names(conversationField) {
		if u.conversationBudget, err = conversationBudgetOf(options.ConversationBudget); err != nil {
			return nil, err
		}
	}
	if u.names(memberPolicyField) && channel.GetMemberPolicy() == openintentv1.MemberPolicy_MEMBER_POLICY_UNSPECIFIED {
		// Otherwise a slip would set the default, and open a private channel to everyone on the intent.
		return nil, fault.BadField("member_policy", "cannot be cleared; send explicit or intent, or leave it out.")
	}
	if u.names(statusField) && channel.GetStatus() == openintentv1.ChannelStatus_CHANNEL_STATUS_UNSPECIFIED {
		return nil, fault.BadField("status", "cannot be cleared; the only status that can be set is closed.")
	}
	return u, nil
}

// namedFields reads the mask and refuses one that names nothing, or something that cannot be changed.
func namedFields(channel *openintentv1.Channel, paths []string) (map[string]bool, error) {
	named := make(map[string]bool)
	for _, path := range paths {
		switch path {
		case membersField, memberPolicyField, auditField, ttlField, maxMessagesField, historyField, turnBudgetField,
			conversationField, statusField:
			named[path] = true
		case optionsField:
			if isEmpty(channel.GetOptions()) {
				return nil, fault.BadField(optionsField,
					"names no setting; name at least one, or send null to set all of them to their defaults.")
			}
			for _, option := range []string{auditField, ttlField, maxMessagesField, historyField, turnBudgetField, conversationField} {
				named[option] = true
			}
		case idField, "":
		default:
			return nil, fault.BadField(path, "cannot be changed; only members, member_policy, options and status can.")
		}
	}
	if len(named) == 0 {
		return nil, fault.BadField("update_mask",
			"names nothing to change; name at least one of members, member_policy, options and status.")
	}
	return named, nil
}

// isEmpty reports whether options are given without any setting. This is a slip, while options that are not given at all ask
// for the defaults.
func isEmpty(options *openintentv1.ChannelOptions) bool {
	return options != nil && options.Audit == nil && options.TtlSeconds == nil && options.MaxMessages == nil &&
		options.History == nil && options.TurnBudget == nil && options.ConversationBudget == nil
}

// apply changes an open channel.
func (s *Service) apply(tx *database.Tx, subject *subject, wanted *update) error {
	rules := *subject.rules // a copy for the changes, because the cached rules must not change
	if wanted.names(auditField) {
		if wanted.audit {
			if err := mayAudit(subject.caller, subject.caller.Agent, subject.access, subject.head.Now()); err != nil {
				return err
			}
		}
		rules.Audit = wanted.audit
	}
	if wanted.names(ttlField) {
		rules.TTL = wanted.ttl
	}
	if wanted.names(maxMessagesField) {
		rules.MaxMessages = wanted.maxMessages
	}
	if wanted.names(historyField) {
		rules.History = wanted.history
	}
	if wanted.names(turnBudgetField) {
		rules.TurnBudget = wanted.turnBudget
	}
	if wanted.names(conversationField) {
		rules.ConversationBudget = wanted.conversationBudget
	}
	if wanted.names(membersField) {
		members, err := replaceMembers(tx, &rules, wanted.members, subject.count)
		if err != nil {
			return err
		}
		rules = *newRules(rules, members)
		subject.head.Name(wanted.members...)
	}
	if wanted.names(memberPolicyField) {
		if rules.Policy == PolicyExplicit && wanted.policy == PolicyIntent {
			if err := rules.open(tx, subject.count); err != nil {
				return err
			}
		}
		rules.Policy = wanted.policy
	}
	if err := updateChannel(tx, &rules); err != nil {
		return err
	}
	if err := s.raiseFloor(tx, &rules, subject.count); err != nil {
		return err
	}
	s.changed(tx, subject.head, rules.Key)
	if deadline, lapsed := rules.lapsedBy(subject.count, subject.head, subject.head.Now()); lapsed {
		return s.close(tx, subject.head, []closing{{rules: &rules, at: deadline}})
	}
	if wanted.closing {
		return s.close(tx, subject.head, []closing{{rules: &rules, at: subject.head.Tick()}})
	}
	return nil
}

// raiseFloor evicts the messages that a lowered max_messages no longer lists.
func (s *Service) raiseFloor(tx *database.Tx, rules *Rules, count Count) error {
	floor := count.Messages - rules.MaxMessages
	if floor <= count.Floor {
		return nil
	}
	count.Floor = floor
	if err := tx.Pipeline(CountStatements(tx, map[Key]*Count{rules.Key: &count})...); err != nil {
		return err
	}
	for _, hook := range s.onFloorRaised {
		if err := hook(tx, rules.Key); err != nil {
			return err
		}
	}
	return nil
}
