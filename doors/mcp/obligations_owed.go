package mcp

import (
	"context"

	openintentv1 "openintent/gen/openintent/v1"
)

// owedCounted bounds how many obligations are counted, because whoever counts them reads their requests.
const owedCounted = 20

// owed counts the open obligations that the caller owes, and tells whether there are more.
func (s *session) owed(ctx context.Context) (count int, more bool, err error) {
	open, err := s.caller.Obligations.ListObligations(ctx, &openintentv1.ListObligationsRequest{
		AgentId: s.caller.Agent, Side: openintentv1.ObligationSide_OBLIGATION_SIDE_OWES, Limit: new(int32(owedCounted)),
	})
	return len(open.GetMessages()), open.GetNextCursor() != "", err
}
