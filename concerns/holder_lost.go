package concerns

import (
	"fmt"
	"strconv"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/database"
)

// holderLost finds tasks that wait for agents that are presumed dead.
type holderLost struct{}

const (
	lostKind = openintentv1.ConcernKind_CONCERN_KIND_HOLDER_LOST
	// mostTasks bounds how many tasks of the intents of a caller are looked at for one whose agent is dead.
	mostTasks = 10_000
	// tasksOfDead begins what selects a task of a dead agent.
	tasksOfDead = "SELECT a.presumed_dead_at, a.agent_id, t.intent_no, t.id, t.name FROM "
)

// lostTask is a task of a dead agent.
type lostTask struct {
	intentNo        int64
	id, name, agent string
}

func (holderLost) lanes(l *look) ([]*lane, error) {
	if l.operator() && l.intentNo == 0 {
		return []*lane{allLost()}, nil
	}
	intentNos := []int64{l.intentNo}
	if !l.operator() {
		administered, err := l.administered()
		if err != nil || len(administered) == 0 {
			return nil, err
		}
		intentNos = administered
	}
	in, argument := l.tx.In("intent_no", intentNos)
	return []*lane{whole(int64(lostKind), func(found func(candidate)) database.Statement {
		return database.Statement{
			SQL: tasksOfDead + "(SELECT intent_no, id, name, assigned_agent FROM tasks WHERE " + in + " AND status IN ('pending', 'ready'," +
				" 'claimed', 'running', 'blocked', 'failed') AND assigned_agent IS NOT NULL AND completed_at IS NULL LIMIT " +
				strconv.Itoa(mostTasks) + ") AS t JOIN agents a ON a.agent_id = t.assigned_agent AND a.status = 'dead'" +
				" AND a.presumed_dead_at IS NOT NULL",
			Args: []any{argument},
			Scan: func(row database.Row) error {
				c, err := scanLost(row)
				found(*c)
				return err
			},
		}
	})}, nil
}

// allLost is the operator's lane. It goes through the dead agents, also those without a task, and of the tasks of each it reads the next few, so
// that it reads a bounded number of rows.
func allLost() *lane {
	return seeking(int64(lostKind), func(after place, limit int) (string, []any) {
		const next = "(SELECT max(x.id) FROM (SELECT t.id FROM tasks t WHERE t.assigned_agent = a.agent_id AND t.completed_at IS NULL" +
			" AND t.id > CASE WHEN a.presumed_dead_at = ? AND a.agent_id = ? THEN ? ELSE '' END ORDER BY t.id LIMIT ?) AS x)"
		return tasksOfDead + "agents a LEFT JOIN tasks t ON t.assigned_agent = a.agent_id AND t.completed_at IS NULL AND t.id <= " + next +
				" WHERE a.status = 'dead' AND a.presumed_dead_at IS NOT NULL AND (a.presumed_dead_at, a.agent_id) >= (?, ?)" +
				" AND (a.presumed_dead_at, a.agent_id, COALESCE(t.id, '')) > (?, ?, ?)" +
				" ORDER BY a.presumed_dead_at, a.agent_id, t.id LIMIT ?",
			[]any{after.since, after.text, after.more, limit, after.since, after.text, after.since, after.text, after.more, limit}
	}, func(row database.Row) (place, *candidate, error) {
		c, err := scanLost(row)
		if c.row == nil {
			return c.place, nil, err
		}
		return c.place, c, err
	})
}

func scanLost(row database.Row) (*candidate, error) {
	c := &candidate{place: place{kind: int64(lostKind)}}
	var task lostTask
	var intentNo *int64
	var id, name *string
	err := row.Scan(&c.since, &task.agent, &intentNo, &id, &name)
	c.text = task.agent
	if intentNo != nil {
		task.intentNo, task.id, task.name = *intentNo, *id, *name
		c.more, c.row = *id, task
	}
	return c, err
}

func (holderLost) judge(l *look, some []candidate) ([]*concern, error) {
	var intentNos []int64
	for _, c := range some {
		intentNos = append(intentNos, c.row.(lostTask).intentNo)
	}
	statement, heads := intents.PrepareHeads(l.tx, database.Distinct(intentNos))
	if err := l.tx.Pipeline(statement); err != nil {
		return nil, err
	}
	found := make([]*concern, len(some))
	for i, c := range some {
		task := c.row.(lostTask)
		head := heads().Get(task.intentNo)
		if head == nil || head.Ended() {
			continue
		}
		found[i] = &concern{
			kind: lostKind, since: database.Time(c.since), of: task.id, intentID: head.IntentID, agentID: task.agent, taskID: task.id,
			summary: fmt.Sprintf("The task %q waits for %s, which is presumed dead.", task.name, task.agent),
		}
		found[i].may(openintentv1.ConcernAction_CONCERN_ACTION_REASSIGN, !l.by.ReadOnly)
	}
	return found, nil
}
