package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/oklog/ulid/v2"
	"gorm.io/gorm"

	"openintent/intents"
	"openintent/internal/database"
	"openintent/internal/jsonvalue"
	"openintent/internal/pages"
)

// idPrefix begins every task's id; a ULID follows.
const idPrefix = "task_"

func newID() string { return idPrefix + ulid.Make().String() }

// wellFormed reports whether a text can be a task's id at all.
func wellFormed(id string) bool {
	rest, ok := strings.CutPrefix(id, idPrefix)
	_, err := ulid.ParseStrict(rest)
	return ok && err == nil
}

// row is a task as the table stores it: times are in microseconds, and absent values are NULL.
type row struct {
	IntentNo             int64  `gorm:"primaryKey;autoIncrement:false"`
	ID                   string `gorm:"primaryKey"`
	PlanID               *string
	Name                 string
	Description          string
	Status               Status
	Version              int64
	Priority             int64
	Input                []byte
	Output               []byte
	Artifacts            []byte
	AssignedAgent        *string
	CapabilitiesRequired []byte
	ParentTaskID         *string
	RetryPolicy          []byte
	TimeoutSeconds       *int64
	Attempt              int64
	MaxAttempts          int64
	Permissions          []byte
	BlockedReason        *string
	Error                []byte
	Metadata             []byte
	CreatedAt            int64 `gorm:"autoCreateTime:false"`
	StartedAt            *int64
	CompletedAt          *int64
}

// TableName is for gorm.
func (row) TableName() string { return "tasks" }

// madeRow is a new task.
type madeRow struct {
	Task      row `gorm:"embedded"`
	MadeByKey *string
}

// TableName is for gorm.
func (madeRow) TableName() string { return "tasks" }

// stockKind is the kind of tasks that have not ended, in intents that have not ended either. A key holds those that were made under it.
var stockKind = intents.StockKind{
	Name: "tasks", From: "tasks t JOIN intent_heads h ON h.intent_no = t.intent_no" +
		" WHERE t.made_by_key = ? AND t.completed_at IS NULL AND h.ended_at IS NULL",
	Freed: "complete or cancel some",
}

func (r *row) task() (*Task, error) {
	t := &Task{
		IntentNo:       r.IntentNo,
		ID:             r.ID,
		PlanID:         text(r.PlanID),
		Name:           r.Name,
		Description:    r.Description,
		Status:         r.Status,
		Version:        r.Version,
		Priority:       r.Priority,
		Input:          jsonvalue.Object(r.Input),
		Output:         jsonvalue.Object(r.Output),
		Artifacts:      r.Artifacts,
		AssignedAgent:  text(r.AssignedAgent),
		ParentTaskID:   text(r.ParentTaskID),
		RetryPolicy:    jsonvalue.Object(r.RetryPolicy),
		TimeoutSeconds: r.TimeoutSeconds,
		Attempt:        r.Attempt,
		MaxAttempts:    r.MaxAttempts,
		BlockedReason:  text(r.BlockedReason),
		Permissions:    r.Permissions,
		Error:          r.Error,
		Metadata:       jsonvalue.Object(r.Metadata),
		CreatedAt:      database.Time(r.CreatedAt),
		StartedAt:      database.TimeOrZero(r.StartedAt),
		CompletedAt:    database.TimeOrZero(r.CompletedAt),
	}
	return t, json.Unmarshal(r.CapabilitiesRequired, &t.CapabilitiesRequired)
}

func rowOf(t *Task) (*row, error) {
	capabilities, err := json.Marshal(append([]string{}, t.CapabilitiesRequired...))
	return &row{
		IntentNo:             t.IntentNo,
		ID:                   t.ID,
		PlanID:               database.NullText(t.PlanID),
		Name:                 t.Name,
		Description:          t.Description,
		Status:               t.Status,
		Version:              t.Version,
		Priority:             t.Priority,
		Input:                t.Input,
		Output:               t.Output,
		Artifacts:            t.Artifacts,
		AssignedAgent:        database.NullText(t.AssignedAgent),
		CapabilitiesRequired: capabilities,
		ParentTaskID:         database.NullText(t.ParentTaskID),
		RetryPolicy:          t.RetryPolicy,
		TimeoutSeconds:       t.TimeoutSeconds,
		Attempt:              t.Attempt,
		MaxAttempts:          t.MaxAttempts,
		Permissions:          t.Permissions,
		BlockedReason:        database.NullText(t.BlockedReason),
		Error:                t.Error,
		Metadata:             t.Metadata,
		CreatedAt:            database.Micros(t.CreatedAt),
		StartedAt:            database.NullMicros(t.StartedAt),
		CompletedAt:          database.NullMicros(t.CompletedAt),
	}, err
}

