package messaging

import (
	"slices"

	"openintent/internal/database"
	"openintent/messaging/claim"
	"openintent/messaging/obligation"
	"openintent/messaging/reaction"
)

const (
	// ofLog joins the head and the intent of a row x.
	ofLog = " JOIN intent_heads h ON h.intent_no = x.intent_no JOIN intents i ON i.intent_no = x.intent_no "
	// ofMessage are the columns by which a row x of an intent finds its message m.
	ofMessage = "m.intent_no = x.intent_no AND m.position = x.position"
)

// Invariants are the rules that the stored rows of this room, and of those inside it, keep.
//
// Removed channels leave nothing behind, so a gap in an intent's positions says nothing. A message that is missing leaves a gap in its
// channel's ordinals instead, and a missing event one in the sequences.
func Invariants() []database.Invariant {
	return slices.Concat(logInvariants(), messageInvariants(), requestInvariants(), recordInvariants(),
		claim.Invariants(), reaction.Invariants(), obligation.Invariants())
}

// logInvariants are about the places of messages and annotations in the logs.
func logInvariants() []database.Invariant {
	return []database.Invariant{
		{
			Rule: "messages, annotations and events have a position each, and their times rise with the positions, up to the head's",
			Of:   "messages",
			Broken: `FROM (SELECT l.intent_no, l.position, l.created_at, LAG(l.position) OVER w AS lower, LAG(l.created_at) OVER w AS earlier
				FROM (SELECT intent_no, position, created_at FROM messages UNION ALL SELECT intent_no, position, created_at FROM annotations
					UNION ALL SELECT e.intent_no, e.position, e.created_at FROM events e
					WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.intent_no = e.intent_no AND m.position = e.position)) l
				WINDOW w AS (PARTITION BY l.intent_no ORDER BY l.position)) x` + ofLog +
				"WHERE x.position <= x.lower OR x.created_at <= x.earlier OR x.position > h.last_position OR x.created_at > h.last_at",
			At: []string{"i.id", "x.position"},
		},
		{
			Rule: "the log's copy of an audited message has the message's time",
			Of:   "events",
			Broken: `FROM events x JOIN messages m ON ` + ofMessage + ` JOIN intents i ON i.intent_no = x.intent_no
				WHERE x.created_at <> m.created_at`,
			At: []string{"i.id", "x.position"},
		},
		{
			Rule: "each annotation is of an earlier message of its channel",
			Of:   "annotations",
			Broken: `FROM annotations x LEFT JOIN messages m ON m.intent_no = x.intent_no AND m.position = x.message_position
				WHERE m.position IS NULL OR m.channel_no <> x.channel_no OR m.position >= x.position`,
			At: []string{"x.id", "x.intent_no", "x.position"},
		},
	}
}

// messageInvariants are about messages in their channels.
func messageInvariants() []database.Invariant {
	return []database.Invariant{
		database.Refers("messages", "channels", "intent_no", "channel_no"),
		{
			Rule: "messages' positions rise with their places in the channel, which end with the channel's count",
			Of:   "messages",
			Broken: `FROM (SELECT m.intent_no, m.channel_no, m.id, m.ordinal, m.position, LAG(m.position) OVER w AS lower
				FROM messages m WINDOW w AS (PARTITION BY m.intent_no, m.channel_no ORDER BY m.ordinal)) x
				JOIN channel_heads c ON c.intent_no = x.intent_no AND c.channel_no = x.channel_no
				WHERE x.position <= x.lower OR x.ordinal < 1 OR x.ordinal > c.message_count`,
			At: []string{"x.id", "x.ordinal", "x.position"},
		},
		{
			Rule: "each channel has all messages that it lists",
			Of:   "channels",
			Broken: `FROM channel_heads x JOIN channels c ON c.intent_no = x.intent_no AND c.channel_no = x.channel_no` + ofLog + `
				WHERE h.ended_at IS NULL AND c.deleted_at IS NULL AND x.message_count - x.floor <> (SELECT COUNT(*) FROM messages m
					WHERE m.intent_no = x.intent_no AND m.channel_no = x.channel_no AND m.ordinal > x.floor)`,
			At: []string{"c.id", "x.message_count", "x.floor"},
		},
		{
			Rule: "a reply comes after the first message of its thread",
			Of:   "messages WHERE thread_position IS NOT NULL",
			// The thread's id finds the thread when its first message is gone.
			Broken: `FROM messages x LEFT JOIN messages m ON m.intent_no = x.intent_no AND m.position = x.thread_position
				WHERE x.thread_position IS NOT NULL AND (x.thread_position >= x.position OR m.id <> x.thread_id)`,
			At: []string{"x.id", "x.thread_position"},
		},
		{
			Rule: "each name that a message is from or to is in its intent's audiences",
			Of:   "messages",
			Broken: `FROM messages x` + ofLog + `WHERE h.purged_at IS NULL AND (
				x.sender <> 'system' AND NOT EXISTS (SELECT 1 FROM audiences a
					WHERE a.name = x.sender AND a.intent_no = x.intent_no AND a.sent)
				OR x.target <> '*' AND NOT EXISTS (SELECT 1 FROM audiences a
					WHERE a.name = x.target AND a.intent_no = x.intent_no AND NOT a.sent))`,
			At: []string{"x.id", "x.sender", "x.target"},
		},
	}
}

