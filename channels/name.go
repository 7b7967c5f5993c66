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
	find, named := PrepareOpenByName(tx, []Named{{head.IntentNo, name}}, counts)
	if err := tx.Pipeline(find); err != nil {
		return nil, err
	}
	for _, key := range named {
		rules, err := s.Rules(tx, key, head.Epoch)
		if err != nil {
			return nil, err
		}
		open, err := s.EndIfLapsed(tx, head, rules, *counts[key])
		if open && err == nil {
			return rules, nil
		}
		return nil, err
	}
	return nil, nil
}

// Named is a name of a channel within an intent.
type Named struct {
	IntentNo int64
	Name     string
}

// PrepareOpenByName returns the statement that finds the channels of these names without a stored closing, to be sent together with others,
// and the map that it fills when it runs. It adds the counts that are missing to those given.
func PrepareOpenByName(tx *database.Tx, names []Named, counts map[Key]*Count) (database.Statement, map[Named]Key) {
	intentNos, texts := make([]int64, len(names)), make([]string, len(names))
	for i, one := range names {
		intentNos[i], texts[i] = one.IntentNo, one.Name
	}
	in, arguments := tx.InRows(
		database.Column{Name: "c.intent_no", Values: intentNos}, database.Column{Name: "c.name", Values: texts})
	found := make(map[Named]Key, len(names))
	return database.Statement{
		SQL: "SELECT c.intent_no, c.name, c.channel_no, h.message_count, h.floor, h.last_message_at FROM channels c" +
			" JOIN channel_heads h ON h.intent_no = c.intent_no AND h.channel_no = c.channel_no" +
			" WHERE " + in + " AND c.closed_at IS NULL",
		Args: arguments,
		Scan: func(row database.Row) error {
			var one Named
			var channelNo int64
			var count Count
			var last *int64
			err := row.Scan(&one.IntentNo, &one.Name, &channelNo, &count.Messages, &count.Floor, &last)
			count.LastMessageAt = database.TimeOrZero(last)
			key := Key{one.IntentNo, channelNo}
			if found[one] = key; counts[key] == nil {
				counts[key] = &count
			}
			return err
		},
	}, found
}

// EndIfLapsed reports whether a channel without a stored closing is open. If it has lapsed and the head is locked, EndIfLapsed closes it for
// good, so that its name is free.
func (s *Service) EndIfLapsed(tx *database.Tx, head *intents.Head, rules *Rules, count Count) (open bool, err error) {
	closedAt, closed := rules.ClosedBy(count, head, head.Now())
	switch {
	case !closed:
		return true, nil
	case !head.Locked():
		return false, nil
	}
	return false, s.close(tx, head, []closing{{rules: rules, at: closedAt}})
}
