package repomesh

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"google.golang.org/protobuf/types/known/structpb"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// testResult is the type of a result, and bugAfter the number of failures of one test that make a task of it.
	testResult = "test.result"
	bugAfter   = 3
	// mostFailures is how many failed tests of one result the door looks at.
	mostFailures = 20
	// bugPriority is that of such a task.
	bugPriority = 2
	// goalRoom is how many bytes of a test's name a task's goal has.
	goalRoom = 200
)

// failure is what became of a failed test.
type failure struct {
	Test string `json:"test"`
	// Failures is how often it has failed, of what the channel still has.
	Failures int `json:"failures"`
	// RetryAfter is when to try again.
	RetryAfter int64 `json:"retry_after_ms,omitempty"`
	// BugTask is the task that was made of it.
	BugTask string `json:"bug_task_id,omitempty"`
}

// backoff is when to try a test again, by how often it has failed.
var backoff = map[int]int64{1: 1_000, 2: 2_000}

// failed counts how often the tests of a result have failed for its task in its suite. It makes a task of each third failure, unless
// one of an earlier failure is still open. The results of the channel are the count, so it holds on every server. Each failure has a
// place among them, so one call alone finds itself to be the third.
func (s *session) failed(ctx context.Context, d *draft, sent *openintentv1.Message, made *effect) error {
	made.TaskID = value(d.task)
	tests := failedTests(d.values)
	if len(tests) == 0 {
		return nil
	}
	leave, err := s.door.lists.enter(ctx, s.caller.Agent)
	if err != nil {
		return err
	}
	defer leave()
	page, err := s.caller.Messages.ListMessages(ctx, &openintentv1.ListMessagesRequest{
		ChannelId: sent.GetChannelId(), Limit: new(int32(mostFetched)),
	})
	if err != nil {
		return err
	}
	counts, first := make(map[string]int), sent
	for _, m := range page.GetMessages() {
		payload := m.GetPayload().AsMap()
		if m.GetKind() != testResult || m.GetTaskId() != value(d.task) || payload["suite_name"] != d.values["suite_name"] ||
			m.GetCreatedAt().AsTime().After(sent.GetCreatedAt().AsTime()) {
			continue
		}
		for test := range failedTests(payload) {
			if _, asked := tests[test]; asked {
				counts[test]++
				if m.GetCreatedAt().AsTime().Before(first.GetCreatedAt().AsTime()) {
					first = m
				}
			}
		}
	}
	for _, test := range slices.Sorted(maps.Keys(tests)) {
		f := failure{Test: test, Failures: counts[test], RetryAfter: backoff[counts[test]]}
		if f.Failures > 0 && f.Failures%bugAfter == 0 {
			if f.BugTask, err = s.bug(ctx, d, first, f, tests[test]); err != nil {
				return err
			}
		}
		made.Failures = append(made.Failures, f)
	}
	return nil
}

// failedTests returns the failed tests of a result, each with what went wrong.
func failedTests(payload map[string]any) map[string]string {
	listed, _ := payload["failures"].([]any)
	tests := make(map[string]string)
	for _, item := range listed {
		failed, _ := item.(map[string]any)
		name, _ := failed["test"].(string)
		if name == "" || len(tests) == mostFailures {
			continue
		}
		what, _ := failed["error"].(string)
		if message, _ := failed["message"].(string); message != "" {
			what = message
		}
		tests[name] = what
	}
	return tests
}

// bug makes a task of a test that fails again and again, and returns its id. If such a task is still open, it returns that one's.
func (s *session) bug(ctx context.Context, d *draft, first *openintentv1.Message, f failure, what string) (string, error) {
	goal := "Fix flaky test: " + doors.Beginning(f.Test, goalRoom)
	earlier, _, err := s.events(ctx, &openintentv1.ListEventsRequest{
		IntentId: s.intent, EventType: new("task.created"), Since: first.GetCreatedAt(), Order: new("desc"), Limit: new(int32(mostFetched)),
	})
	if err != nil {
		return "", err
	}
	for _, entry := range earlier {
		said := entry.GetPayload().GetFields()
		if said["name"].GetStringValue() != goal {
			continue
		}
		known, err := s.taskInMesh(ctx, said["task_id"].GetStringValue())
		if err != nil {
			return "", err
		}
		if known.CompletedAt == nil && about(known, d) {
			return known.GetId(), nil
		}
	}
	metadata, err := structpb.NewStruct(map[string]any{
		"original_task_id": value(d.task), "failure_count": f.Failures, "test_suite": d.values["suite_name"], "test": f.Test,
	})
	if err != nil {
		return "", err
	}
	made, err := s.caller.Tasks.CreateTask(ctx, &openintentv1.CreateTaskRequest{
		IntentId: s.intent, Name: goal, Priority: new(int32(bugPriority)), Metadata: metadata,
		Description: new("Test failed " + strconv.Itoa(f.Failures) + " times with: " + doors.Beginning(what, findingRoom)),
	})
	return made.GetId(), err
}

// about reports whether a task was made of failures in the same suite for the same task.
func about(t *openintentv1.Task, d *draft) bool {
	said := t.GetMetadata().AsMap()
	return said["test_suite"] == d.values["suite_name"] && said["original_task_id"] == value(d.task)
}
