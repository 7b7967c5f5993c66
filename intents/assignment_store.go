package intents

import (
	"openintent/internal/database"
	"openintent/internal/pages"
)

// place is the place of an entry in a list that is ordered by time, and by name among entries of the same time.
type place struct {
	at int64 // in microseconds
	id string
}

type assignmentRow struct {
	IntentNo   int64  `gorm:"primaryKey;autoIncrement:false"`
	AgentID    string `gorm:"primaryKey"`
	ID         string
	Role       string
	AssignedAt int64
}

func (assignmentRow) TableName() string { return "assignments" }

// listAssignments reads a page of an intent's assignments in order of assignment.
func listAssignments(tx *database.Tx, page *pages.Page, head *Head, after place) ([]Assignment, error) {
	const size = "200 + octet_length(agent_id) + octet_length(role)"
	const condition, order = "intent_no = ? AND (assigned_at, agent_id) > (?, ?)", "assigned_at, agent_id"
	args := []any{head.IntentNo, after.at, after.id}
	fit, err := page.Fit(tx, size, " FROM assignments WHERE "+condition+" ORDER BY "+order, args...)
	if err != nil {
		return nil, err
	}
	var rows []assignmentRow
	if err := tx.Gorm().Where(condition, args...).Order(order).Limit(fit).Find(&rows).Error; err != nil {
		return nil, err
	}
	assignments := make([]Assignment, len(rows))
	for i, row := range rows {
		assignments[i] = row.assignment(head.IntentID)
	}
	return assignments, nil
}

// findAssignment reads an agent's assignment; it returns nil if there is none.
func findAssignment(tx *database.Tx, head *Head, agentID string) (*Assignment, error) {
	var rows []assignmentRow
	err := tx.Gorm().Where("intent_no = ? AND agent_id = ?", head.IntentNo, agentID).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	found := rows[0].assignment(head.IntentID)
	return &found, nil
}

func insertAssignment(tx *database.Tx, head *Head, a Assignment) error {
	return tx.Gorm().Create(&assignmentRow{
		IntentNo: head.IntentNo, AgentID: a.AgentID, ID: a.ID, Role: a.Role, AssignedAt: database.Micros(a.AssignedAt),
	}).Error
}

// updateAssignment stores an assignment's role; nothing else in it can change.
func updateAssignment(tx *database.Tx, head *Head, a Assignment) error {
	return tx.Gorm().Model(&assignmentRow{}).Where("intent_no = ? AND agent_id = ?", head.IntentNo, a.AgentID).
		Update("role", a.Role).Error
}

func deleteAssignment(tx *database.Tx, head *Head, agentID string) error {
	return tx.Gorm().Where("intent_no = ? AND agent_id = ?", head.IntentNo, agentID).Delete(&assignmentRow{}).Error
}

func (row assignmentRow) assignment(intentID string) Assignment {
	return Assignment{
		ID: row.ID, IntentID: intentID, AgentID: row.AgentID, Role: row.Role, AssignedAt: database.Time(row.AssignedAt),
	}
}