// locate returns the intent of a task. A task's intent never changes, so it may be read before the intent's head is locked.
func locate(tx *database.Tx, id string) (intentNo int64, err error) {
	if !wellFormed(id) {
		return 0, ErrNotFound
	}
	var found row
	err = tx.Gorm().Select("intent_no").Where("id = ?", id).Take(&found).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return 0, ErrNotFound
	}
	return found.IntentNo, err
}

// load reads one task with the tasks that it depends on and those that it blocks.
func load(tx *database.Tx, intentNo int64, intentID, id string) (*Task, error) {
	found, err := read(tx.Gorm().Where("intent_no = ? AND id = ?", intentNo, id), intentID)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, ErrNotFound
	}
	return found[0], connect(tx, found)
}

// maxBlocks bounds how many of the tasks that wait for one are listed.
const maxBlocks = 1000

// sizeOfRow is an SQL expression for the bytes that a task takes on a page, with the tasks that it depends on and blocks.
var sizeOfRow = fmt.Sprintf(`300 + octet_length(name) + octet_length(description) + octet_length(input)
	+ COALESCE(octet_length(output), 0) + octet_length(artifacts) + octet_length(capabilities_required)
	+ COALESCE(octet_length(retry_policy), 0) + COALESCE(octet_length(permissions), 0)
	+ COALESCE(octet_length(blocked_reason), 0) + COALESCE(octet_length(error), 0) + octet_length(metadata)
	+ 32 * (SELECT count(*) FROM task_dependencies d WHERE d.intent_no = tasks.intent_no AND d.task_id = tasks.id)
	+ 32 * (SELECT count(*) FROM (SELECT 1 FROM task_dependencies d
		WHERE d.intent_no = tasks.intent_no AND d.depends_on = tasks.id LIMIT %d) AS waiting)`, maxBlocks)

// list reads a page of an intent's tasks that begins after a time of creation, oldest first, with the tasks that they depend
// on and block. An empty status selects all tasks.
func list(
	tx *database.Tx, page *pages.Page, intentNo int64, intentID string, status Status, after int64,
) ([]*Task, error) {
	condition, args := "intent_no = ? AND created_at > ?", []any{intentNo, after}
	if status != "" {
		condition, args = condition+" AND status = ?", append(args, string(status))
	}
	rows, err := page.Fit(tx, sizeOfRow, " FROM tasks WHERE "+condition+" ORDER BY created_at", args...)
	if err != nil || rows == 0 {
		return nil, err
	}
	found, err := read(tx.Gorm().Where(condition, args...).Order("created_at").Limit(rows), intentID)
	if err != nil {
		return nil, err
	}
	return found, connect(tx, found)
}

// some reads those of the given tasks that belong to the intent, oldest first, without their dependencies.
func some(tx *database.Tx, intentNo int64, intentID string, ids []string) ([]*Task, error) {
	possible := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !wellFormed(id) })
	if len(possible) == 0 {
		return nil, nil
	}
	condition, wanted := tx.In("id", possible)
	return read(tx.Gorm().Where("intent_no = ?", intentNo).Where(condition, wanted).Order("created_at"), intentID)
}

// Ref names a task and its intent.
type Ref struct {
	IntentNo int64
	ID       string
}

// PrepareFound returns the statement that reads which of the ids name tasks, and the set of tasks that it fills.
func PrepareFound(tx *database.Tx, ids []string) (database.Statement, map[Ref]struct{}) {
	found := make(map[Ref]struct{})
	in, argument := tx.In("id", ids)
	return database.Statement{
		SQL:  "SELECT intent_no, id FROM tasks WHERE " + in,
		Args: []any{argument},
		Scan: func(row database.Row) error {
			var one Ref
			err := row.Scan(&one.IntentNo, &one.ID)
			found[one] = struct{}{}
			return err
		},
	}, found
}

