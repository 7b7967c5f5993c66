package channels

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"openintent/intents"
	"openintent/internal/database"
	"openintent/internal/fault"
)

// This file has the rules of channels' names: what a name may be, and that no two open channels of an intent have the same one.

// CheckName refuses a text that cannot be a channel's name; field is the field of the request that has it. The server keeps a
// name as given: it does not trim it, and compares names by their bytes.
func (s *Service) CheckName(field, name string) error {
	switch length := utf8.RuneCountInString(name); {
	case length > s.maxNameLength:
		return fault.BadField(field, "has %d characters; use at most %d.", length, s.maxNameLength)
	case strings.TrimSpace(name) == "":
		return fault.BadField(field, "must hold at least one character that is not white space.")
	case strings.Contains(name, "/"):
		return fault.BadField(field, "may not contain a slash.")
	case strings.ContainsFunc(name, unicode.IsControl):
		return fault.BadField(field, "may not contain control characters.")
	case name == SystemName:
		return fault.BadField(field, "is the name of the server's own channel; choose another name.")
	}
	return nil
}

// requireFreeName refuses a name that an open channel of the intent has. The head must be locked.
func (s *Service) requireFreeName(tx *database.Tx, head *intents.Head, name string) error {
	namesake, err := s.FindOpenByName(tx, head, name, make(map[Key]*Count))
	if err != nil || namesake == nil {
		return err
	}
	return ErrNameTaken.With("channel_id", namesake.ID)
}

// FindOpenByName returns the intent's open channel of that name, or nil. If the head is locked, FindOpenByName closes for good
// a channel that has the name but has lapsed, so that the name is free. It decides by the given counts, which may include
// messages that are not stored yet. If they lack the channel's count, it reads the count and adds it to them.
func (s *Service) FindOpenByName(
	tx *database.Tx, head *intents.Head, name string, counts map[Key]*Count,
) (*Rules, error) {
	key, found, err := openByName(tx, head.IntentNo, name)
	if err != nil || !found {
		return nil, err
	}
	rules, err := s.Rules(tx, key, head.Epoch)
	if err != nil {
		return nil, err
	}
	if counts[key] == nil {
		count, err := LoadCount(tx, key)
		if err != nil {
			return nil, err
		}
		counts[key] = &count
	}
	closedAt, closed := rules.ClosedBy(*counts[key], head, head.Now())
	switch {
	case !closed:
		return rules, nil
	case !head.Locked():
		return nil, nil
	}
	return nil, s.close(tx, head, []closing{{rules: rules, at: closedAt}})
}

// openByName finds the channel of that name without a stored closing.
func openByName(tx *database.Tx, intentNo int64, name string) (key Key, found bool, err error) {
	var numbers []int64
	err = tx.Gorm().Model(&channelRow{}).Where("intent_no = ? AND name = ? AND closed_at IS NULL", intentNo, name).
		Pluck("channel_no", &numbers).Error
	if err != nil || len(numbers) == 0 {
		return Key{}, false, err
	}
	return Key{IntentNo: intentNo, ChannelNo: numbers[0]}, true, nil
}
