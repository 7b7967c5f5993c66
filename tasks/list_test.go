package tasks

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

// follow returns the sizes of a list's pages and the names of all tasks on them.
func (h *house) follow(t *testing.T, request *openintentv1.ListTasksRequest) (sizes []int, names []string) {
	t.Helper()
	for {
		page, err := h.ListTasks(as("a"), request)
		require.NoError(t, err)
		sizes = append(sizes, len(page.GetTasks()))
		for _, task := range page.GetTasks() {
			names = append(names, task.GetName())
		}
		require.False(t, page.NextCursor != nil && page.GetNextCursor() == request.GetCursor(), "the list stands still")
		if request.Cursor = page.NextCursor; request.Cursor == nil {
			return sizes, names
		}
	}
}

func TestTasksComeInPages(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		var all []string
		for i := range 7 {
			all = append(all, fmt.Sprint("task ", i))
			_, err := h.CreateTask(as("a"), &openintentv1.CreateTaskRequest{IntentId: h.intent.GetId(), Name: all[i]})
			require.NoError(t, err)
		}
		ready := openintentv1.TaskStatus_TASK_STATUS_READY
		for limit, want := range map[int32][]int{1: {1, 1, 1, 1, 1, 1, 1}, 3: {3, 3, 1}, 7: {7}, 1000: {7}} {
			for _, status := range []*openintentv1.TaskStatus{nil, &ready} {
				sizes, names := h.follow(t, &openintentv1.ListTasksRequest{
					IntentId: h.intent.GetId(), Limit: &limit, Status: status,
				})
				require.Equal(t, want, sizes)
				require.Equal(t, all, names)
			}
		}
		_, err := h.ListTasks(as("a"), &openintentv1.ListTasksRequest{IntentId: h.intent.GetId(), Cursor: pointer("x")})
		faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD")
	})
}

// However many tasks wait for others on the page, each shows those that wait for itself.
func TestOfEachTaskThoseAreListedThatWaitForIt(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		first, second := h.create(t), h.create(t)
		const waiting = maxBlocks/2 + 1
		no, err := h.numberOf(h.intent.GetId())
		require.NoError(t, err)
		require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error {
			for i := range waiting {
				err := insert(tx, &Task{
					ID: newID(), IntentNo: no, Name: "N", Status: StatusPending, Version: 1, Input: []byte("{}"), Artifacts: []byte("[]"),
					Metadata: []byte("{}"), MaxAttempts: 1, DependsOn: []string{first.GetId(), second.GetId()},
					CreatedAt: h.clock.Now().Add(time.Duration(i+1) * time.Second),
				}, "")
				if err != nil {
					return err
				}
			}
			return nil
		}))
		page, err := h.ListTasks(as("a"), &openintentv1.ListTasksRequest{IntentId: h.intent.GetId(), Limit: pointer(int32(2))})
		require.NoError(t, err)
		for _, task := range page.GetTasks() {
			require.Len(t, task.GetBlocks(), waiting)
		}
	})
}

// Many small values take more bytes on the wire than as text, so the answer has a bound as well.
func TestAPageOfTasksIsBoundedInBytes(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		numbers := make([]any, 100_000)
		for i := range numbers {
			numbers[i] = 1
		}
		for _, test := range []struct {
			name  string
			input any
			tasks int
			pages []int
		}{
			{"text", strings.Repeat("x", 250_000), 13, []int{12, 1}},
			{"numbers", numbers, 3, []int{2, 1}},
		} {
			intent, input := h.newIntent(t).GetId(), object(t, map[string]any{"a": test.input})
			for range test.tasks {
				_, err := h.CreateTask(as("a"), &openintentv1.CreateTaskRequest{IntentId: intent, Name: test.name, Input: input})
				require.NoError(t, err)
			}
			sizes, _ := h.follow(t, &openintentv1.ListTasksRequest{IntentId: intent})
			require.Equal(t, test.pages, sizes)
		}
	})
}
