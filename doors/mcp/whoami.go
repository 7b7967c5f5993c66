package mcp

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	openintentv1 "openintent/gen/openintent/v1"
)

// intentsShown is how many intents whoami names.
const intentsShown = 10

// whoami tells a model who it is here, and what waits for it.
var whoami = newTool(reads, "whoami", "Who you are on openintent, where you work with other agents, your roles and intents, and how much waits for you. Begin with it; then join a channel, and wait for the inbox.", "", nil,
	func(ctx context.Context, s *session, _ struct{}) (any, error) {
		inbox, err := s.caller.Messages.GetInbox(ctx, &openintentv1.GetInboxRequest{AgentId: s.caller.Agent, Limit: new(int32(1))})
		if err != nil {
			return nil, err
		}
		intents, err := s.caller.Intents.ListIntents(ctx, &openintentv1.ListIntentsRequest{Limit: new(int32(intentsShown))})
		if err != nil {
			return nil, err
		}
		answer := identityAnswer{
			Agent: s.caller.Agent, ReadOnly: s.caller.ReadOnly, Intents: []intentAnswer{},
			Unread: inbox.GetUnreadCount(), Unanswered: inbox.GetUnansweredCount(), CountsBounded: inbox.GetCountsBounded(),
			MoreIntents: intents.NextCursor != nil,
		}
		if answer.Roles, err = s.roles(ctx); err != nil {
			return nil, err
		}
		if answer.Owed, answer.MoreOwed, err = s.owed(ctx); err != nil {
			return nil, err
		}
		concerns, err := s.caller.Concerns.ListConcerns(ctx, &openintentv1.ListConcernsRequest{})
		if err != nil {
			return nil, err
		}
		answer.Concerns, answer.MoreConcerns = len(concerns.GetConcerns()), concerns.NextCursor != nil
		for _, intent := range intents.GetIntents() {
			answer.Intents = append(answer.Intents, intentAnswer{intent.GetId(), intent.GetTitle()})
		}
		return answer, nil
	})

type identityAnswer struct {
	Agent    string   `json:"agent"`
	Roles    []string `json:"roles,omitempty"`
	ReadOnly bool     `json:"read_only,omitempty"`
	Unread   int64    `json:"unread"`
	// Unanswered are the requests in the inbox without an answer, and Owed the open obligations.
	Unanswered int64 `json:"unanswered"`
	Owed       int   `json:"owed"`
	MoreOwed   bool  `json:"more_owed,omitempty"`
	// Concerns is how many things need the caller, up to a page of them.
	Concerns     int  `json:"concerns"`
	MoreConcerns bool `json:"more_concerns,omitempty"`
	// CountsBounded says that there may be more unread or unanswered messages than were counted.
	CountsBounded bool           `json:"counts_bounded,omitempty"`
	Intents       []intentAnswer `json:"intents"`
	MoreIntents   bool           `json:"more_intents,omitempty"`
}

type intentAnswer struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// roles returns the role that the caller's record has. An agent needs no record to take part.
func (s *session) roles(ctx context.Context) ([]string, error) {
	record, err := s.caller.Agents.GetAgent(ctx, &openintentv1.GetAgentRequest{AgentId: s.caller.Agent})
	switch {
	case status.Code(err) == codes.NotFound:
		return nil, nil
	case err != nil:
		return nil, err
	case record.RoleId == nil:
		return nil, nil
	}
	return []string{record.GetRoleId()}, nil
}
