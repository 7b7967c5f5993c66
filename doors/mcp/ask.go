package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

const (
	// answersWithin is how long a question can be answered, unless its asker says otherwise.
	answersWithin = 300
	// longestTimeout is the longest time that ask and wait take as timeout_s, in seconds.
	longestTimeout = 600
)

// ask asks a question and waits for its answer. The question can be answered longer than the tool waits.
var ask = newTool(adds, "ask", "Ask an agent or role:x, and wait for the answer. If none came in time, wait for the message of this answer.",
	`"channel":{"type":"string","description":"id"},"to":{"type":"string"},`+writtenProperties+`,`+
		`"min":{"type":"integer","description":"answers to wait for"},"collect":{"type":"string","description":"one, all or a number of answers"},`+
		`"timeout_s":{"type":"number"},"fail_fast":{"type":"boolean","description":"refuse if nobody is there"},"key":{"type":"string","description":"same key, same question"}`,
	[]string{"channel", "to"},
	func(ctx context.Context, s *session, given askArguments) (any, error) {
		request, err := given.question()
		if err != nil {
			return nil, err
		}
		timeout := seconds(request.GetExpiresInSeconds())
		ctx, end, err := s.beginWait(ctx, timeout)
		if err != nil {
			return nil, err
		}
		defer end()
		question, err := s.caller.Messages.SendMessage(ctx, request)
		if err != nil {
			return nil, err
		}
		asked := &awaited{
			Subject: anAnswer, Channel: question.GetChannelId(), Message: question.GetId(), Enough: given.enough(request.GetCollect()),
		}
		answer, err := s.await(ctx, asked, time.Now(), timeout)
		if err != nil && doors.RefusalOf(err).Reason == tooManyWaits {
			return questionAnswer{Message: question.GetId(), Hint: waitForThis}, nil
		}
		return answer, err
	})

type askArguments struct {
	Channel string          `json:"channel"`
	To      string          `json:"to"`
	Min     *int            `json:"min"`
	Collect json.RawMessage `json:"collect"`
	// Timeout is in seconds.
	Timeout *float64 `json:"timeout_s"`
	// FailFast refuses a question that nobody is there to answer.
	FailFast *bool   `json:"fail_fast"`
	Key      *string `json:"key"`
	written
}

// question returns the request that asks.
func (given askArguments) question() (*openintentv1.SendMessageRequest, error) {
	payload, err := given.payload()
	if err != nil {
		return nil, err
	}
	collect, err := collected(given.Collect)
	if err != nil {
		return nil, err
	}
	if given.Min != nil && (*given.Min < 1 || *given.Min > mostAnswers) {
		return nil, fault.BadField("min", "must be from 1 to %d.", mostAnswers)
	}
	timeout := float64(answersWithin)
	if given.Timeout != nil {
		timeout = *given.Timeout
	}
	if timeout <= 0 || timeout > longestTimeout {
		return nil, fault.BadField("timeout_s", "must be above 0 and at most %d.", longestTimeout)
	}
	return &openintentv1.SendMessageRequest{
		ChannelId: given.Channel, To: &given.To, Payload: payload, Collect: collect, IdempotencyKey: given.Key,
		MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(), ExpiresInSeconds: &timeout, FailFast: given.FailFast,
	}, nil
}

// collected reads how many answers the question takes. A number n, or its digits, stands for the contract's {"quorum": n}.
func collected(given json.RawMessage) (*structpb.Value, error) {
	if len(given) == 0 || bytes.Equal(given, []byte("null")) {
		return nil, nil
	}
	if number, err := strconv.Atoi(strings.Trim(string(given), `"`)); err == nil {
		return structpb.NewStructValue(&structpb.Struct{
			Fields: map[string]*structpb.Value{"quorum": structpb.NewNumberValue(float64(number))},
		}), nil
	}
	var word string
	if json.Unmarshal(given, &word) != nil {
		return nil, fault.BadField("collect", "must be one, all or a number.")
	}
	return structpb.NewStringValue(word), nil
}

// enough returns how many answers end the wait: as many as the asker says, or else as many as the question takes exactly, or one.
func (given askArguments) enough(collect *structpb.Value) int {
	if given.Min != nil {
		return *given.Min
	}
	return max(1, int(collect.GetStructValue().GetFields()["quorum"].GetNumberValue()))
}

// seconds turns a number of seconds into a duration.
func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }
