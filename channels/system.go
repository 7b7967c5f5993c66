package channels

import (
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
)

// SystemName is the name of the channel in which the server itself speaks. No caller can make a channel of that name.
const SystemName = "_system"

// ErrReserved refuses to change the server's own channel, or to write in it, whoever asks.
var ErrReserved = fault.New(fault.Denied, "CHANNEL_RESERVED",
	"The channel "+SystemName+" belongs to the server, and nobody else writes in it or changes it; use another channel.")

// Reserved reports whether only the server writes in the channel. Whoever may read the intent sees it, as any open channel.
func (r *Rules) Reserved() bool { return r.CreatedBy == caller.System && r.Name == SystemName }

// Found makes a channel of the server's own, unless the intent has an open one of the name. All who may read the intent write in it; no
// agent manages it. The head is locked, and the intent has not ended.
func (s *Service) Found(tx *database.Tx, head *intents.Head, name string) error {
	found, err := s.FindOpenByName(tx, head, name, make(map[Key]*Count))
	if err == nil && found == nil {
		_, err = s.CreateImplicit(tx, head, name, caller.System, "")
	}
	return err
}

// System returns the intent's channel for the server's own words, and creates it at first use. The head is locked, and the intent
// has not ended. The counts get the channel's count if they lack it. A channel that somebody made under the name when it was
// free to all is closed.
func (s *Service) System(tx *database.Tx, head *intents.Head, counts map[Key]*Count) (*Rules, error) {
	found, err := s.FindOpenByName(tx, head, SystemName, counts)
	if err != nil {
		return nil, err
	}
	if found != nil && found.Reserved() {
		return found, nil
	}
	if found != nil {
		if err := s.close(tx, head, []closing{{rules: found, at: head.Tick()}}); err != nil {
			return nil, err
		}
	}
	made, err := s.CreateImplicit(tx, head, SystemName, caller.System, "")
	if err == nil {
		counts[made.Key] = &Count{}
	}
	return made, err
}
