package messaging

import (
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
)

// takePart notes that an agent takes part in an intent as if it had sent something there (message.TakesPart), in the transaction that
// registers it. It gives the agent no rights: what is sent to everyone comes to its inbox as far as it may read the intent. So it takes
// read access, and the agent's own, whoever calls.
func (s *Service) takePart(tx *database.Tx, by caller.Caller, agentID, intentID string) error {
	intentNo, err := s.intents.Resolve(tx, intentID)
	if err != nil {
		return err
	}
	heads, err := intents.Lock(tx, intentNo)
	if err != nil {
		return err
	}
	head := heads.Get(intentNo)
	rules, err := s.intents.Rules(tx, intentNo, head.Epoch)
	if err != nil {
		return err
	}
	if err := rules.Require(by, agentID, intents.PermissionRead, head.Now()); err != nil {
		return err
	}
	if head.Ended() {
		return message.ErrIntentEnded
	}
	return s.writer.TakePart(tx, head, agentID)
}
