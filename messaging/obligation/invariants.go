package obligation

import (
	"strconv"

	"openintent/internal/database"
)

// Invariants are the rules that the stored rows of this room keep.
func Invariants() []database.Invariant {
	return []database.Invariant{
		{
			Rule: "each obligation is of a request of its channel",
			Of:   "obligations",
			Broken: `FROM obligations o LEFT JOIN messages m ON m.intent_no = o.intent_no AND m.position = o.position
				WHERE m.position IS NULL OR m.message_type <> 'request' OR m.id <> o.message_id OR m.channel_no <> o.channel_no`,
			At: []string{"o.message_id", "o.intent_no", "o.position"},
		},
		{
			Rule:   "an obligation was discharged by somebody if it is closed, and is never due then",
			Of:     "obligations",
			Broken: "FROM obligations o WHERE (o.discharged_at IS NULL) <> (o.discharged_by = '') OR o.discharged_at IS NOT NULL AND o.due_at IS NOT NULL",
			At:     []string{"o.message_id", "o.discharged_by"},
		},
		{
			Rule:   "no obligation is open in an intent that has ended",
			Of:     "obligations WHERE discharged_at IS NULL",
			Broken: "FROM obligations o JOIN intent_heads h ON h.intent_no = o.intent_no WHERE o.discharged_at IS NULL AND h.ended_at IS NOT NULL",
			At:     []string{"o.message_id"},
		},
		{
			Rule: "a request is kept without an end only for an open obligation",
			Of:   "evicted_requests",
			Broken: "FROM evicted_requests e WHERE e.due_at = " + strconv.FormatInt(Kept, 10) + ` AND NOT EXISTS (SELECT 1 FROM obligations o
				WHERE o.intent_no = e.intent_no AND o.position = e.position AND o.discharged_at IS NULL)`,
			At: []string{"e.intent_no", "e.position"},
		},
	}
}
