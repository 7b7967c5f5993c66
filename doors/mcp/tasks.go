package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc/codes"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// tasksExtension is the name under which client and server declare tasks.
	tasksExtension = "io.modelcontextprotocol/tasks"
	// pollInterval is how often a client is asked to look.
	pollInterval = time.Second
	// keptAfter is how long after its deadline a task's outcome is there at least.
	keptAfter = time.Minute
)

// taskAnswer is a task in the protocol's form: as a tool's answer, and as the answer of tasks/get.
type taskAnswer struct {
	sdk.ResultBase
	ResultType    string `json:"resultType"`
	ID            string `json:"taskId"`
	Status        string `json:"status"`
	StatusMessage string `json:"statusMessage,omitempty"`
	CreatedAt     string `json:"createdAt"`
	LastUpdatedAt string `json:"lastUpdatedAt"`
	TTL           int64  `json:"ttlMs"`
	PollInterval  int64  `json:"pollIntervalMs"`
	// Result is what the tool would have answered.
	Result *sdk.CallToolResult `json:"result,omitempty"`
}

// answer returns the task in the protocol's form. resultType is task or complete, and status a word of the protocol.
func (t task) answer(resultType, status string) *taskAnswer {
	began := stamp(time.UnixMilli(t.From))
	return &taskAnswer{
		ResultType: resultType, ID: t.id(), Status: status, CreatedAt: began, LastUpdatedAt: began,
		TTL: t.Until - t.From + keptAfter.Milliseconds(), PollInterval: pollInterval.Milliseconds(),
	}
}

// offer says that a client takes a task in place of a tool's answer, and holds the one that was made.
type offer struct{ made *taskAnswer }

type offerKey struct{}

// tasksOf returns the client's offer to take a task, and nil if it takes none.
func tasksOf(ctx context.Context) *offer {
	taken, _ := ctx.Value(offerKey{}).(*offer)
	return taken
}

// make makes a task.
func (o *offer) make(t task) {
	o.made = t.answer("task", "working")
	o.made.StatusMessage = "waits for " + string(t.Subject)
	if t.Message != "" {
		o.made.StatusMessage = "waits for what answers " + t.Message
	}
}

// takesTasks reports whether the client declares that it takes tasks, which it does on each request.
func takesTasks(revision string, client *sdk.ClientCapabilities) bool {
	if revision < revisions[0] || client == nil {
		return false
	}
	_, declared := client.Extensions[tasksExtension]
	return declared
}

// withTasks offers tasks to the tools where the client takes them, and refuses calls about tasks to other clients.
func withTasks(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
		switch called := request.(type) {
		case *sdk.CallToolRequest:
			if takesTasks(called.ProtocolVersion(), called.ClientCapabilities()) {
				taken := &offer{}
				result, err := next(context.WithValue(ctx, offerKey{}, taken), method, request)
				if err == nil && taken.made != nil {
					return taken.made, nil
				}
				return result, err
			}
		case *sdk.ServerRequest[*sdk.InitializeParams]:
			result, err := next(ctx, method, request)
			if initialized, ok := result.(*sdk.InitializeResult); ok {
				initialized.Capabilities.Extensions = nil // the older revisions have other tasks
			}
			return result, err
		case *sdk.ServerRequest[*taskParams]:
			if err := admitAboutTask(method, called); err != nil {
				return nil, err
			}
		}
		return next(ctx, method, request)
	}
}

