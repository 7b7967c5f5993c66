package tasks

import (
	"context"
	"log/slog"

	"google.golang.org/grpc"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/pages"
)

// Config is what a Service needs.
type Config struct {
	DB      *database.DB
	Intents *intents.Service
	// Logger receives a line for each task that ends; nil discards them.
	Logger *slog.Logger
}

// Service keeps the tasks. Make it with New, add the hooks, then serve.
type Service struct {
	openintentv1.UnimplementedTaskServiceServer

	db      *database.DB
	intents *intents.Service
	logger  *slog.Logger
	onEnded []func(tx *database.Tx, head *intents.Head, taskID string) error
}

// New makes a Service.
func New(cfg Config) *Service {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.Intents.Stock().Include(stockKind)
	return &Service{db: cfg.DB, intents: cfg.Intents, logger: cfg.Logger}
}

// Register adds the service to a gRPC server.
func (s *Service) Register(r grpc.ServiceRegistrar) { openintentv1.RegisterTaskServiceServer(r, s) }

// OnEnded adds a hook that runs in the transaction in which a task is completed, cancelled, skipped, or failed for good, after
// the intent's head is locked and the task is stored. An error of the hook undoes everything. Add hooks before serving.
func (s *Service) OnEnded(fn func(tx *database.Tx, head *intents.Head, taskID string) error) {
	s.onEnded = append(s.onEnded, fn)
}

// Find reports whether a task of the intent has ended. It refuses an id that names no task of the intent as a bad task_id.
func (s *Service) Find(tx *database.Tx, intentNo int64, taskID string) (ended bool, err error) {
	found, err := some(tx, intentNo, "", []string{taskID})
	if err != nil {
		return false, err
	}
	if len(found) == 0 {
		return false, notOfIntent("task_id")
	}
	return found[0].Ended(), nil
}

// GetTask returns one task to a caller that may read its intent.
func (s *Service) GetTask(ctx context.Context, req *openintentv1.GetTaskRequest) (*openintentv1.Task, error) {
	var task *Task
	err := s.read(ctx, func(tx *database.Tx, c caller.Caller) error {
		intentNo, err := locate(tx, req.GetTaskId())
		if err != nil {
			return err
		}
		intentID, err := s.readable(tx, c, intentNo)
		if err != nil {
			return err
		}
		task, err = load(tx, intentNo, intentID, req.GetTaskId())
		return err
	})
	return reply(task, err)
}

// ListTasks lists an intent's tasks, oldest first, for a caller that may read the intent.
func (s *Service) ListTasks(
	ctx context.Context, req *openintentv1.ListTasksRequest,
) (*openintentv1.ListTasksResponse, error) {
	var after int64
	page, err := pages.Begin("tasks", req, pages.MaxEntries, &after)
	if err != nil {
		return nil, err
	}
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	var tasks []*Task
	err = s.db.ReadHeavy(ctx, c.Reader(), func(tx *database.Tx) error {
		intentNo, err := s.intents.Resolve(tx, req.GetIntentId())
		if err != nil {
			return err
		}
		intentID, err := s.readable(tx, c, intentNo)
		if err != nil {
			return err
		}
		tasks, err = list(tx, page, intentNo, intentID, statusOf(req.GetStatus()), after)
		return err
	})
	if err != nil {
		return nil, err
	}
	messages := make([]*openintentv1.Task, len(tasks))
	for i, task := range tasks {
		if messages[i], err = message(task); err != nil {
			return nil, err
		}
	}
	response := &openintentv1.ListTasksResponse{}
	response.Tasks, response.NextCursor = pages.Close(page, messages, func(i int) []any {
		return []any{database.Micros(tasks[i].CreatedAt)}
	})
	return response, nil
}

// read runs a handler's reads in one snapshot, for the proven caller.
func (s *Service) read(ctx context.Context, fn func(tx *database.Tx, c caller.Caller) error) error {
	c, err := caller.Known(ctx)
	if err != nil {
		return err
	}
	return s.db.ReadFor(ctx, c.Reader(), func(tx *database.Tx) error { return fn(tx, c) })
}

// readable returns the id of an intent if the caller may read it, and a refusal otherwise.
func (s *Service) readable(tx *database.Tx, c caller.Caller, intentNo int64) (intentID string, err error) {
	head, err := intents.ReadHead(tx, intentNo)
	if err != nil {
		return "", err
	}
	rules, err := s.intents.Rules(tx, intentNo, head.Epoch)
	if err != nil {
		return "", err
	}
	return head.IntentID, rules.Require(c, c.Agent, intents.PermissionRead, head.Now())
}
