package agents

import (
	"encoding/json"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/jsonvalue"
)

// row is an agent as the table stores it: times are in microseconds, and absent values are NULL.
type row struct {
	AgentID               string `gorm:"primaryKey"`
	RoleID                *string
	RoleSince             *int64
	RoleAhead             *string
	Name                  *string
	Capabilities          []byte
	MaxConcurrentTasks    int64
	CurrentLoad           int64
	Status                Status
	Endpoint              *string
	IntervalSeconds       int64
	UnhealthyAfterSeconds int64
	DeadAfterSeconds      int64
	Metadata              []byte
	RegisteredAt          int64
	LastHeartbeatAt       int64
	DrainingSince         *int64
	DrainTimeoutSeconds   *int64
	DepartedAt            *int64
	KeyID                 string
	Version               int64
	StatusNote            *string
	SilentSince           *int64
	PresumedDeadAt        *int64
	PresenceReason        *string
	Refusals              *int64
}

// TableName is for gorm.
func (row) TableName() string { return "agents" }

func (r *row) agent() (*Agent, error) {
	a := &Agent{
		ID:                  r.AgentID,
		RoleID:              text(r.RoleID),
		RoleSince:           database.TimeOrZero(r.RoleSince),
		roleAhead:           text(r.RoleAhead),
		Name:                text(r.Name),
		Endpoint:            text(r.Endpoint),
		MaxConcurrentTasks:  r.MaxConcurrentTasks,
		CurrentLoad:         r.CurrentLoad,
		Status:              r.Status,
		Silence:             Silence{Interval: r.IntervalSeconds, UnhealthyAfter: r.UnhealthyAfterSeconds, DeadAfter: r.DeadAfterSeconds},
		Metadata:            jsonvalue.Object(r.Metadata),
		RegisteredAt:        database.Time(r.RegisteredAt),
		LastHeartbeatAt:     database.Time(r.LastHeartbeatAt),
		DrainingSince:       database.TimeOrZero(r.DrainingSince),
		DrainTimeoutSeconds: r.DrainTimeoutSeconds,
		DepartedAt:          database.TimeOrZero(r.DepartedAt),
		KeyID:               r.KeyID,
		Version:             r.Version,
		Note:                text(r.StatusNote),
		refusals:            number(r.Refusals),
		Suspicion: Suspicion{
			SilentSince: database.TimeOrZero(r.SilentSince), DeadAt: database.TimeOrZero(r.PresumedDeadAt), Why: text(r.PresenceReason),
		},
	}
	return a, json.Unmarshal(r.Capabilities, &a.Capabilities)
}

func rowOf(a *Agent) (*row, error) {
	capabilities, err := json.Marshal(a.Capabilities)
	return &row{
		AgentID:               a.ID,
		RoleID:                database.NullText(a.RoleID),
		RoleSince:             database.NullMicros(a.RoleSince),
		RoleAhead:             database.NullText(a.roleAhead),
		Name:                  database.NullText(a.Name),
		Capabilities:          capabilities,
		MaxConcurrentTasks:    a.MaxConcurrentTasks,
		CurrentLoad:           a.CurrentLoad,
		Status:                a.Status,
		Endpoint:              database.NullText(a.Endpoint),
		IntervalSeconds:       a.Silence.Interval,
		UnhealthyAfterSeconds: a.Silence.UnhealthyAfter,
		DeadAfterSeconds:      a.Silence.DeadAfter,
		Metadata:              a.Metadata,
		RegisteredAt:          database.Micros(a.RegisteredAt),
		LastHeartbeatAt:       database.Micros(a.LastHeartbeatAt),
		DrainingSince:         database.NullMicros(a.DrainingSince),
		DrainTimeoutSeconds:   a.DrainTimeoutSeconds,
		DepartedAt:            database.NullMicros(a.DepartedAt),
		KeyID:                 a.KeyID,
		Version:               a.Version,
		StatusNote:            database.NullText(a.Note),
		SilentSince:           database.NullMicros(a.SilentSince),
		PresumedDeadAt:        database.NullMicros(a.DeadAt),
		PresenceReason:        database.NullText(a.Why),
		Refusals:              database.NullInt(a.refusals),
	}, err
}

