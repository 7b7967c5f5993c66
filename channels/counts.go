package channels

import (
	"cmp"
	"slices"

	"openintent/internal/database"
)

// PrepareCounts returns the statement that reads the counts of channels, to be sent together with others, and the map that it
// fills when it runs. The map lacks channels that do not exist.
func PrepareCounts(tx *database.Tx, keys []Key) (database.Statement, map[Key]*Count) {
	intentNos, channelNos := columns(keys)
	in, args := tx.InRows(intentNos, channelNos)
	counts := make(map[Key]*Count, len(keys))
	return database.Statement{
		SQL:  "SELECT intent_no, channel_no, message_count, floor, last_message_at FROM channel_heads WHERE " + in,
		Args: args,
		Scan: func(row database.Row) error {
			var key Key
			var count Count
			var last *int64
			if err := row.Scan(&key.IntentNo, &key.ChannelNo, &count.Messages, &count.Floor, &last); err != nil {
				return err
			}
			if last != nil {
				count.LastMessageAt = database.Time(*last)
			}
			counts[key] = &count
			return nil
		},
	}, counts
}

// LoadCounts reads the counts of channels.
func LoadCounts(tx *database.Tx, keys []Key) (map[Key]*Count, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	statement, counts := PrepareCounts(tx, keys)
	return counts, tx.Pipeline(statement)
}

// LoadCount reads the count of one channel.
func LoadCount(tx *database.Tx, key Key) (Count, error) {
	counts, err := LoadCounts(tx, []Key{key})
	if err != nil || counts[key] == nil {
		return Count{}, err
	}
	return *counts[key], nil
}

// CountStatements returns the statements that store changed counts of existing channels. The caller has locked the heads of
// their intents.
func CountStatements(tx *database.Tx, counts map[Key]*Count) []database.Statement {
	keys := make([]Key, 0, len(counts))
	for key := range counts {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.IntentNo, b.IntentNo), cmp.Compare(a.ChannelNo, b.ChannelNo))
	})
	n := len(keys)
	messages, floors, last := make([]int64, n), make([]int64, n), make([]*int64, n)
	for i, key := range keys {
		count := counts[key]
		messages[i], floors[i] = count.Messages, count.Floor
		if !count.LastMessageAt.IsZero() {
			at := database.Micros(count.LastMessageAt)
			last[i] = &at
		}
	}
	intentNos, channelNos := columns(keys)
	return tx.Update("channel_heads", []database.Column{intentNos, channelNos},
		[]database.Column{
			{Name: "message_count", Values: messages},
			{Name: "floor", Values: floors},
			{Name: "last_message_at", Values: last},
		})
}

// columns returns keys as columns of rows.
func columns(keys []Key) (intentNos, channelNos database.Column) {
	intents, channels := make([]int64, len(keys)), make([]int64, len(keys))
	for i, key := range keys {
		intents[i], channels[i] = key.IntentNo, key.ChannelNo
	}
	return database.Column{Name: "intent_no", Values: intents}, database.Column{Name: "channel_no", Values: channels}
}