// requestInvariants are about requests and the answers to them.
func requestInvariants() []database.Invariant {
	return []database.Invariant{
		{
			Rule: "each open request is as its message says, and has not ended",
			Of:   "open_requests",
			Broken: `FROM open_requests x LEFT JOIN messages m ON ` + ofMessage + `
				WHERE m.position IS NULL OR m.message_type <> 'request' OR m.ended_at IS NOT NULL OR m.channel_no <> x.channel_no
				OR m.target IS NULL OR m.target <> x.target OR m.created_at <> x.created_at
				OR COALESCE(m.expires_at, 0) <> COALESCE(x.expires_at, 0)`,
			At: []string{"x.intent_no", "x.position"},
		},
		{
			Rule: "a listed request that is not open was answered or has ended",
			Of:   "messages WHERE message_type = 'request'",
			Broken: `FROM messages x JOIN channel_heads c ON c.intent_no = x.intent_no AND c.channel_no = x.channel_no
				JOIN channels d ON d.intent_no = x.intent_no AND d.channel_no = x.channel_no` + ofLog + `
				WHERE x.message_type = 'request' AND x.ended_at IS NULL AND x.ordinal > c.floor
				AND h.ended_at IS NULL AND d.deleted_at IS NULL
				AND NOT EXISTS (SELECT 1 FROM open_requests o WHERE o.intent_no = x.intent_no AND o.position = x.position)
				AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.intent_no = x.intent_no AND m.correlation_position = x.position)`,
			At: []string{"x.id", "i.id"},
		},
		{
			Rule: "a response answers an earlier request",
			Of:   "messages WHERE correlation_position IS NOT NULL",
			Broken: `FROM messages x LEFT JOIN messages m ON m.intent_no = x.intent_no AND m.position = x.correlation_position
				WHERE x.correlation_position IS NOT NULL
				AND (x.correlation_position >= x.position OR m.message_type <> 'request' OR m.id <> x.correlation_id)`,
			At: []string{"x.id", "x.correlation_id"},
		},
	}
}

// recordInvariants are about what is recorded beside messages.
func recordInvariants() []database.Invariant {
	invariants := []database.Invariant{
		database.Refers("pending_work", "intents", "intent_no"),
		database.Refers("audiences", "intents", "intent_no"),
		database.Refers("receipts", "messages", "intent_no", "position"),
		database.Refers("evicted_requests", "messages", "intent_no", "position"),
		database.Refers("conversation_brakes", "channels", "intent_no", "channel_no"),
		database.Refers("message_revisions", "messages", "intent_no", "position"),
		{
			Rule:   "each disposition is of a message",
			Of:     "dispositions WHERE disposition IS NOT NULL",
			Broken: "FROM dispositions x LEFT JOIN messages m ON " + ofMessage + " WHERE x.disposition IS NOT NULL AND m.position IS NULL",
			At:     []string{"x.intent_no", "x.position", "x.agent_id"},
		},
		{
			Rule: "each document is a message of its channel",
			Of:   "documents",
			Broken: `FROM documents x LEFT JOIN messages m ON ` + ofMessage + `
				WHERE m.position IS NULL OR m.channel_no <> x.channel_no`,
			At: []string{"x.intent_no", "x.channel_no", "x.kind", "x.position"},
		},
		{
			Rule: "an idempotency key leads to the message that was sent under it",
			Of:   "idempotency_keys",
			Broken: `FROM idempotency_keys x LEFT JOIN messages m ON ` + ofMessage + ofLog + `
				WHERE m.id <> x.message_id OR x.position > h.last_position`,
			At: []string{"x.message_id", "x.intent_no", "x.position"},
		},
		{
			Rule: "nobody was handed more of a channel than it has",
			Of:   "channel_offers",
			Broken: `FROM channel_offers x JOIN channel_heads c ON c.intent_no = x.intent_no AND c.channel_no = x.channel_no
				WHERE x.ordinal > c.message_count`,
			At: []string{"x.intent_no", "x.channel_no", "x.agent_id", "x.ordinal"},
		},
	}
	// These are written without the intent's lock, so they may outlive the message.
	for _, table := range []string{"offers", "dead_letters", "dispositions"} {
		invariants = append(invariants, database.Invariant{
			Rule:   "no row of " + table + " lies beyond its log",
			Of:     table,
			Broken: "FROM " + table + " x" + ofLog + "WHERE x.position > h.last_position",
			At:     []string{"i.id", "x.position", "x.agent_id"},
		})
	}
	return invariants
}