// admitAboutTask refuses a call about a task that its client may not make.
func admitAboutTask(method string, called *sdk.ServerRequest[*taskParams]) error {
	switch {
	case called.ProtocolVersion() < revisions[0]:
		return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("%s needs the revision %s.", method, revisions[0])}
	case !takesTasks(called.ProtocolVersion(), called.ClientCapabilities()):
		return &jsonrpc.Error{
			Code: sdk.CodeMissingRequiredClientCapabilities, Message: "This call needs a client that declares the tasks extension.",
			Data: json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}`),
		}
	case called.Params == nil:
		return errTaskUnknown
	case called.Extra != nil && called.Extra.Header.Get("Mcp-Name") != "" && called.Extra.Header.Get("Mcp-Name") != called.Params.ID:
		return &jsonrpc.Error{Code: sdk.CodeHeaderMismatch, Message: "The header Mcp-Name must be the taskId of the body."}
	}
	return nil
}

// taskParams are the parameters of all calls about a task.
type taskParams struct {
	sdk.ParamsBase
	ID string `json:"taskId"`
	// Answers are those of tasks/update to questions of a task. Ours never ask; fixtures of the conformance suite do.
	Answers json.RawMessage `json:"inputResponses,omitempty"`
}

// errTaskUnknown refuses whatever is no task of the caller's, without saying why.
var errTaskUnknown = &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "There is no such task."}

// addTasks adds the calls about tasks to a server.
func (s *session) addTasks(server *sdk.Server) error {
	server.AddReceivingMiddleware(withTasks)
	return errors.Join(
		sdk.AddReceivingCustomMethod(server, "tasks/get", s.getTask),
		sdk.AddReceivingCustomMethod(server, "tasks/update", s.updateTask),
		sdk.AddReceivingCustomMethod(server, "tasks/cancel", s.cancelTask),
	)
}

// getTask says how far a task came.
func (s *session) getTask(ctx context.Context, _ *sdk.ServerSession, params *taskParams) (*taskAnswer, error) {
	t, got, err := s.task(ctx, params.ID)
	switch {
	case err != nil:
		return nil, err
	case got.refusal != nil:
		return t.completed(refused(got.refusal)), nil
	case got.withdrawn && t.Subject == anAnswer:
		return t.answer("complete", "cancelled"), nil
	case got.ready || time.Now().UnixMilli() >= t.Until:
		return t.completed(answered(got.answer)), nil
	}
	return t.answer("complete", "working"), nil
}

// completed is a task that ended, with what the tool would have answered.
func (t task) completed(result *sdk.CallToolResult) *taskAnswer {
	answer := t.answer("complete", "completed")
	answer.LastUpdatedAt, answer.Result = stamp(time.Now()), result
	return answer
}

// acknowledged is the answer to a call that changes a task.
type acknowledged struct {
	sdk.ResultBase
	ResultType string `json:"resultType"`
}

// updateTask takes answers to questions that tasks ask of their client. Ours ask none, so it leaves them aside.
func (s *session) updateTask(ctx context.Context, _ *sdk.ServerSession, params *taskParams) (*acknowledged, error) {
	if _, _, err := s.task(ctx, params.ID); err != nil {
		return nil, err
	}
	return &acknowledged{ResultType: "complete"}, nil
}

// cancelTask deletes a question that nobody has answered. Any other wait costs nothing, and its client stops asking about it.
func (s *session) cancelTask(ctx context.Context, _ *sdk.ServerSession, params *taskParams) (*acknowledged, error) {
	t, got, err := s.task(ctx, params.ID)
	if err != nil {
		return nil, err
	}
	question, _ := got.answer.(questionAnswer)
	if t.Subject == anAnswer && got.refusal == nil && !got.ready && len(question.Answers) == 0 {
		_, err = s.caller.Messages.DeleteMessage(ctx, &openintentv1.DeleteMessageRequest{ChannelId: t.Channel, MessageId: t.Message})
	}
	if refusal := doors.RefusalOf(err); err != nil && refusal.Code != codes.FailedPrecondition {
		s.failed(ctx, "method", "tasks/cancel", err)
		return nil, taskError(refusal)
	}
	return &acknowledged{ResultType: "complete"}, nil
}

// task looks how far the task with an id came. The contract judges whether the caller may know.
func (s *session) task(ctx context.Context, id string) (task, found, error) {
	t, ok := taskFrom(id)
	if !ok || t.Agent != s.caller.Agent {
		return task{}, found{}, errTaskUnknown
	}
	looksFor := t.awaited // which the look moves on, unlike the id
	looksFor.since = time.UnixMilli(t.From)
	got, err := s.look(ctx, &looksFor, 0)
	if err == nil {
		return t, got, nil
	}
	refusal := doors.RefusalOf(err)
	if refusal.Code == codes.FailedPrecondition { // such as that of a channel that is closed; the tool would have told the model
		return t, found{refusal: err}, nil
	}
	s.failed(ctx, "task", string(t.Subject), err)
	return task{}, found{}, taskError(refusal)
}

// taskError puts a refusal into the protocol's form. Of a task that the caller may not know, it says no more than of one that there is
// not. After any other error, the client may ask again.
func taskError(refusal doors.Refusal) error {
	switch refusal.Code {
	case codes.NotFound, codes.PermissionDenied, codes.InvalidArgument:
		return errTaskUnknown
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: refusal.Message, Data: json.RawMessage(inJSON(refusedAnswer{
		Refused: refusal.Reason, Message: refusal.Message, RetryIn: refusal.RetryAfter.Seconds(),
	}))}
}

// stamp writes a time as the protocol has it.
func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }
