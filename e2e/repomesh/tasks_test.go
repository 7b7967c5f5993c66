package repomesh

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// open makes a task and returns its id.
func (a agent) open(t *testing.T, goal string, priority int) string {
	t.Helper()
	return a.does(t, "POST", "/tasks", object{"goal": goal, "description": "d", "priority": priority})["task_id"].(string)
}

// task returns a task.
func (a agent) task(t *testing.T, id string) object {
	t.Helper()
	return items(t, a.does(t, "GET", "/tasks?task_id="+id, nil), "tasks")[0]
}

func TestATaskIsClaimedOnce(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, ben := h.agent("ann"), h.agent("ben")
		low, high := ann.open(t, "low", 1), ann.open(t, "high", 5)
		claimed := ann.does(t, "POST", "/tasks/"+high+"/claim", object{"agent_id": "ann", "lease_ttl": 60})
		require.Equal(t, []any{"claimed", "task:" + high}, []any{claimed["task"].(object)["status"], claimed["lock"].(object)["resource_key"]})
		said := ben.refused(t, 409, "POST", "/tasks/"+high+"/claim", object{"retry_count": 1})
		require.Equal(t, []any{"TASK_CLAIM_CONFLICT", 2000.0, 1.0}, []any{said["error_code"], said["retry_after_ms"], said["retry_count"]})
		ann.does(t, "POST", "/tasks/"+high+"/claim", object{})
		require.Equal(t, low, ben.does(t, "POST", "/tasks/claim", object{})["task"].(object)["task_id"])
		require.Equal(t, "NO_OPEN_TASK", h.agent("cleo").refused(t, 404, "POST", "/tasks/claim", object{})["reason"])

		ann.does(t, "PATCH", "/tasks/"+high, object{"status": "in_progress", "progress": 40, "summary": "half"})
		now := ben.task(t, high)
		require.Equal(t, []any{"in_progress", 40.0}, []any{now["status"], now["details"].(object)["progress"]})
		ann.does(t, "PATCH", "/tasks/"+high, object{"status": "blocked", "blocked_reason": "no key"})
		require.Equal(t, "PERMISSION_DENIED", ben.refused(t, 403, "PATCH", "/tasks/"+high, object{"status": "completed"})["error_code"])
		require.Equal(t, "completed", ann.does(t, "PATCH", "/tasks/"+high, object{"status": "completed"})["status"])
		require.Equal(t, "half", ben.task(t, high)["details"].(object)["summary"])
		require.Len(t, ben.events(t, "/events?type=lock.auto_released"), 1, "the task's lock ends with it")
		require.Equal(t, "no key", payload(ben.events(t, "/events?type=task.blocked")[0])["blocked_reason"])
		require.Equal(t, "completed", items(t, ben.does(t, "GET", "/tasks?assignee=ann", nil), "tasks")[0]["status"])
	})
}

func TestAReviewChangesItsTask(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, ben := h.agent("ann"), h.agent("ben")
		id := ann.open(t, "review auth", 1)
		began := ben.logs(t, object{"type": "review.started", "payload": object{"task_id": id, "reviewer_id": "ben", "file_count": 3}})
		require.Equal(t, "in_progress", began["effect"].(object)["status"])
		finding := object{"type": "review.finding", "severity": "warning", "idempotency_key": "f1", "payload": object{
			"task_id": id, "file_path": "src/auth.py", "line_number": 42, "severity": "warning", "message": "SQL injection", "suggestion": "use parameters",
		}}
		first := ben.logs(t, finding)
		require.EqualValues(t, 1, first["effect"].(object)["findings_count"])
		require.EqualValues(t, 1, ben.logs(t, finding)["effect"].(object)["findings_count"], "a repeat adds nothing")
		discussed := ann.says(t, "agent.chat", object{"to": "ben", "content": "Good catch!", "parent_message_id": first["id"]})
		require.Equal(t, []string{first["id"].(string), discussed}, ids(items(t, ben.does(t, "GET", "/events/thread/"+discussed, nil), "events")))
		// Nobody else changes the task; the event stands all the same.
		refused := h.agent("cleo").logs(t, object{"type": "review.completed", "payload": object{"task_id": id}})
		require.Equal(t, "PERMISSION_DENIED", refused["effect"].(object)["refused"].(object)["error_code"])
		ended := ben.logs(t, object{"type": "review.completed", "payload": object{"task_id": id, "warnings": 1, "errors": 0}})
		require.Equal(t, "completed", ended["effect"].(object)["status"])
		details := ann.task(t, id)["details"].(object)
		require.Equal(t, []any{1.0, 1.0, 0.0}, []any{details["findings_count"], details["warnings"], details["errors"]})
		kept := details["findings"].([]any)[0].(object)
		require.Equal(t, object{
			"message_id": first["id"], "reviewer_id": "ben", "file_path": "src/auth.py", "line_number": 42.0, "severity": "warning",
			"message": "SQL injection", "suggestion": "use parameters",
		}, kept)
		require.Len(t, ann.events(t, "/events?type=review.finding&task_id="+id), 1)
	})
}

