package channels

import (
	"context"
	"time"

	"github.com/oklog/ulid/v2"

	"openintent/agents"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
)

// CreateChannel creates a channel, for callers that may read the intent. An audited channel needs more access, see mayAudit.
func (s *Service) CreateChannel(
	ctx context.Context, req *openintentv1.CreateChannelRequest,
) (*openintentv1.Channel, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	draft, err := s.draft(c, req)
	if err != nil {
		return nil, err
	}
	var answer *openintentv1.Channel
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		intentNo, err := s.intents.Resolve(tx, req.GetIntentId())
		if err != nil {
			return err
		}
		heads, err := intents.Lock(tx, intentNo)
		if err != nil {
			return err
		}
		head := heads.Get(intentNo)
		access, err := s.intents.Rules(tx, intentNo, head.Epoch)
		if err != nil {
			return err
		}
		if err := access.Require(c, draft.CreatedBy, intents.PermissionRead, head.Now()); err != nil {
			return err
		}
		if draft.Audit {
			if err := mayAudit(c, draft.CreatedBy, access, head.Now()); err != nil {
				return err
			}
		}
		draft := draft
		if req.GetDictatable() {
			if draft.Address, err = takeAddress(tx); err != nil {
				return err
			}
		}
		rules, err := s.create(tx, head, draft, c.KeyID, req.GetMembers())
		if err != nil {
			return err
		}
		answer, err = s.answer(tx, head, rules.Key)
		return err
	})
	return answer, err
}

// mayAudit refuses an agent that may not begin to audit a channel. The intent's log gets copies of the channel's messages, and
// everybody who may read the log reads them. So auditing needs write access that somebody gave: an intent being open to
// everyone does not let everyone publish the messages of its channels.
func mayAudit(c caller.Caller, acting string, access *intents.Rules, now time.Time) error {
	return access.RequireGiven(c, acting, intents.PermissionWrite, now)
}

// draft checks a request and returns the requested channel, still without a number and members.
func (s *Service) draft(c caller.Caller, req *openintentv1.CreateChannelRequest) (Rules, error) {
	createdBy, err := c.ActAs("created_by", req.GetCreatedBy())
	if err != nil {
		return Rules{}, err
	}
	if createdBy != c.Agent {
		if err := caller.CheckName("created_by", createdBy); err != nil {
			return Rules{}, err
		}
	}
	options := req.GetOptions()
	if options == nil {
		options = &openintentv1.ChannelOptions{}
	}
	ttl, err := ttlOf(options.TtlSeconds)
	if err != nil {
		return Rules{}, err
	}
	maxMessages, err := maxMessagesOf(options.MaxMessages)
	if err != nil {
		return Rules{}, err
	}
	turnBudget, err := turnBudgetOf(options.TurnBudget)
	if err != nil {
		return Rules{}, err
	}
	conversationBudget, err := conversationBudgetOf(options.ConversationBudget)
	if err != nil {
		return Rules{}, err
	}
	return Rules{
		History:     historyOf(options.GetHistory()),
		TaskID:      req.GetTaskId(),
		Name:        req.GetName(),
		CreatedBy:   createdBy,
		Policy:      policyOf(req.GetMemberPolicy()),
		Audit:       options.GetAudit(),
		TTL:         ttl,
		MaxMessages: maxMessages,
		TurnBudget:  turnBudget,

		ConversationBudget: conversationBudget,
	}, nil
}

// CreateImplicit creates a channel because somebody sends to a name that no open channel of the intent has (RFC-0021
// section 1.4). The channel is open to every agent on the intent and has default options. The caller has locked the head and
// checked the creator's access. keyID is the key under which it is made, "" for none.
func (s *Service) CreateImplicit(tx *database.Tx, head *intents.Head, name, createdBy, keyID string) (*Rules, error) {
	return s.create(tx, head, Rules{
		Name: name, CreatedBy: createdBy, Policy: PolicyIntent, MaxMessages: DefaultMaxMessages, History: HistoryAll,
		TurnBudget: DefaultTurnBudget,
	}, keyID, nil)
}

// create decides under the head's lock whether the channel may be created, and stores it.
func (s *Service) create(tx *database.Tx, head *intents.Head, draft Rules, keyID string, agentIDs []string) (*Rules, error) {
	if err := s.CheckName("name", draft.Name); err != nil && !draft.Reserved() {
		return nil, err
	}
	agentIDs, err := s.checkMembers(agentIDs)
	if err != nil {
		return nil, err
	}
	if head.Ended() {
		return nil, intents.ErrIntentEnded
	}
	if draft.TaskID != "" {
		ended, err := s.tasks.Find(tx, head.IntentNo, draft.TaskID)
		if err != nil {
			return nil, err
		}
		if ended {
			return nil, ErrTaskEnded
		}
	}
	if err := s.requireFreeName(tx, head, draft.Name); err != nil {
		return nil, err
	}
	if err := s.intents.Stock().Take(tx, keyID, stockKind.Name); err != nil {
		return nil, err
	}
	draft.Key = Key{IntentNo: head.IntentNo, ChannelNo: head.NextChannel()}
	draft.ID = idPrefix + ulid.Make().String()
	draft.IntentID = head.IntentID
	draft.CreatedAt = head.Now()
	var members []member
	if len(agentIDs) > 0 {
		presences, err := agents.LoadPresences(tx, agentIDs)
		if err != nil {
			return nil, err
		}
		members = membersFrom(agentIDs, 0, tx.Now(), presences, 0)
	}
	rules := newRules(draft, members)
	if err := insertChannel(tx, rules, keyID); err != nil {
		return nil, err
	}
	if draft.Address != "" {
		if err := keepAddress(tx, rules); err != nil {
			return nil, err
		}
	}
	head.Name(agentIDs...)
	s.changed(tx, head, rules.Key)
	return rules, nil
}
