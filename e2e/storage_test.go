package e2e

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// stored is what a database contains of messages and logs. It is read while no server runs, and checked for what must
// be true whatever happened.
type stored struct {
	heads    []storedHead
	messages map[int64][]storedMessage // by intent, in the order of their positions
	// annotations are the times of annotations, by intent and position. Where messages are annotated, nobody knows how
	// many annotations went with those that were removed.
	annotations map[int64]map[int64]int64
	annotated   bool
	events      map[int64][]storedEvent // by intent, in the order of their sequences
	channels    map[storedKey]storedChannel
	open        map[storedPlace]bool // unanswered requests
	keys        []storedKeyUse
}

type (
	storedKey   struct{ intent, channel int64 }
	storedPlace struct{ intent, position int64 }
	storedHead  struct{ intent, lastPosition, lastSequence, lastChannel, lastAt int64 }

	storedMessage struct {
		storedPlace
		channel, ordinal, at int64
		id, kind             string
		answers              int64 // the position of the request; 0 means none
		ended                bool
	}
	storedEvent struct {
		storedPlace
		sequence, at int64
	}
	storedChannel struct {
		count, floor int64
		deleted      bool
	}
	storedKeyUse struct {
		storedPlace
		id string
	}
)

// storage reads a database.
func storage(t *testing.T, url string) *stored {
	t.Helper()
	db := databasetest.Open(t, database.Config{URL: url})
	s := &stored{
		messages: make(map[int64][]storedMessage), events: make(map[int64][]storedEvent),
		channels: make(map[storedKey]storedChannel), open: make(map[storedPlace]bool), annotations: make(map[int64]map[int64]int64),
	}
	require.NoError(t, db.Read(t.Context(), func(tx *database.Tx) error { return tx.Pipeline(s.statements()...) }))
	return s
}

func (s *stored) statements() []database.Statement {
	return []database.Statement{
		{
			SQL: "SELECT intent_no, last_position, last_sequence, last_channel, last_at FROM intent_heads ORDER BY intent_no",
			Scan: func(row database.Row) error {
				var h storedHead
				defer func() { s.heads = append(s.heads, h) }()
				return row.Scan(&h.intent, &h.lastPosition, &h.lastSequence, &h.lastChannel, &h.lastAt)
			},
		},
		{
			SQL: "SELECT intent_no, position, channel_no, ordinal, created_at, id, message_type," +
				" COALESCE(correlation_position, 0), ended_at IS NOT NULL FROM messages ORDER BY intent_no, position",
			Scan: func(row database.Row) error {
				var m storedMessage
				defer func() { s.messages[m.intent] = append(s.messages[m.intent], m) }()
				return row.Scan(&m.intent, &m.position, &m.channel, &m.ordinal, &m.at, &m.id, &m.kind, &m.answers, &m.ended)
			},
		},
		{
			SQL: "SELECT intent_no, position, created_at FROM annotations",
			Scan: func(row database.Row) error {
				var intent, position, at int64
				err := row.Scan(&intent, &position, &at)
				if s.annotations[intent] == nil {
					s.annotations[intent] = make(map[int64]int64)
				}
				s.annotations[intent][position] = at
				return err
			},
		},
		{
			SQL: "SELECT intent_no, position, sequence, created_at FROM events ORDER BY intent_no, sequence",
			Scan: func(row database.Row) error {
				var e storedEvent
				defer func() { s.events[e.intent] = append(s.events[e.intent], e) }()
				return row.Scan(&e.intent, &e.position, &e.sequence, &e.at)
			},
		},
		{
			SQL: "SELECT h.intent_no, h.channel_no, h.message_count, h.floor, c.deleted_at IS NOT NULL FROM channel_heads h" +
				" JOIN channels c ON c.intent_no = h.intent_no AND c.channel_no = h.channel_no",
			Scan: func(row database.Row) error {
				var key storedKey
				var c storedChannel
				defer func() { s.channels[key] = c }()
				return row.Scan(&key.intent, &key.channel, &c.count, &c.floor, &c.deleted)
			},
		},
		{
			SQL: "SELECT intent_no, position FROM open_requests",
			Scan: func(row database.Row) error {
				var place storedPlace
				defer func() { s.open[place] = true }()
				return row.Scan(&place.intent, &place.position)
			},
		},
		{
			SQL: "SELECT intent_no, position, message_id FROM idempotency_keys",
			Scan: func(row database.Row) error {
				var use storedKeyUse
				defer func() { s.keys = append(s.keys, use) }()
				return row.Scan(&use.intent, &use.position, &use.id)
			},
		},
	}
}

