package intents

import (
	"time"

	"openintent/internal/jsonvalue"
)

// Intent is what a group of agents wants to reach together.
type Intent struct {
	No               int64
	ID               string
	Title            string
	Description      string
	Status           Status
	CreatedBy        string
	Constraints      jsonvalue.Object
	State            jsonvalue.Object
	Confidence       float64 // 0 to 100
	Version          int64   // from 1; grows with each change of state or status
	ParentID         string  // empty when the intent is not a part of another
	DependsOn        []string
	GovernancePolicy jsonvalue.Object // absent when none was given
	CreatedAt        time.Time
	UpdatedAt        time.Time
}

// Assignment is an agent's part in an intent. Its role is free text and grants nothing by itself.
type Assignment struct {
	ID         string
	IntentID   string
	AgentID    string
	Role       string
	AssignedAt time.Time
}
