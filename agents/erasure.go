package agents

import (
	"context"
	"errors"

	"openintent/internal/database"
	"openintent/internal/jsonvalue"
)

// ErrStillRegistered refuses to erase an agent that has not deregistered.
var ErrStillRegistered = errors.New("the agent is still registered; deregister it first, so that nothing reaches it any more")

// Erase removes from the record of a deregistered agent what it says of itself, and the senders that it refuses. The id, the role and the times
// stay: by the time of the departure, earlier memberships and requests are void. recorded tells whether there is a record, erased whether it
// said anything.
func (s *Service) Erase(ctx context.Context, id string) (recorded, erased bool, err error) {
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		recorded, erased = false, false
		agent, err := lock(tx, id)
		switch {
		case errors.Is(err, ErrNotFound):
			return nil
		case err != nil:
			return err
		case agent.Status != StatusDeregistered:
			return ErrStillRegistered
		}
		recorded, erased = true, agent.saysAnything()
		if !erased {
			return nil
		}
		agent.Name, agent.Endpoint, agent.Note = "", "", ""
		agent.Capabilities, agent.Metadata = []string{}, jsonvalue.Object(nil).OrEmpty()
		agent.Version++
		return forgetRefusals(tx, agent, "1 = 1")
	})
	return recorded, erased, err
}

func (a *Agent) saysAnything() bool {
	return a.Name != "" || a.Endpoint != "" || a.Note != "" || a.refusals != 0 || len(a.Capabilities) > 0 || string(a.Metadata.OrEmpty()) != "{}"
}
