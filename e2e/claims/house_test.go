package claims

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/e2e/replica"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
)

// house is a database with one channel, and the replicas on it.
type house struct {
	replicas []*replica.Replica
	channel  string
}

func newHouse(t *testing.T, engine database.Engine) *house {
	t.Helper()
	h := &house{replicas: replica.Start(t, engine)}
	r := h.replicas[0]
	intent, err := r.Intents.CreateIntent(r.As("creator"), &openintentv1.CreateIntentRequest{
		Title: "T", Status: openintentv1.IntentStatus_INTENT_STATUS_ACTIVE.Enum(),
	})
	require.NoError(t, err)
	channel, err := r.Channels.CreateChannel(r.As("creator"), &openintentv1.CreateChannelRequest{IntentId: intent.GetId(), Name: "desk"})
	require.NoError(t, err)
	h.channel = channel.GetId()
	return h
}

// ask sends the workers a request that takes so many answers and expires after a time.
func (h *house) ask(t *testing.T, wanted int, within time.Duration) string {
	t.Helper()
	collect := structpb.NewStringValue("one")
	if wanted > 1 {
		collect = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
			"quorum": structpb.NewNumberValue(float64(wanted)),
		}})
	}
	target, request, r := "role:"+replica.Role, openintentv1.MessageType_MESSAGE_TYPE_REQUEST, h.replicas[0]
	sent, err := r.Messaging.SendMessage(r.As("alice"), &openintentv1.SendMessageRequest{
		ChannelId: h.channel, To: &target, MessageType: &request, Collect: collect,
		ExpiresAt: timestamppb.New(r.Clock.Now().Add(within)),
	})
	require.NoError(t, err)
	return sent.GetId()
}

// mark is something that the log does not tell, and the position after which it happened.
type mark struct {
	position int64
	entry    Entry
}

// lastPosition returns the position of the last entry of the log.
func (h *house) lastPosition(t *testing.T) (position int64) {
	t.Helper()
	r := h.replicas[0]
	err := r.DB.ReadStatement(r.Life, func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValue(&position, "SELECT last_position FROM intent_heads"))
	})
	require.NoError(t, err)
	return position
}

// history reads what the log says of a request, with the marks between. The log tells no fences, so those of the claims come from
// the claimants, in the order in which they got them, and those of the answers are in the answers.
func (h *house) history(t *testing.T, requestID string, wanted int, fences map[string][]int64, marks []mark) History {
	t.Helper()
	found, r := History{Wanted: wanted}, h.replicas[0]
	err := r.DB.ReadStatement(r.Life, func(tx *database.Tx) error {
		return tx.Pipeline(
			database.Statement{
				SQL: `SELECT e.position, e.kind, e.agent, e.details FROM (
					SELECT a.position AS position, a.annotation_type AS kind, a.agent_id AS agent, a.details AS details FROM annotations a
					JOIN messages q ON q.intent_no = a.intent_no AND q.position = a.message_position WHERE q.id = ?
					UNION ALL SELECT m.position, 'answered', m.sender, m.payload FROM messages m WHERE m.correlation_id = ?) AS e
					ORDER BY e.position`,
				Args: []any{requestID, requestID},
				Scan: func(row database.Row) error {
					position, entry, err := scan(row, fences)
					for len(marks) > 0 && marks[0].position < position {
						found.Entries, marks = append(found.Entries, marks[0].entry), marks[1:]
					}
					found.Entries = append(found.Entries, entry)
					return err
				},
			},
			database.Statement{
				SQL: "SELECT m.ended_at IS NOT NULL FROM messages m WHERE m.id = ?", Args: []any{requestID},
				Scan: func(row database.Row) error { return row.Scan(&found.Expired) },
			})
	})
	require.NoError(t, err)
	for _, m := range marks {
		found.Entries = append(found.Entries, m.entry)
	}
	return found
}

func scan(row database.Row, fences map[string][]int64) (position int64, entry Entry, err error) {
	var kind string
	var text []byte
	if err := row.Scan(&position, &kind, &entry.Agent, &text); err != nil {
		return 0, entry, err
	}
	var details struct {
		Reason string
		Fence  int64 `json:"fence,string"`
	}
	if err := json.Unmarshal(text, &details); err != nil {
		return 0, entry, err
	}
	entry.Fence, entry.Reason = details.Fence, details.Reason
	switch kind {
	case "message_claimed":
		entry.Kind = Claimed
		known := fences[entry.Agent]
		if len(known) == 0 {
			return 0, entry, fmt.Errorf("%s does not know of its claim", entry.Agent)
		}
		entry.Fence, fences[entry.Agent] = known[0], known[1:]
	case "claim_released":
		entry.Kind = Released
	case "answered":
		entry.Kind = Answered
	}
	return position, entry, nil
}
