package channels

import "openintent/internal/database"

// Invariants are the rules that the stored rows of this room keep.
func Invariants() []database.Invariant {
	const key1, key2 = "intent_no", "channel_no"
	return []database.Invariant{
		database.Refers("channels", "intents", key1),
		database.Refers("channels", "channel_heads", key1, key2),
		database.Refers("channel_heads", "channels", key1, key2),
		database.Refers("members", "channels", key1, key2),
		database.Refers("insiders", "channels", key1, key2),
		{
			Rule:   "no channel has a number above the last one of its intent",
			Of:     "channels",
			Broken: "FROM channels c JOIN intent_heads h ON h.intent_no = c.intent_no WHERE c.channel_no > h.last_channel",
			At:     []string{"c.id", "c.channel_no"},
		},
		{
			Rule: "a channel lists at most max_messages, the newest of those that were sent",
			Of:   "channel_heads",
			Broken: `FROM channel_heads h JOIN channels c ON c.intent_no = h.intent_no AND c.channel_no = h.channel_no
				WHERE h.cleared < 0 OR h.cleared > h.floor OR h.floor > h.message_count OR h.message_count - h.floor > c.max_messages
				OR h.message_count > 0 AND h.last_message_at IS NULL`,
			At: []string{"c.id", "h.message_count", "h.floor", "h.cleared"},
		},
		{
			Rule: "nobody joined or opened a channel after more messages than it has",
			Of:   "members",
			Broken: `FROM channel_heads h JOIN channels c ON c.intent_no = h.intent_no AND c.channel_no = h.channel_no
				WHERE c.opened_through > h.message_count
				OR EXISTS (SELECT 1 FROM members m WHERE m.intent_no = h.intent_no AND m.channel_no = h.channel_no AND m.joined_after > h.message_count)
				OR EXISTS (SELECT 1 FROM insiders n WHERE n.intent_no = h.intent_no AND n.channel_no = h.channel_no AND n.seen_after > h.message_count)`,
			At: []string{"c.id", "h.message_count"},
		},
		{
			Rule: "each address leads to the channel that has it",
			Of:   "channels WHERE address IS NOT NULL",
			Broken: `FROM channels c WHERE c.address IS NOT NULL AND NOT EXISTS (SELECT 1 FROM channel_addresses a
				WHERE a.address = c.address AND a.intent_no = c.intent_no AND a.channel_no = c.channel_no)`,
			At: []string{"c.id", "c.address"},
		},
	}
}
