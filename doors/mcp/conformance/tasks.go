package conformance

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// tasksExtension is the name under which a client declares that it takes tasks.
const tasksExtension = "io.modelcontextprotocol/tasks"

// taskTools returns the tools whose work may become a task. greet is there for comparison: its work never does.
func taskTools() []tool {
	return []tool{
		{"greet", "Greets.", `{"type":"object","properties":{"name":{"type":"string"}}}`, greets},
		{"slow_compute", "Takes as many seconds as it is told.",
			`{"type":"object","properties":{"seconds":{"type":"number"},"label":{"type":"string"}}}`, computes},
		{"failing_job", "Answers with an error after a second, as a task only.", anything,
			asTask(job{takes: time.Second, result: &sdk.CallToolResult{Content: []sdk.Content{text("The job went wrong.")}, IsError: true}})},
		{"protocol_error_job", "Breaks, as a task only.", anything,
			asTask(job{takes: time.Second / 2, failure: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the job broke"}})},
		{"confirm_delete", "Asks in its task whether to delete a file, and deletes none.",
			`{"type":"object","properties":{"filename":{"type":"string"}}}`,
			asTask(job{result: said("The question was answered."), wants: sdk.InputRequestMap{
				"confirm": asked("Delete the file?", "confirm", "boolean"),
			}})},
		{"multi_input", "Asks two things at once in its task.", anything,
			asTask(job{result: said("Both questions were answered."), wants: sdk.InputRequestMap{
				"first": asked("What is the first name?", "name", "string"), "second": asked("What is the second name?", "name", "string"),
			}})},
		{"test_tool_with_task", "Asks the user for a name before it begins a task.", anything, asksThenWorks},
	}
}

func greets(_ context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	var given struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(request.Params.Arguments, &given); err != nil {
		return nil, err
	}
	return said("Hello, " + given.Name + "!"), nil
}

// computes answers at once if nothing has to be done. Clients that take no tasks wait for the answer.
func computes(ctx context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	var given struct {
		Seconds float64 `json:"seconds"`
	}
	if err := json.Unmarshal(request.Params.Arguments, &given); err != nil {
		return nil, err
	}
	work := job{takes: time.Duration(given.Seconds * float64(time.Second)), result: said("Computed.")}
	if work.takes > 0 && takesTasks(request) {
		return asTask(work)(ctx, request)
	}
	select {
	case <-time.After(work.takes):
		return work.result, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// asksThenWorks asks with its answer, as tools without a task do, and does its work in a task.
func asksThenWorks(ctx context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	name, _ := filledIn(request.Params.InputResponses, "user_name", "name").(string)
	if name == "" && takesTasks(request) {
		return wants("asked", sdk.InputRequestMap{"user_name": asked("What is your name?", "name", "string")}), nil
	}
	return asTask(job{takes: time.Second / 2, result: said("Done for " + name + ".")})(ctx, request)
}

// begunKey is the context's key of the task that a tool has begun.
type begunKey struct{}

// asTask makes a tool that does its work in a task, and refuses clients that take none.
func asTask(work job) sdk.ToolHandler {
	return func(ctx context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if !takesTasks(request) {
			return nil, &jsonrpc.Error{
				Code: sdk.CodeMissingRequiredClientCapabilities, Message: "the tool needs a client that takes tasks",
				Data: json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}`),
			}
		}
		begun, _ := ctx.Value(begunKey{}).(*Task)
		*begun = jobs.begin(work)
		return &sdk.CallToolResult{}, nil // the task takes its place
	}
}

func takesTasks(request *sdk.CallToolRequest) bool {
	able := request.ClientCapabilities()
	if able == nil {
		return false
	}
	_, declared := able.Extensions[tasksExtension]
	return declared
}

// acknowledged is the answer to a call that changes a task.
type acknowledged struct {
	sdk.ResultBase
	ResultType string `json:"resultType"`
}

// withTasks answers calls of tools that begin a task, and calls about the fixtures' tasks. The door has judged before whether the client
// may make such a call, and knows all other tasks. form puts a task into the door's form; resultType is task or complete.
func withTasks(form func(resultType string, t Task) sdk.Result) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
			if method == "tools/call" {
				begun := &Task{}
				result, err := next(context.WithValue(ctx, begunKey{}, begun), method, request)
				if err == nil && begun.ID != "" {
					return form("task", *begun), nil
				}
				return result, err
			}
			do, isAboutTask := aboutTasks[method]
			if !isAboutTask {
				return next(ctx, method, request)
			}
			var about aboutTask
			if err := about.read(request); err != nil {
				return nil, err
			}
			if !strings.HasPrefix(about.ID, jobPrefix) {
				return next(ctx, method, request)
			}
			t, found := jobs.with(about.ID, func(j *runningJob) { do(j, about) })
			switch {
			case !found:
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "there is no such task"}
			case method == "tasks/get":
				return form("complete", t), nil
			}
			return &acknowledged{ResultType: "complete"}, nil
		}
	}
}

// aboutTask are the parameters of a call about a task.
type aboutTask struct {
	ID      string                     `json:"taskId"`
	Answers map[string]json.RawMessage `json:"inputResponses"`
}

// read reads the parameters of a request, whose type is the door's.
func (a *aboutTask) read(request sdk.Request) error {
	params, err := json.Marshal(request.GetParams())
	if err != nil {
		return err
	}
	return json.Unmarshal(params, a)
}

// aboutTasks says what each call about a task does with a job that has not ended.
var aboutTasks = map[string]func(*runningJob, aboutTask){
	"tasks/get": func(*runningJob, aboutTask) {},
	"tasks/update": func(j *runningJob, about aboutTask) {
		for question := range about.Answers {
			delete(j.wants, question)
		}
	},
	"tasks/cancel": func(j *runningJob, _ aboutTask) { j.cancelled = true },
}