func read(query *gorm.DB, intentID string) ([]*Task, error) {
	var rows []row
	if err := query.Find(&rows).Error; err != nil {
		return nil, err
	}
	tasks := make([]*Task, 0, len(rows))
	for i := range rows {
		t, err := rows[i].task()
		if err != nil {
			return nil, err
		}
		t.IntentID = intentID
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// connect fills in DependsOn and Blocks of tasks of one intent: DependsOn in the order in which the request gave it, Blocks
// oldest first and up to maxBlocks.
func connect(tx *database.Tx, tasks []*Task) error {
	byID, ids := make(map[string]*Task, len(tasks)), make([]string, len(tasks))
	for i, t := range tasks {
		byID[t.ID], ids[i] = t, t.ID
	}
	edges := func(sql string, add func(task, dependency string), args ...any) database.Statement {
		return database.Statement{SQL: sql, Args: args, Scan: func(row database.Row) error {
			var task, dependency string
			err := row.Scan(&task, &dependency)
			add(task, dependency)
			return err
		}}
	}
	inTask, wanted := tx.In("d.task_id", ids)
	inDependsOn, _ := tx.In("d.depends_on", ids)
	intentNo := tasks[0].IntentNo
	return tx.Pipeline(
		edges("SELECT d.task_id, d.depends_on FROM task_dependencies AS d WHERE d.intent_no = ? AND "+inTask+
			" ORDER BY d.task_id, d.place",
			func(task, dependency string) { byID[task].DependsOn = append(byID[task].DependsOn, dependency) },
			intentNo, wanted),
		edges("SELECT task_id, depends_on FROM (SELECT d.task_id, d.depends_on,"+
			" row_number() OVER (PARTITION BY d.depends_on ORDER BY t.created_at) AS place FROM task_dependencies AS d"+
			" JOIN tasks AS t ON t.intent_no = d.intent_no AND t.id = d.task_id"+
			" WHERE d.intent_no = ? AND "+inDependsOn+") AS waiting WHERE place <= ? ORDER BY depends_on, place",
			func(task, dependency string) { byID[dependency].Blocks = append(byID[dependency].Blocks, task) },
			intentNo, wanted, maxBlocks),
	)
}

// insert stores a new task with its dependencies. keyID is the key under which it is made.
func insert(tx *database.Tx, t *Task, keyID string) error {
	r, err := rowOf(t)
	if err != nil {
		return err
	}
	if err := tx.Gorm().Create(&madeRow{Task: *r, MadeByKey: database.NullText(keyID)}).Error; err != nil {
		return err
	}
	n := len(t.DependsOn)
	nos, ids, places := make([]int64, n), make([]string, n), make([]int64, n)
	for i := range t.DependsOn {
		nos[i], ids[i], places[i] = t.IntentNo, t.ID, int64(i)
	}
	return tx.Pipeline(tx.Insert("task_dependencies",
		database.Column{Name: "intent_no", Values: nos},
		database.Column{Name: "task_id", Values: ids},
		database.Column{Name: "depends_on", Values: t.DependsOn},
		database.Column{Name: "place", Values: places},
	)...)
}

// save overwrites a task's row; its dependencies never change.
func save(tx *database.Tx, t *Task) error {
	r, err := rowOf(t)
	if err != nil {
		return err
	}
	return tx.Gorm().Model(r).Select("*").Updates(r).Error
}

// saveStatuses stores status and version of several tasks of one intent in one round trip.
func saveStatuses(tx *database.Tx, tasks []*Task) error {
	n := len(tasks)
	nos, ids, statuses, versions := make([]int64, n), make([]string, n), make([]string, n), make([]int64, n)
	for i, t := range tasks {
		nos[i], ids[i], statuses[i], versions[i] = t.IntentNo, t.ID, string(t.Status), t.Version
	}
	return tx.Pipeline(tx.Update("tasks",
		[]database.Column{{Name: "intent_no", Values: nos}, {Name: "id", Values: ids}},
		[]database.Column{{Name: "status", Values: statuses}, {Name: "version", Values: versions}},
	)...)
}

// released returns the pending tasks that depend on the given one and no longer wait for any task.
func released(tx *database.Tx, intentNo int64, id string) (ids []string, err error) {
	const query = `
		SELECT t.id
		FROM task_dependencies AS d JOIN tasks AS t ON t.intent_no = d.intent_no AND t.id = d.task_id
		WHERE d.intent_no = ? AND d.depends_on = ? AND t.status = 'pending' AND NOT EXISTS (
			SELECT 1
			FROM task_dependencies AS other
			JOIN tasks AS needed ON needed.intent_no = other.intent_no AND needed.id = other.depends_on
			WHERE other.intent_no = t.intent_no AND other.task_id = t.id
				AND needed.status NOT IN ('completed', 'skipped'))`
	err = tx.Pipeline(database.ReadValues(&ids, query, intentNo, id))
	return ids, err
}

func text(value *string) string {
	if value == nil {
		return ""
	}
	return *value
}

// IntentOf returns the id of a task's intent, and "" for an id that no task has.
func IntentOf(tx *database.Tx, taskID string) (intentID string, err error) {
	err = tx.Pipeline(database.ReadValue(&intentID,
		"SELECT i.id FROM tasks t JOIN intents i ON i.intent_no = t.intent_no WHERE t.id = ?", taskID))
	return intentID, err
}
