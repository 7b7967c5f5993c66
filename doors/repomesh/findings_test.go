package repomesh

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
)

// reviews is a mesh of one channel, with the findings that its agents have logged, the oldest first.
type reviews struct {
	rooms
	messages []*openintentv1.Message
}

func (r *reviews) ListChannels(context.Context, *openintentv1.ListChannelsRequest, ...grpc.CallOption) (*openintentv1.ListChannelsResponse, error) {
	return &openintentv1.ListChannelsResponse{Channels: []*openintentv1.Channel{{Id: "open"}}}, nil
}

func (r *reviews) ListMessages(
	context.Context, *openintentv1.ListMessagesRequest, ...grpc.CallOption,
) (*openintentv1.ListMessagesResponse, error) {
	return &openintentv1.ListMessagesResponse{Messages: r.messages}, nil
}

// log adds a finding of an agent for a task, and returns its id.
func (r *reviews) log(by, task string) string {
	n := len(r.messages)
	id := fmt.Sprintf("%s %d", by, n)
	r.messages = append(r.messages, &openintentv1.Message{
		Id: id, Sender: by, Kind: new(finding), TaskId: &task, CreatedAt: timestamppb.New(time.Unix(int64(1_000+n), 0)),
	})
	return id
}

// A task shows what it keeps, and then the newest 50 findings of each other author for it, the oldest first. What the task keeps is not
// shown a second time.
func TestATaskShowsTheNewestFindingsOfEachAuthor(t *testing.T) {
	r, s := &reviews{}, ann()
	s.caller.Channels, s.caller.Messages, s.caller.Events = r, r, r
	kept, early := r.log("ann", "task_1"), r.log("cleo", "task_1")
	var newest []string
	for i := range 60 {
		r.log("ben", "task_2")
		if id := r.log("ben", "task_1"); i >= 60-50 {
			newest = append(newest, id)
		}
	}
	late := r.log("cleo", "task_1")
	output, err := structpb.NewStruct(map[string]any{findingsMember: []any{findingIn(kept, "ann", nil)}})
	require.NoError(t, err)
	found, err := s.findings(t.Context(), &openintentv1.Task{Id: "task_1", Output: output})
	require.NoError(t, err)
	var shown []string
	for _, one := range found {
		shown = append(shown, one.(map[string]any)["message_id"].(string))
	}
	require.Equal(t, append(append([]string{kept, early}, newest...), late), shown)
}
