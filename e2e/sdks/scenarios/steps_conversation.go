package scenarios

import (
	"fmt"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// interval is the pause between two looks at something that cannot be waited for.
const interval = 50 * time.Millisecond

// conversationFacts are the parameters of steps that say where a message belongs and what became of it.
type conversationFacts struct {
	Parent       string                             `yaml:"parent"`
	Subject      string                             `yaml:"subject"`
	Kind         string                             `yaml:"kind"`
	Priority     string                             `yaml:"priority"`
	Mentions     []string                           `yaml:"mentions"`
	Collect      any                                `yaml:"collect"` // a word, or {quorum: n}
	Obligation   *struct{ Blocks, Delegate string } `yaml:"obligation"`
	Side         string                             `yaml:"side"`
	Directedness string                             `yaml:"directedness"`
	Policy       string                             `yaml:"policy"`
	Signal       string                             `yaml:"signal"`
	Note         string                             `yaml:"note"`
	ETA          string                             `yaml:"eta"`
	Fence        int64                              `yaml:"fence"`
	Claim        string                             `yaml:"claim"`
	Supersede    bool                               `yaml:"supersede"`
	Query        string                             `yaml:"q"`
}

func (f conversationFacts) conversation() openintent.Conversation {
	var obligation *openintent.Obligation
	if f.Obligation != nil {
		obligation = &openintent.Obligation{Blocks: openintent.Blocks(f.Obligation.Blocks), Delegate: f.Obligation.Delegate}
	}
	return openintent.Conversation{
		Obligation: obligation, ParentID: f.Parent, Subject: f.Subject, Kind: f.Kind, Priority: openintent.Priority(f.Priority), Mentions: f.Mentions,
		Collect: f.collect(), Directedness: openintent.Directedness(f.Directedness), Policy: openintent.Policy(f.Policy),
	}
}

func (f conversationFacts) collect() openintent.Collect {
	switch wanted := f.Collect.(type) {
	case string:
		return openintent.Collect(wanted)
	case map[string]any:
		if n, isNumber := wanted["quorum"].(int); isNumber {
			return openintent.CollectQuorum(n)
		}
	}
	return ""
}

// stepsOfConversation are the steps on what belongs to a message.
var stepsOfConversation = map[string]func(s *story, a act, f facts) (any, error){
	"thread": onChannel(func(s *story, c *openintent.Client, id string, f facts) (any, error) {
		thread, err := c.GetThread(s.ctx, id, f.Message)
		if err != nil {
			return nil, err
		}
		messages, err := listResult(thread.Messages, nil)
		facts := map[string]any{"root": nil, "messages": messages, "participants": listOf(thread.Participants)}
		if thread.Root != nil {
			facts["root"] = messageFacts(thread.Root)
		}
		return facts, err
	}),
	"search": onChannel((*story).search),
	"react": onChannel(func(s *story, c *openintent.Client, id string, f facts) (any, error) {
		return reactionFacts(c.React(s.ctx, id, f.Message, f.Signal, openintent.ReactionOptions{Note: f.Note, ETA: f.ETA}))
	}),
	"unreact": onChannel(func(s *story, c *openintent.Client, id string, f facts) (any, error) {
		return reactionFacts(c.Unreact(s.ctx, id, f.Message, f.Signal))
	}),
	"reactions": onChannel(func(s *story, c *openintent.Client, id string, f facts) (any, error) {
		return reactionFacts(c.ListReactions(s.ctx, id, f.Message))
	}),
	"discharge": onChannel(func(s *story, c *openintent.Client, id string, f facts) (any, error) {
		closed, err := c.Discharge(s.ctx, id, f.Message, f.Note)
		if err != nil {
			return nil, err
		}
		return map[string]any{"message_id": closed.MessageID, "agent_id": closed.AgentID, "note": orNil(closed.Note)}, nil
	}),
	"obligations": func(s *story, a act, f facts) (any, error) {
		return listResult(s.client(a.who).Obligations(s.ctx, openintent.Side(f.Side)))
	},
	"concerns": (*story).concerns,
	"claim": func(s *story, a act, f facts) (any, error) {
		id, err := s.channel(a.who, f.Channel)
		if err != nil {
			return nil, err
		}
		claim, err := s.client(a.who).Claim(s.ctx, id, f.Message, openintent.ClaimOptions{})
		if err != nil {
			return nil, err
		}
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.claims[a.save] = claim
		return map[string]any{"message_id": claim.MessageID, "fence": claim.Fence}, nil
	},
	"release_claim": func(s *story, _ act, f facts) (any, error) {
		s.mutex.Lock()
		claim := s.claims[f.Claim]
		s.mutex.Unlock()
		if claim == nil {
			return nil, fmt.Errorf("there is no claim %s", f.Claim)
		}
		return nil, claim.Release(s.ctx)
	},
	"attention": onChannel(func(s *story, c *openintent.Client, id string, f facts) (any, error) {
		explained, err := c.GetAttention(s.ctx, id, f.Message, f.Agent.Value)
		if err != nil {
			return nil, err
		}
		return attentionFacts(explained.Attention), nil
	}),
	"dispositions": func(s *story, a act, f facts) (any, error) {
		id, err := s.channel(a.who, f.Channel)
		if err != nil {
			return nil, err
		}
		return s.dispositions(s.client(a.who), id, f)
	},
}

// search waits until a search in a channel finds as many messages as the step says, and returns what it found.
func (s *story) search(c *openintent.Client, channelID string, f facts) (any, error) {
	for {
		page, err := c.SearchMessages(s.ctx, f.Query, openintent.SearchOptions{
			ChannelID: channelID, Sender: f.Sender, Kind: f.Kind, ThreadID: f.ThreadID, Limit: f.Limit,
		})
		if err != nil {
			return nil, err
		}
		if len(page.Messages) >= f.Count {
			found := make([]any, len(page.Messages))
			for i, one := range page.Messages {
				found[i] = map[string]any{
					"message": messageFacts(one.Message), "snippet": one.Snippet, "intent_id": one.IntentID, "channel_name": one.ChannelName,
				}
			}
			return found, nil
		}
		select {
		case <-time.After(interval):
		case <-s.ctx.Done():
			return nil, fmt.Errorf("waited in vain for %d messages to be found; there are %d", f.Count, len(page.Messages))
		}
	}
}

// dispositions waits until as many recipients as the step says have done something with a message, and returns what they did.
func (s *story) dispositions(c *openintent.Client, channelID string, f facts) (any, error) {
	for {
		listed, err := c.Raw().Messages.ListMessageDeliveries(s.ctx, &openintentv1.ListMessageDeliveriesRequest{
			ChannelId: channelID, MessageId: f.Message,
		})
		if err != nil {
			return nil, openintent.FromError(err)
		}
		found := map[string]any{}
		for _, delivery := range listed.GetDeliveries() {
			if delivery.Disposition != nil {
				found[s.plain(delivery.GetAgentId()).(string)] = delivery.GetDisposition()
			}
		}
		if len(found) >= f.Count {
			return found, nil
		}
		select {
		case <-time.After(interval):
		case <-s.ctx.Done():
			return nil, fmt.Errorf("waited in vain for %d dispositions; there are %v", f.Count, found)
		}
	}
}

// conversationFactsOf returns what a message says of its place, with the member names of the wire's JSON.
func conversationFactsOf(m *openintent.Message) map[string]any {
	return map[string]any{
		"parent_id": orNil(m.ParentID), "thread_id": orNil(m.ThreadID), "subject": orNil(m.Subject), "kind": orNil(m.Kind),
		"priority": orNil(string(m.Priority)), "mentions": listOf(m.Mentions), "collect": orNil(string(m.Collect)),
		"obligation": obligationFacts(m.Obligation), "revision": countOrNil(m.Revision), "edited_at": timeOrNil(m.EditedAt), "deleted_at": timeOrNil(m.DeletedAt),
	}
}

func obligationFacts(o *openintent.Obligation) any {
	if o == nil {
		return nil
	}
	return map[string]any{"blocks": string(o.Blocks), "delegate": orNil(o.Delegate)}
}

func countOrNil(count int) any {
	if count == 0 {
		return nil
	}
	return count
}

func reactionFacts(reactions []openintent.Reaction, err error) (any, error) {
	list := make([]any, len(reactions))
	for i, r := range reactions {
		list[i] = map[string]any{"agent_id": r.AgentID, "signal": r.Signal, "note": orNil(r.Note), "eta": orNil(r.ETA)}
	}
	return list, err
}

// attentionFacts returns nil for nil.
func attentionFacts(found *openintent.Attention) any {
	if found == nil {
		return nil
	}
	facts := map[string]any{
		"directedness": string(found.Directedness), "policy": string(found.Policy), "injection": string(found.Injection),
		"reason": found.Reason, "claim": nil,
	}
	if found.Claim != nil {
		facts["claim"] = map[string]any{"holder": found.Claim.Holder}
	}
	return facts
}

func listOf(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

// concerns waits until an agent has so many concerns of a kind, and returns them.
func (s *story) concerns(a act, f facts) (any, error) {
	for {
		page, err := s.client(a.who).Concerns(s.ctx, openintent.ConcernOptions{Kind: openintent.ConcernKind(f.Kind)})
		if err != nil {
			return nil, err
		}
		if len(page.Concerns) == f.Count {
			found := []any{}
			for _, one := range page.Concerns {
				found = append(found, map[string]any{
					"kind": string(one.Kind), "agent_id": orNil(one.AgentID), "channel_id": orNil(one.ChannelID), "message_id": orNil(one.MessageID),
					"subscription_id": orNil(one.SubscriptionID), "actions": listOf(one.Actions),
				})
			}
			return found, nil
		}
		select {
		case <-time.After(interval):
		case <-s.ctx.Done():
			return nil, fmt.Errorf("waited in vain for %d concerns; there are %d", f.Count, len(page.Concerns))
		}
	}
}
