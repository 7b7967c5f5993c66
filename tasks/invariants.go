package tasks

import "openintent/internal/database"

// Invariants are the rules that the stored rows of this room keep.
func Invariants() []database.Invariant {
	return []database.Invariant{
		database.Refers("tasks", "intents", "intent_no"),
		{
			Rule: "each dependency is between two tasks of its intent",
			Of:   "task_dependencies",
			Broken: `FROM task_dependencies d WHERE (SELECT COUNT(*) FROM tasks t
				WHERE t.intent_no = d.intent_no AND t.id IN (d.task_id, d.depends_on)) <> 2`,
			At: []string{"d.intent_no", "d.task_id", "d.depends_on"},
		},
	}
}