// holds checks everything.
func (s *stored) holds(t *testing.T) {
	t.Helper()
	require.NotEmpty(t, s.heads, "nothing was stored")
	for _, head := range s.heads {
		s.positionsAreGapless(t, head)
		s.channelsAreGapless(t, head.intent)
	}
	s.requestsAreOpenUntilAnswered(t)
	s.keysNameTheirMessages(t)
}

// positionsAreGapless checks that every position of a log is taken by a message, an annotation, an event, or a message
// with its copy; that times strictly rise with positions; and that nothing lies past the head. Only removed messages
// leave gaps, and their annotations.
func (s *stored) positionsAreGapless(t *testing.T, head storedHead) {
	t.Helper()
	times := make(map[int64]int64)
	for _, m := range s.messages[head.intent] {
		times[m.position] = m.at
	}
	maps.Copy(times, s.annotations[head.intent])
	for i, e := range s.events[head.intent] {
		require.EqualValues(t, i+1, e.sequence, "the log of intent %d has a gap", head.intent)
		if at, isCopy := times[e.position]; isCopy {
			require.Equal(t, at, e.at, "a copy has its message's time")
		}
		times[e.position] = e.at
	}
	require.Len(t, s.events[head.intent], int(head.lastSequence))
	missing, last := int64(0), int64(0)
	for position := int64(1); position <= head.lastPosition; position++ {
		at, taken := times[position]
		if !taken {
			missing++
			continue
		}
		require.Greater(t, at, last, "times do not rise at position %d of intent %d", position, head.intent)
		last = at
	}
	require.Len(t, times, int(head.lastPosition-missing), "intent %d has positions past its head", head.intent)
	require.LessOrEqual(t, last, head.lastAt)
	if removed, known := s.removed(head); known && (removed == 0 || !s.annotated) {
		require.LessOrEqual(t, missing, removed, "positions of intent %d are missing", head.intent)
	}
}

// removed returns how many messages were deleted with their channels or after their eviction. The number is unknown
// once a deleted channel has left no trace.
func (s *stored) removed(head storedHead) (removed int64, known bool) {
	removed, channels := -int64(len(s.messages[head.intent])), int64(0)
	for key, channel := range s.channels {
		if key.intent == head.intent {
			removed += channel.count
			channels++
		}
	}
	return removed, channels == head.lastChannel>>32 // the count in it; see database.Further
}

// channelsAreGapless checks that the messages of each channel are numbered by their positions, that only evicted
// messages are missing, and that the channel's count is right.
func (s *stored) channelsAreGapless(t *testing.T, intent int64) {
	t.Helper()
	ordinals := make(map[int64][]int64)
	for _, m := range s.messages[intent] {
		ordinals[m.channel] = append(ordinals[m.channel], m.ordinal)
	}
	for key, channel := range s.channels {
		if key.intent != intent || channel.deleted {
			continue
		}
		numbers := ordinals[key.channel]
		require.True(t, slices.IsSorted(numbers), "ordinals do not rise with positions")
		retained := slices.DeleteFunc(numbers, func(ordinal int64) bool { return ordinal <= channel.floor })
		require.Len(t, retained, int(channel.count-channel.floor), "channel %d of intent %d misses messages", key.channel, intent)
		for i, ordinal := range retained {
			require.Equal(t, channel.floor+int64(i)+1, ordinal)
		}
	}
}

// requestsAreOpenUntilAnswered checks that the open requests are exactly those that have no answer and have not
// expired for good.
func (s *stored) requestsAreOpenUntilAnswered(t *testing.T) {
	t.Helper()
	for _, messages := range s.messages {
		answered := make(map[int64]bool)
		for _, m := range messages {
			answered[m.answers] = true
		}
		for _, m := range messages {
			if m.kind != "request" {
				require.False(t, s.open[m.storedPlace], "only requests are open")
			} else if answered[m.position] || m.ended {
				require.False(t, s.open[m.storedPlace], "request %s is open though it was answered or expired", m.id)
			}
		}
	}
}

// keysNameTheirMessages checks that each idempotency key leads to a different message.
func (s *stored) keysNameTheirMessages(t *testing.T) {
	t.Helper()
	ids := make(map[storedPlace]string)
	for _, messages := range s.messages {
		for _, m := range messages {
			ids[m.storedPlace] = m.id
		}
	}
	seen := make(map[string]bool)
	for _, use := range s.keys {
		require.False(t, seen[use.id], "two keys lead to message %s", use.id)
		seen[use.id] = true
		if id, retained := ids[use.storedPlace]; retained {
			require.Equal(t, use.id, id)
		}
	}
}
