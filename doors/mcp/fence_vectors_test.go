package mcp

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/optional"
)

// fenceVectors is the file with which the door and the mailboxes of the SDKs are compared.
const fenceVectors = "../../sdk/scenarios/vectors/fence.json"

// fenceVector is a message and the line in which a model is shown it. With a cursor, the line has the part of the message from there on.
type fenceVector struct {
	Name      string          `json:"name"`
	Message   vectorMessage   `json:"message"`
	Room      int             `json:"room"`
	Attention *vectorAttends  `json:"attention,omitempty"`
	Cursor    *string         `json:"cursor,omitempty"`
	Line      json.RawMessage `json:"line"`
}

type vectorMessage struct {
	ID            string           `json:"id"`
	ChannelID     string           `json:"channel_id"`
	Sender        string           `json:"sender"`
	SenderKind    string           `json:"sender_kind,omitempty"`
	To            string           `json:"to,omitempty"`
	MessageType   string           `json:"message_type"`
	CorrelationID string           `json:"correlation_id,omitempty"`
	ThreadID      string           `json:"thread_id,omitempty"`
	CreatedAt     time.Time        `json:"created_at"`
	ExpiresAt     time.Time        `json:"expires_at,omitzero"`
	Edited        bool             `json:"edited,omitempty"`
	Deleted       bool             `json:"deleted,omitempty"`
	Subject       string           `json:"subject,omitempty"`
	Kind          string           `json:"kind,omitempty"`
	Payload       *structpb.Struct `json:"payload"`
}

type vectorAttends struct {
	Policy    string `json:"policy"`
	Reason    string `json:"reason"`
	ClaimedBy string `json:"claimed_by,omitempty"`
}

// The mailboxes of the SDKs show messages as this door does. With OPENINTENT_TEST_UPDATE the test writes down how that is.
func TestTheFenceIsThatOfTheVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(fenceVectors)
	require.NoError(t, err)
	var vectors []fenceVector
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(&vectors))
	require.NotEmpty(t, vectors)
	written := string(text)
	for _, vector := range vectors {
		line := inJSON(fenced(t, vector))
		var expected string
		require.NoError(t, json.Unmarshal(vector.Line, &expected))
		if os.Getenv("OPENINTENT_TEST_UPDATE") != "" {
			begins := strings.Index(written, `"name": `+inJSON(vector.Name))
			head, rest := written[:begins], written[begins:]
			written = head + strings.Replace(rest, `"line": `+string(vector.Line), `"line": `+inJSON(line), 1)
			continue
		}
		require.Equal(t, expected, line, vector.Name)
	}
	if written != string(text) {
		require.NoError(t, os.WriteFile(fenceVectors, []byte(written), 0o600))
	}
}

// fenced returns what the door shows of a vector's message.
func fenced(t *testing.T, vector fenceVector) messageAnswer {
	t.Helper()
	if vector.Cursor != nil {
		answer, err := whole(vector.Message.wire(), *vector.Cursor, vector.Room)
		require.NoError(t, err, vector.Name)
		return answer
	}
	var attention *openintentv1.Attention
	if given := vector.Attention; given != nil {
		attention = &openintentv1.Attention{Policy: policies[given.Policy], Reason: given.Reason}
		if given.ClaimedBy != "" {
			attention.Claim = &openintentv1.AttentionClaim{Holder: given.ClaimedBy}
		}
	}
	return shown(vector.Message.wire(), attention, vector.Room)
}

var policies = map[string]openintentv1.ResponsePolicy{
	"must_respond": openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND,
	"may_respond":  openintentv1.ResponsePolicy_RESPONSE_POLICY_MAY_RESPOND,
	"ack_only":     openintentv1.ResponsePolicy_RESPONSE_POLICY_ACK_ONLY,
}

// wire returns the message as the contract has it.
func (m vectorMessage) wire() *openintentv1.Message {
	wire := &openintentv1.Message{
		Id: m.ID, ChannelId: m.ChannelID, Sender: m.Sender, SenderKind: optional.Text(m.SenderKind), To: optional.Text(m.To),
		MessageType:   openintentv1.MessageType(openintentv1.MessageType_value["MESSAGE_TYPE_"+strings.ToUpper(m.MessageType)]),
		CorrelationId: optional.Text(m.CorrelationID), ThreadId: optional.Text(m.ThreadID), CreatedAt: timestamppb.New(m.CreatedAt),
		Subject: optional.Text(m.Subject), Kind: optional.Text(m.Kind), Payload: m.Payload,
	}
	if !m.ExpiresAt.IsZero() {
		wire.ExpiresAt = timestamppb.New(m.ExpiresAt)
	}
	if m.Edited {
		wire.EditedAt = wire.GetCreatedAt()
	}
	if m.Deleted {
		wire.DeletedAt = wire.GetCreatedAt()
	}
	return wire
}