// find reads an agent without locking it.
func find(tx *database.Tx, id string) (*Agent, error) { return one(tx.Gorm(), id) }

// lock reads an agent and locks its row until the transaction ends.
func lock(tx *database.Tx, id string) (*Agent, error) {
	return one(tx.Gorm().Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}), id)
}

func one(query *gorm.DB, id string) (*Agent, error) {
	if caller.CheckName("agent_id", id) != nil {
		return nil, ErrNotFound
	}
	found, err := read(query.Where("agent_id = ?", id))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, ErrNotFound
	}
	return found[0], nil
}

// lockAvailable locks the given agents in the order of their ids, except those that another transaction has locked.
func lockAvailable(tx *database.Tx, ids []string) ([]*Agent, error) {
	condition, list := tx.In("agent_id", ids)
	return read(tx.Gorm().Where(condition, list).Order("agent_id").Clauses(clause.Locking{
		Strength: clause.LockingStrengthUpdate, Options: clause.LockingOptionsSkipLocked,
	}))
}

// overdue returns the ids of agents that may be due for another status, and of agents with times ahead of the clock,
// beginning after the given id.
func overdue(tx *database.Tx, h hearing, after string, limit int) ([]string, error) {
	const query = `
		SELECT agent_id FROM agents
		WHERE status IN ('active', 'draining', 'unhealthy') AND agent_id > ? AND (
			(status = 'active' AND last_heartbeat_at + unhealthy_after_seconds * 1000000 < ?
				AND unhealthy_after_seconds * 1000000 < ?)
			OR (status = 'unhealthy' AND last_heartbeat_at + dead_after_seconds * 1000000 < ?
				AND dead_after_seconds * 1000000 < ?)
			OR (status = 'draining' AND draining_since + drain_timeout_seconds * 1000000 <= ?)
			OR (status = 'draining' AND drain_timeout_seconds IS NULL
				AND last_heartbeat_at + dead_after_seconds * 1000000 < ? AND dead_after_seconds * 1000000 < ?)
			OR last_heartbeat_at > ? OR draining_since > ?)
		ORDER BY agent_id LIMIT ?`
	var ids []string
	at, heard, ahead := database.Micros(h.now), h.now.Sub(h.since).Microseconds(), database.Micros(h.now.Add(clockSkew))
	arguments := []any{after, at, heard, at, heard, at, at, heard, ahead, ahead, limit}
	err := tx.Pipeline(database.ReadValues(&ids, query, arguments...))
	return ids, err
}

func read(query *gorm.DB) ([]*Agent, error) {
	var rows []row
	if err := query.Find(&rows).Error; err != nil {
		return nil, err
	}
	agents := make([]*Agent, 0, len(rows))
	for i := range rows {
		a, err := rows[i].agent()
		if err != nil {
			return nil, err
		}
		agents = append(agents, a)
	}
	return agents, nil
}

// insert stores a first registration. If inserted is false, a committed record with this id exists already.
func insert(tx *database.Tx, a *Agent) (inserted bool, err error) {
	r, err := rowOf(a)
	if err != nil {
		return false, err
	}
	result := tx.Gorm().Clauses(clause.OnConflict{DoNothing: true}).Create(r)
	return result.RowsAffected == 1, result.Error
}

// save overwrites the row of an agent that the transaction has locked.
func save(tx *database.Tx, a *Agent) error {
	r, err := rowOf(a)
	if err != nil {
		return err
	}
	return tx.Gorm().Model(r).Select("*").Updates(r).Error
}

func text(value *string) string {
	if value == nil {
		return ""
	}
	return *value
}

func number(value *int64) int64 {
	if value == nil {
		return 0
	}
	return *value
}
