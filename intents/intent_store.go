package intents

import (
	"encoding/json"

	"openintent/internal/database"
	"openintent/internal/jsonvalue"
)

// intentRow is an intent without the values that its head keeps.
type intentRow struct {
	IntentNo         int64 `gorm:"primaryKey;autoIncrement:false"`
	ID               string
	Title            string
	Description      string
	CreatedBy        string
	Constraints      []byte
	State            []byte
	Confidence       float64
	Version          int64
	ParentIntentID   *string
	DependsOn        []byte
	GovernancePolicy []byte
	DefaultPolicy    *string
	CreatedAt        int64 `gorm:"autoCreateTime:false"`
	UpdatedAt        int64 `gorm:"autoUpdateTime:false"`
}

func (intentRow) TableName() string { return "intents" }

// madeIntentRow is a new intent. MadeByKey is NULL for one that the server makes.
type madeIntentRow struct {
	Intent    intentRow `gorm:"embedded"`
	MadeByKey *string
}

func (madeIntentRow) TableName() string { return "intents" }

type headRow struct {
	IntentNo     int64 `gorm:"primaryKey;autoIncrement:false"`
	Status       string
	EndedAt      *int64
	ResumedAt    int64
	LastPosition int64
	LastSequence int64
	LastChannel  int64
	LastHash     *string
	LastAt       int64
	Epoch        int64
	Tag          int64
	AudienceTag  int64
}

func (headRow) TableName() string { return "intent_heads" }

// insertIntent stores a new intent and holds its new head, as if the head had been locked. No other transaction can know the
// intent yet. keyID is the key under which it is made, "" for none.
func insertIntent(tx *database.Tx, intent *Intent, keyID string) (*Head, error) {
	dependsOn, err := json.Marshal(intent.DependsOn)
	if err != nil {
		return nil, err
	}
	var newest int64
	if err := tx.Pipeline(database.ReadValue(&newest, "SELECT COALESCE(MAX(intent_no), 0) FROM intents")); err != nil {
		return nil, err
	}
	row := madeIntentRow{MadeByKey: database.NullText(keyID), Intent: intentRow{
		IntentNo:         database.Further(newest), // a simultaneous transaction takes another random step
		ID:               intent.ID,
		Title:            intent.Title,
		Description:      intent.Description,
		CreatedBy:        intent.CreatedBy,
		Constraints:      intent.Constraints,
		State:            intent.State,
		Confidence:       intent.Confidence,
		Version:          intent.Version,
		ParentIntentID:   database.NullText(intent.ParentID),
		DependsOn:        dependsOn,
		GovernancePolicy: intent.GovernancePolicy,
		CreatedAt:        database.Micros(intent.CreatedAt),
		UpdatedAt:        database.Micros(intent.UpdatedAt),
	}}
	if err := tx.Gorm().Create(&row).Error; err != nil {
		return nil, err
	}
	intent.No = row.Intent.IntentNo
	if err := tx.Gorm().Create(&headRow{IntentNo: intent.No, Status: string(intent.Status)}).Error; err != nil {
		return nil, err
	}
	head := &Head{IntentNo: intent.No, IntentID: intent.ID, Status: intent.Status, Epoch: database.Further(0)}
	lockedHeadsOf(tx).add(head)
	return head, nil
}

const intentColumns = "i.intent_no, i.id, i.title, i.description, h.status, i.created_by, i.constraints, i.state, i.confidence," +
	" i.version, i.parent_intent_id, i.depends_on, i.governance_policy, i.created_at, i.updated_at"

const intentTables = " FROM intents AS i JOIN intent_heads AS h ON h.intent_no = i.intent_no"

// scanIntent reads a row of intentColumns.
func scanIntent(row database.Row) (*Intent, error) {
	var intent Intent
	var status string
	var constraints, state, dependsOn, governance []byte
	var parent *string
	var createdAt, updatedAt int64
	err := row.Scan(&intent.No, &intent.ID, &intent.Title, &intent.Description, &status, &intent.CreatedBy, &constraints, &state,
		&intent.Confidence, &intent.Version, &parent, &dependsOn, &governance, &createdAt, &updatedAt)
	if err != nil {
		return nil, err
	}
	intent.Status, intent.ParentID = Status(status), text(parent)
	intent.Constraints, intent.State = jsonvalue.Object(constraints), jsonvalue.Object(state)
	intent.GovernancePolicy = jsonvalue.Object(governance)
	intent.CreatedAt, intent.UpdatedAt = database.Time(createdAt), database.Time(updatedAt)
	return &intent, json.Unmarshal(dependsOn, &intent.DependsOn)
}

// loadIntent reads an intent by its number.
func loadIntent(tx *database.Tx, intentNo int64) (*Intent, error) {
	intents, err := selectIntents(tx, " WHERE i.intent_no = ?", intentNo)
	if err != nil {
		return nil, err
	}
	if len(intents) == 0 {
		return nil, ErrIntentNotFound
	}
	return intents[0], nil
}

// intentSize is an SQL expression for the bytes that an intent takes on a page.
const intentSize = "400 + octet_length(i.title) + octet_length(i.description) + octet_length(i.constraints)" +
	" + octet_length(i.state) + octet_length(i.depends_on) + COALESCE(octet_length(i.governance_policy), 0)"

func selectIntents(tx *database.Tx, selection string, args ...any) (intents []*Intent, err error) {
	err = tx.Pipeline(database.Statement{
		SQL: "SELECT " + intentColumns + intentTables + selection, Args: args,
		Scan: func(row database.Row) error {
			intent, err := scanIntent(row)
			intents = append(intents, intent)
			return err
		},
	})
	return intents, err
}

// updateIntent stores an intent's state, its version and the time of the change.
func updateIntent(tx *database.Tx, intent *Intent) error {
	return tx.Gorm().Model(&intentRow{}).Where("intent_no = ?", intent.No).Updates(map[string]any{
		"state":      []byte(intent.State),
		"version":    intent.Version,
		"updated_at": database.Micros(intent.UpdatedAt),
	}).Error
}

// hasUnmet reports whether an intent that this one depends on, or a part of this one, is not completed. It reads their heads
// without locking them: a completed intent stays completed.
func hasUnmet(tx *database.Tx, intentID string, dependsOn []string) (bool, error) {
	condition, argument := tx.In("i.id", dependsOn)
	var unmet int64
	err := tx.Pipeline(database.ReadValue(&unmet,
		"SELECT count(*)"+intentTables+" WHERE (i.parent_intent_id = ? OR "+condition+") AND h.status <> ?",
		intentID, argument, string(StatusCompleted)))
	return unmet > 0, err
}
