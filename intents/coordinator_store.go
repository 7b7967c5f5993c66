package intents

import (
	"time"

	"gorm.io/gorm"

	"openintent/internal/database"
	"openintent/internal/jsonvalue"
	"openintent/internal/pages"
)

type coordinatorRow struct {
	IntentNo                 int64  `gorm:"primaryKey;autoIncrement:false"`
	ID                       string `gorm:"primaryKey"`
	AgentID                  string
	Role                     string
	SupervisorID             *string
	CoordinatorType          string
	Status                   string
	Guardrails               []byte
	HeartbeatIntervalSeconds int64
	LastHeartbeatAt          int64
	GrantedAt                int64
	ExpiresAt                *int64
	Metadata                 []byte
}

func (coordinatorRow) TableName() string { return "coordinators" }

func (row coordinatorRow) coordinator(intentID string) *Coordinator {
	return &Coordinator{
		IntentNo:          row.IntentNo,
		ID:                row.ID,
		IntentID:          intentID,
		AgentID:           row.AgentID,
		Role:              row.Role,
		SupervisorID:      row.SupervisorID,
		Type:              CoordinatorType(row.CoordinatorType),
		Status:            CoordinatorStatus(row.Status),
		Guardrails:        jsonvalue.Object(row.Guardrails),
		HeartbeatInterval: time.Duration(row.HeartbeatIntervalSeconds) * time.Second,
		LastHeartbeatAt:   database.Time(row.LastHeartbeatAt),
		GrantedAt:         database.Time(row.GrantedAt),
		ExpiresAt:         database.TimeOrZero(row.ExpiresAt),
		Metadata:          jsonvalue.Object(row.Metadata),
	}
}

func insertCoordinator(tx *database.Tx, c *Coordinator) error {
	return tx.Gorm().Create(&coordinatorRow{
		IntentNo:                 c.IntentNo,
		ID:                       c.ID,
		AgentID:                  c.AgentID,
		Role:                     c.Role,
		SupervisorID:             c.SupervisorID,
		CoordinatorType:          string(c.Type),
		Status:                   string(c.Status),
		Guardrails:               c.Guardrails,
		HeartbeatIntervalSeconds: int64(c.HeartbeatInterval / time.Second),
		LastHeartbeatAt:          database.Micros(c.LastHeartbeatAt),
		GrantedAt:                database.Micros(c.GrantedAt),
		ExpiresAt:                database.NullMicros(c.ExpiresAt),
		Metadata:                 c.Metadata,
	}).Error
}

// updateCoordinator stores a coordinator's status and last heartbeat; nothing else in it can change.
func updateCoordinator(tx *database.Tx, c *Coordinator) error {
	return tx.Gorm().Model(&coordinatorRow{}).Where("intent_no = ? AND id = ?", c.IntentNo, c.ID).
		Updates(map[string]any{
			"status":            string(c.Status),
			"last_heartbeat_at": database.Micros(c.LastHeartbeatAt),
		}).Error
}

// listCoordinators reads a page of an intent's coordinators, oldest first, past ones included.
func listCoordinators(tx *database.Tx, page *pages.Page, head *Head, after place) ([]*Coordinator, error) {
	const size = "400 + octet_length(agent_id) + octet_length(role) + COALESCE(octet_length(supervisor_id), 0)" +
		" + COALESCE(octet_length(guardrails), 0) + octet_length(metadata)"
	const condition, order = "intent_no = ? AND (granted_at, id) > (?, ?)", "granted_at, id"
	args := []any{head.IntentNo, after.at, after.id}
	fit, err := page.Fit(tx, size, " FROM coordinators WHERE "+condition+" ORDER BY "+order, args...)
	if err != nil {
		return nil, err
	}
	return selectCoordinators(tx.Gorm().Where(condition, args...).Order(order).Limit(fit), head)
}

// liveCoordinators reads an intent's coordinators, oldest first, except those whose stored status is failed over or completed.
func liveCoordinators(tx *database.Tx, head *Head) ([]*Coordinator, error) {
	return selectCoordinators(tx.Gorm().
		Where("intent_no = ? AND status NOT IN ('failed_over', 'completed')", head.IntentNo).Order("granted_at, id"), head)
}

func selectCoordinators(query *gorm.DB, head *Head) ([]*Coordinator, error) {
	var rows []coordinatorRow
	if err := query.Find(&rows).Error; err != nil {
		return nil, err
	}
	coordinators := make([]*Coordinator, len(rows))
	for i, row := range rows {
		coordinators[i] = row.coordinator(head.IntentID)
	}
	return coordinators, nil
}

// findIntentsHeardAhead returns some of the intents with a coordinator that has not ended and was heard after the given time.
func findIntentsHeardAhead(tx *database.Tx, after time.Time, limit int) (intentNos []int64, err error) {
	err = tx.Pipeline(database.ReadValues(&intentNos, "SELECT DISTINCT intent_no FROM coordinators"+
		" WHERE last_heartbeat_at > ? AND status NOT IN ('failed_over', 'completed') ORDER BY intent_no LIMIT ?",
		database.Micros(after), limit))
	return intentNos, err
}

// findIntentOfCoordinator returns the intent that a coordinator was made for, or zero if there is no such coordinator.
func findIntentOfCoordinator(tx *database.Tx, coordinatorID string) (intentNo int64, err error) {
	err = tx.Pipeline(database.ReadValue(&intentNo, "SELECT intent_no FROM coordinators WHERE id = ?", coordinatorID))
	return intentNo, err
}

// IntentOfCoordinator returns the id of the intent that a coordinator was made for, and "" if there is no such coordinator.
func IntentOfCoordinator(tx *database.Tx, coordinatorID string) (intentID string, err error) {
	err = tx.Pipeline(database.ReadValue(&intentID,
		"SELECT i.id FROM coordinators c JOIN intents i ON i.intent_no = c.intent_no WHERE c.id = ?", coordinatorID))
	return intentID, err
}

// findCoordinator reads a coordinator of an intent, and refuses if the intent has no such coordinator.
func findCoordinator(tx *database.Tx, head *Head, coordinatorID string) (*Coordinator, error) {
	var rows []coordinatorRow
	err := tx.Gorm().Where("intent_no = ? AND id = ?", head.IntentNo, coordinatorID).Find(&rows).Error
	switch {
	case err != nil:
		return nil, err
	case len(rows) == 0:
		return nil, errCoordinatorNotFound
	}
	return rows[0].coordinator(head.IntentID), nil
}
