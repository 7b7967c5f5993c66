package intents

import "openintent/database"

type assignmentRow struct {
	IntentNo   int64  `gorm:"primaryKey;autoIncrement:false"`
	AgentID    string `gorm:"primaryKey"`
	ID         string
	Role       string
	AssignedAt int64
}

func (assignmentRow) TableName() string { return "assignments" }

// listAssignments reads an intent's assignments in order of assignment.
func listAssignments(tx *database.Tx, head *Head) ([]Assignment, error) {
	var rows []assignmentRow
	err := tx.Gorm().Where("intent_no = ?", head.IntentNo).Order("assigned_at, agent_id").Find(&rows).Error
	if err != nil {
		return nil, err
	}
	assignments := make([]Assignment, len(rows))
	for i, row := range rows {
		assignments[i] = row.assignment(head.IntentID)
	}
	return assignments, nil
}

// findAssignment reads an agent's assignment; nil when there is none.
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

// updateAssignment stores an assignment's role, which is all that can change.
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
