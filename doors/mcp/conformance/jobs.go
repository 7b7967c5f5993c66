package conformance

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Task is a task of a fixture. The door puts it into its own form of a task, so that the suite looks at that one.
type Task struct {
	// ID begins with jobPrefix, which no id of the door's tasks does.
	ID string
	// Status is a word of the protocol.
	Status string
	// Began and Ends are when the task began, and when it ends by itself.
	Began, Ends time.Time
	// Result is what the tool answered, of a task that is completed.
	Result *sdk.CallToolResult
	// Failure is why a task has failed.
	Failure *jsonrpc.Error
	// Wants are the questions that the client has not answered yet.
	Wants sdk.InputRequestMap
}

// job is what a tool does in a task. It ends after a time, once the client has answered all questions.
type job struct {
	takes   time.Duration
	result  *sdk.CallToolResult
	failure *jsonrpc.Error
	wants   sdk.InputRequestMap
}

// runningJob is a job that has begun.
type runningJob struct {
	job

	began     time.Time
	cancelled bool
}

// jobPrefix begins the ids of the fixtures' tasks.
const jobPrefix = "fixture-"

// jobList has the jobs of all requests. The door keeps nothing between them; a task that can be cancelled and answered needs a place.
type jobList struct {
	mutex sync.Mutex
	all   []*runningJob
}

var jobs jobList

// begin begins a job. What it returns has neither outcome nor questions, which the client asks for.
func (l *jobList) begin(j job) Task {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	j.wants = maps.Clone(j.wants)
	l.all = append(l.all, &runningJob{job: j, began: time.Now()})
	t := l.task(len(l.all) - 1)
	t.Result, t.Failure, t.Wants = nil, nil, nil
	return t
}

// with does something with the job of an id, and returns how far its task is then. It reports false if there is no such task.
func (l *jobList) with(id string, do func(*runningJob)) (Task, bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	number, err := strconv.Atoi(strings.TrimPrefix(id, jobPrefix))
	if err != nil || number < 0 || number >= len(l.all) {
		return Task{}, false
	}
	if l.task(number).open() {
		do(l.all[number])
	}
	return l.task(number), true
}

// task says how far a job is.
func (l *jobList) task(number int) Task {
	j := l.all[number]
	t := Task{ID: jobPrefix + strconv.Itoa(number), Began: j.began, Ends: j.began.Add(j.takes)}
	switch {
	case j.cancelled:
		t.Status = "cancelled"
	case len(j.wants) > 0:
		t.Status, t.Wants = "input_required", maps.Clone(j.wants)
	case time.Now().Before(t.Ends):
		t.Status = "working"
	case j.failure != nil:
		t.Status, t.Failure = "failed", j.failure
	default:
		t.Status, t.Result = "completed", j.result
	}
	return t
}

// open reports whether the task still goes on.
func (t Task) open() bool { return slices.Contains([]string{"working", "input_required"}, t.Status) }
