package search

import (
	"slices"

	"openintent/agents"
	"openintent/channels"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

// named returns the intent to which the filters of a search lead: that of its intent, of its channel or of its thread. It is 0 if they name
// something absent; some is false if they name none of these.
func (s *Service) named(tx *database.Tx, w wanted) (intentNo int64, some bool, err error) {
	switch {
	case w.intentID != "":
		intentNo, err = s.intents.Resolve(tx, w.intentID)
		return intentNo, true, unless(err, intents.ErrIntentNotFound)
	case w.channelID != "":
		key, err := s.channels.Locate(tx, w.channelID)
		return key.IntentNo, true, unless(err, channels.ErrChannelNotFound)
	case w.threadID != "":
		place, err := reading.PlaceOf(tx, w.threadID)
		if err != nil || place == nil {
			return 0, true, err
		}
		return place.Key.IntentNo, true, nil
	}
	return 0, false, nil
}

// searchable returns those of some intents in which the caller may search: those that it may read, as far as its key's scope reaches into
// them. A guest may search where a channel of its scope lists it.
func (s *Service) searchable(tx *database.Tx, by caller.Caller, intentNos []int64) ([]int64, error) {
	if len(intentNos) == 0 {
		return nil, nil
	}
	read, heads := intents.PrepareHeads(tx, intentNos)
	if err := tx.Pipeline(read); err != nil {
		return nil, err
	}
	access, err := s.intents.AllRules(tx, heads())
	if err != nil {
		return nil, err
	}
	within, err := s.channelsOf(tx, by, heads())
	if err != nil {
		return nil, err
	}
	operator := message.ActsAsOperator(by, by.Agent)
	return slices.DeleteFunc(slices.Clone(intentNos), func(no int64) bool {
		head, rules := heads().Get(no), access[no]
		switch {
		case head == nil || rules == nil:
			return true
		case caller.IsGuest(by.Agent):
			return !within[no]
		}
		return rules.Level(by.Agent, operator, head.Now()) < intents.PermissionRead || !by.Scope.CoversIntent(rules.IntentID()) && !within[no]
	}), nil
}

// channelsOf says in which of some intents a channel of the caller's scope is, or, for a guest, such a channel that lists it.
func (s *Service) channelsOf(tx *database.Tx, by caller.Caller, heads intents.Heads) (map[int64]bool, error) {
	within := make(map[int64]bool)
	if by.Scope == nil || len(by.Scope.Channels) == 0 {
		return within, nil
	}
	presences, err := agents.LoadPresences(tx, []string{by.Agent})
	if err != nil {
		return nil, err
	}
	for _, id := range by.Scope.Channels {
		key, err := s.channels.Locate(tx, id)
		head := heads.Get(key.IntentNo)
		if err == nil && head != nil {
			var rules *channels.Rules
			if rules, err = s.channels.Rules(tx, key, head.Epoch); err == nil {
				listed := !caller.IsGuest(by.Agent) || rules.Lists(by.Agent, presences[by.Agent].DepartedAt)
				within[key.IntentNo] = within[key.IntentNo] || listed
			}
		}
		if err := unless(err, channels.ErrChannelNotFound); err != nil {
			return nil, err
		}
	}
	return within, nil
}