func TestTheThirdFailureMakesABugTask(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, ben := h.agent("ann"), h.agent("ben")
		id := ann.open(t, "test auth", 1)
		fails := func(by agent, tests ...string) []object {
			var failures []any
			for _, name := range tests {
				failures = append(failures, object{"test": name, "error": "timeout", "message": "timeout after 30s"})
			}
			return items(t, by.logs(t, object{"type": "test.result", "payload": object{
				"task_id": id, "suite_name": "e2e/auth", "passed": 15, "failed": len(tests), "failures": failures,
			}})["effect"].(object), "failures")
		}
		require.Equal(t, object{"test": "login", "failures": 1.0, "retry_after_ms": 1000.0}, fails(ann, "login")[0])
		require.Equal(t, object{"test": "login", "failures": 2.0, "retry_after_ms": 2000.0}, fails(ben, "login", "reset")[0])
		require.NoError(t, h.Stop()) // the count is in the channel
		h.Start(t)
		third := fails(ann, "login")[0]
		bug := ben.task(t, third["bug_task_id"].(string))
		require.Equal(t, []any{"Fix flaky test: login", "Test failed 3 times with: timeout after 30s", 2.0, "open"},
			[]any{bug["goal"], bug["description"], bug["priority"], bug["status"]})
		require.Equal(t, object{"original_task_id": id, "failure_count": 3.0, "test_suite": "e2e/auth", "test": "login"}, bug["details"].(object)["metadata"])
		fails(ann, "login")
		fails(ann, "login")
		require.Equal(t, bug["task_id"], fails(ann, "login")[0]["bug_task_id"], "the task is still open")
		require.Len(t, items(t, ann.does(t, "GET", "/tasks", nil), "tasks"), 2)
	})
}

func TestWhoRecoversGivesEverythingBack(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, ben := h.agent("ann"), h.agent("ben")
		running, claimed, others := ann.open(t, "one", 1), ann.open(t, "two", 1), ann.open(t, "three", 1)
		for _, id := range []string{running, claimed} {
			ann.does(t, "POST", "/tasks/"+id+"/claim", object{})
		}
		ann.does(t, "PATCH", "/tasks/"+running, object{"status": "in_progress"})
		ben.does(t, "POST", "/tasks/"+others+"/claim", object{})
		ann.does(t, "POST", "/locks/acquire", object{"resource_key": "src/a"})
		require.NoError(t, h.Stop())
		h.Start(t)
		did := ann.does(t, "POST", "/agents/ann/heartbeat", object{"status": "recovered"})["recovery"].(object)
		require.ElementsMatch(t, []any{"src/a", "task:" + running, "task:" + claimed}, did["released_locks"])
		require.ElementsMatch(t, []any{running, claimed}, did["requeued_tasks"])
		for _, id := range []string{running, claimed} {
			require.Equal(t, []any{"open", nil}, []any{ben.task(t, id)["status"], ben.task(t, id)["assignee"]})
		}
		require.Equal(t, "claimed", ben.task(t, others)["status"])
		told := typed(ben.events(t, "/events/inbox"), "agent.chat")
		require.Contains(t, payload(told[0])["content"], "Recovered from crash")
		again := ann.does(t, "POST", "/agents/ann/heartbeat", object{"status": "recovered"})["recovery"].(object)
		require.Empty(t, again["released_locks"])
		require.Empty(t, again["requeued_tasks"])
	})
}
