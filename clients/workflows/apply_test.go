package workflows

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
)

// stored answers as a server that has intents and channels, and lists one on each page.
type stored struct {
	openintentv1.IntentServiceClient
	openintentv1.ChannelServiceClient

	intents  []*openintentv1.Intent
	channels []*openintentv1.Channel
	// opened is what somebody else opens before the first channel is made.
	opened *openintentv1.Channel
	calls  []string
}

// onePage returns the entry after a cursor, and the cursor of the next page.
func onePage[T any](all []T, cursor string) (page []T, next *string) {
	at := len(cursor)
	if at >= len(all) {
		return nil, nil
	}
	if at+1 < len(all) {
		next = pointer(strings.Repeat("x", at+1))
	}
	return all[at : at+1], next
}

func (s *stored) ListIntents(
	_ context.Context, request *openintentv1.ListIntentsRequest, _ ...grpc.CallOption,
) (*openintentv1.ListIntentsResponse, error) {
	response := &openintentv1.ListIntentsResponse{}
	response.Intents, response.NextCursor = onePage(s.intents, request.GetCursor())
	return response, nil
}

func (s *stored) ListChannels(
	_ context.Context, request *openintentv1.ListChannelsRequest, _ ...grpc.CallOption,
) (*openintentv1.ListChannelsResponse, error) {
	response := &openintentv1.ListChannelsResponse{}
	response.Channels, response.NextCursor = onePage(s.channels, request.GetCursor())
	return response, nil
}

func (s *stored) CreateChannel(
	_ context.Context, request *openintentv1.CreateChannelRequest, _ ...grpc.CallOption,
) (*openintentv1.Channel, error) {
	s.calls = append(s.calls, "create "+request.GetName())
	if s.opened != nil {
		s.channels, s.opened = append(s.channels, s.opened), nil
		return nil, status.Error(codes.AlreadyExists, "the name is taken")
	}
	return &openintentv1.Channel{Id: "chan_new"}, nil
}

func (s *stored) UpdateChannel(
	_ context.Context, request *openintentv1.UpdateChannelRequest, _ ...grpc.CallOption,
) (*openintentv1.Channel, error) {
	s.calls = append(s.calls, "update "+request.GetChannel().GetId())
	return request.GetChannel(), nil
}

func (s *stored) apply(t *testing.T, file *File, options Options) (*Result, error) {
	t.Helper()
	file.Title, file.Workflow = "Report", "Report"
	return Apply(t.Context(), Clients{Intents: s, Channels: s}, file, options)
}

// made returns an active intent that an agent has made from the file.
func made(id, by string) *openintentv1.Intent {
	mark := structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{markName: structpb.NewStringValue("Report")}})
	return &openintentv1.Intent{
		Id: id, Title: "Report", CreatedBy: by, Status: openintentv1.IntentStatus_INTENT_STATUS_ACTIVE,
		Constraints: &structpb.Struct{Fields: map[string]*structpb.Value{markKey: mark}},
	}
}

// Two first runs at the same time may make two intents. All later runs take the older one, wherever the pages end.
func TestOfSeveralIntentsTheOldestIsTaken(t *testing.T) {
	server := &stored{intents: []*openintentv1.Intent{
		{Id: "by hand", Title: "Report", CreatedBy: "ann"}, made("old", "ann"), made("new", "ann"), made("of bob", "bob"),
	}}
	result, err := server.apply(t, fileWith(), Options{Agent: "ann"})
	require.NoError(t, err)
	require.Equal(t, &IntentResult{ActionNone, "old", "Report"}, result.Intent)
	_, err = server.apply(t, fileWith(), Options{})
	require.ErrorContains(t, err, "several agents have made intents", "that of another agent stands on a later page")
	server.intents[1].Status = openintentv1.IntentStatus_INTENT_STATUS_COMPLETED
	result, err = server.apply(t, fileWith(), Options{Agent: "ann"})
	require.NoError(t, err)
	require.Equal(t, "new", result.Intent.ID)
}

func TestChannelsOfAllPagesAreThere(t *testing.T) {
	server := &stored{
		intents:  []*openintentv1.Intent{made("i", "ann")},
		channels: []*openintentv1.Channel{open("a", nil), open("b", nil), open("c", nil)},
	}
	result, err := server.apply(t, fileWith(Channel{Name: "a"}, Channel{Name: "b"}, Channel{Name: "c"}), Options{Agent: "ann"})
	require.NoError(t, err)
	require.Len(t, result.Channels, 3)
	for _, change := range result.Channels {
		require.Equal(t, ActionNone, change.Action, change.Name)
	}
	require.Empty(t, server.calls)
}

// A channel that somebody opens in the meantime is changed to what the file says, but not if it belongs to another task.
func TestAChannelThatIsOpenedMeanwhileKeepsItsTask(t *testing.T) {
	for task, want := range map[string][]string{"t1": {"create a", "update chan_a"}, "t2": {"create a"}, "": {"create a"}} {
		server := &stored{intents: []*openintentv1.Intent{made("i", "ann")}}
		server.opened = open("a", func(c *openintentv1.Channel) { c.TaskId = pointer(task) })
		_, err := server.apply(t, fileWith(Channel{Name: "a", Audit: true, TaskID: "t1"}), Options{Agent: "ann"})
		if task == "t1" {
			require.NoError(t, err)
		} else {
			require.Equal(t, codes.AlreadyExists, status.Code(err))
			require.ErrorContains(t, err, `channel "a"`)
		}
		require.Equal(t, want, server.calls, task)
	}
}
