package messaging

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"openintent/channels"
	"openintent/internal/caller"
	"openintent/internal/database"
)

// writeMarks moves the marks of channels that still exist forward, with one statement. It locks the rows in order, and among several
// replicas the one that is further wins.
func writeMarks(tx *database.Tx, marks map[markKey]offer) error {
	keys, err := standingMarks(tx, slices.Collect(maps.Keys(marks)))
	if err != nil || len(keys) == 0 {
		return err
	}
	ordinals, times := make([]int64, len(keys)), make([]int64, len(keys))
	for i, key := range keys {
		ordinals[i], times[i] = marks[key].ordinal, database.Micros(marks[key].at)
	}
	return tx.Pipeline(tx.Advance("channel_offers", markColumns(keys),
		database.Column{Name: "ordinal", Values: ordinals}, database.Column{Name: "offered_at", Values: times})...)
}

// standingMarks returns the marks of the channels that are not removed, in order.
func standingMarks(tx *database.Tx, keys []markKey) ([]markKey, error) {
	channelKeys := make([]channels.Key, len(keys))
	for i, key := range keys {
		channelKeys[i] = key.Key
	}
	counts, err := channels.LoadCounts(tx, channels.DistinctKeys(channelKeys))
	if err != nil {
		return nil, err
	}
	keys = slices.DeleteFunc(keys, func(key markKey) bool { return counts[key.Key] == nil })
	slices.SortFunc(keys, func(a, b markKey) int {
		return cmp.Or(cmp.Compare(a.IntentNo, b.IntentNo), cmp.Compare(a.ChannelNo, b.ChannelNo), cmp.Compare(a.agent, b.agent))
	})
	return keys, nil
}

func markColumns(keys []markKey) []database.Column {
	n := len(keys)
	ofIntents, ofChannels, ofAgents := make([]int64, n), make([]int64, n), make([]string, n)
	for i, key := range keys {
		ofIntents[i], ofChannels[i], ofAgents[i] = key.IntentNo, key.ChannelNo, key.agent
	}
	return []database.Column{
		{Name: "intent_no", Values: ofIntents}, {Name: "channel_no", Values: ofChannels}, {Name: "agent_id", Values: ofAgents},
	}
}

// forgetMarks removes the marks of a channel.
func forgetMarks(key channels.Key) database.Statement {
	return database.Statement{
		SQL:  "DELETE FROM channel_offers WHERE intent_no = ? AND channel_no = ?",
		Args: []any{key.IntentNo, key.ChannelNo},
	}
}

// forgetIntent removes what is still recorded of an intent whose messages are all gone: whom it reached, and what of it was
// offered or given up.
func forgetIntent(intentNo int64) []database.Statement {
	var statements []database.Statement
	for _, table := range []string{"audiences", "offers", "channel_offers", "dead_letters"} {
		statements = append(statements, database.Statement{
			SQL: "DELETE FROM " + table + " WHERE intent_no = ?", Args: []any{intentNo},
		})
	}
	return statements
}

// DeadLetter says that a subscription gave up a message.
type DeadLetter struct {
	IntentNo, Position int64
	At                 time.Time
	// Reason tells the message's sender why.
	Reason string
}

// RecordDeadLetters records what subscriptions of the agent gave up. It leaves out messages that are no longer kept, and
// messages that the agent does not receive: the operator sees those, but that is not recorded. When there are several
// records of a message, the first one stays.
func (s *Service) RecordDeadLetters(tx *database.Tx, agentID string, letters []DeadLetter) error {
	places := make([]messagePlace, len(letters))
	for i, letter := range letters {
		places[i] = messagePlace{letter.IntentNo, letter.Position}
	}
	kept, err := keptAmong(tx, places)
	if err != nil {
		return err
	}
	var intentNos, positions, times []int64
	var agentIDs, reasons []string
	for i, letter := range letters {
		if target, found := kept[places[i]]; found && (agentID != caller.Operator || target == agentID) {
			intentNos, positions = append(intentNos, letter.IntentNo), append(positions, letter.Position)
			agentIDs, reasons = append(agentIDs, agentID), append(reasons, letter.Reason)
			times = append(times, database.Micros(letter.At))
		}
	}
	return tx.Pipeline(tx.InsertIgnore("dead_letters",
		database.Column{Name: "intent_no", Values: intentNos},
		database.Column{Name: "position", Values: positions},
		database.Column{Name: "agent_id", Values: agentIDs},
		database.Column{Name: "dead_at", Values: times},
		database.Column{Name: "reason", Values: reasons},
	)...)
}

// ForgetDeadLetters removes such records, because the messages are delivered again.
func (s *Service) ForgetDeadLetters(tx *database.Tx, agentID string, intentNo int64, positions ...int64) error {
	in, argument := tx.In("position", positions)
	return tx.Pipeline(database.Statement{
		SQL:  "DELETE FROM dead_letters WHERE intent_no = ? AND agent_id = ? AND " + in,
		Args: []any{intentNo, agentID, argument},
	})
}
