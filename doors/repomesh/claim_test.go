package repomesh

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	openintentv1 "openintent/gen/openintent/v1"
)

// readyTasks lists pages of ready tasks.
type readyTasks struct {
	openintentv1.TaskServiceClient
	pages [][]*openintentv1.Task
	asked int
}

func (r *readyTasks) ListTasks(
	_ context.Context, request *openintentv1.ListTasksRequest, _ ...grpc.CallOption,
) (*openintentv1.ListTasksResponse, error) {
	r.asked++
	at, _ := strconv.Atoi(request.GetCursor())
	page := &openintentv1.ListTasksResponse{Tasks: slices.Clone(r.pages[at])}
	if at+1 < len(r.pages) {
		page.NextCursor = new(strconv.Itoa(at + 1))
	}
	return page, nil
}

// Tasks that are kept for others may fill pages. They hide no task that the caller could claim.
func TestTasksOfOthersHideNoOpenTask(t *testing.T) {
	others := make([]*openintentv1.Task, candidates)
	for i := range others {
		others[i] = &openintentv1.Task{Id: strconv.Itoa(i), AssignedAgent: new("ben")}
	}
	open := func(pages ...[]*openintentv1.Task) (ids []string, asked int) {
		ready, s := &readyTasks{pages: pages}, ann()
		s.caller.Tasks = ready
		found, err := s.open(t.Context())
		require.NoError(t, err)
		for _, one := range found {
			ids = append(ids, one.GetId())
		}
		return ids, ready.asked
	}
	free := []*openintentv1.Task{{Id: "free"}, {Id: "hers", AssignedAgent: new("ann")}, {Id: "his", AssignedAgent: new("ben")}}
	ids, asked := open(others, others, free, others)
	require.Equal(t, []string{"free", "hers"}, ids)
	require.Equal(t, 3, asked)
	ids, asked = open(make([][]*openintentv1.Task, 2*taskPages)...)
	require.Empty(t, ids)
	require.Equal(t, taskPages, asked, "the door looks at so many pages")
}
