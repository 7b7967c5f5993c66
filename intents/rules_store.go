package intents

import (
	"time"

	"openintent/caller"
	"openintent/database"
)

// Rules gives an intent's rules as of an epoch that the transaction has read from the head. Under the head's lock or in
// one snapshot, what is read here belongs to that epoch; else it may be newer, and is not kept.
func (s *Service) Rules(tx *database.Tx, intentNo, epoch int64) (*Rules, error) {
	if rules, ok := s.rules.Get(tx, intentNo, epoch, intentNo); ok {
		return rules, nil
	}
	rules, err := loadRules(tx, intentNo)
	if err != nil {
		return nil, err
	}
	s.rules.Add(tx, intentNo, epoch, intentNo, rules)
	return rules, nil
}

func loadRules(tx *database.Tx, intentNo int64) (*Rules, error) {
	var rules *Rules
	entries := make(map[string][]AccessEntry)
	assigned := make(map[string]struct{})
	var coordinators []Coordinator
	args := []any{intentNo}
	err := tx.Pipeline(
		database.Statement{
			SQL:  "SELECT id, created_by, default_policy FROM intents WHERE intent_no = ?",
			Args: args,
			Scan: func(row database.Row) error {
				rules = &Rules{}
				var policy *string
				if err := row.Scan(&rules.intentID, &rules.creator, &policy); err != nil {
					return err
				}
				rules.policy = Policy(text(policy))
				return nil
			},
		},
		database.Statement{
			SQL: "SELECT principal_id, permission, expires_at FROM access_entries" +
				" WHERE intent_no = ? AND principal_type <> 'group'",
			Args: args,
			Scan: func(row database.Row) error {
				var principal, permission string
				var expiresAt *int64
				if err := row.Scan(&principal, &permission, &expiresAt); err != nil {
					return err
				}
				entries[principal] = append(entries[principal], AccessEntry{
					Permission: parsePermission(permission),
					ExpiresAt:  optionalTime(expiresAt),
				})
				return nil
			},
		},
		database.Statement{
			SQL:  "SELECT agent_id FROM assignments WHERE intent_no = ?",
			Args: args,
			Scan: func(row database.Row) error {
				var agent string
				if err := row.Scan(&agent); err != nil {
					return err
				}
				assigned[agent] = struct{}{}
				return nil
			},
		},
		database.Statement{
			SQL: "SELECT agent_id, status, heartbeat_interval_seconds, last_heartbeat_at, expires_at FROM coordinators" +
				" WHERE intent_no = ? AND status NOT IN ('failed_over', 'completed')",
			Args: args,
			Scan: func(row database.Row) error {
				var agent, status string
				var interval, lastHeartbeatAt int64
				var expiresAt *int64
				if err := row.Scan(&agent, &status, &interval, &lastHeartbeatAt, &expiresAt); err != nil {
					return err
				}
				coordinators = append(coordinators, Coordinator{
					AgentID:           agent,
					Status:            CoordinatorStatus(status),
					HeartbeatInterval: time.Duration(interval) * time.Second,
					LastHeartbeatAt:   database.Time(lastHeartbeatAt),
					ExpiresAt:         optionalTime(expiresAt),
				})
				return nil
			},
		},
	)
	switch {
	case err != nil:
		return nil, err
	case rules == nil:
		return nil, ErrIntentNotFound
	}
	rules.entries, rules.assigned, rules.coordinators = entries, assigned, coordinators
	return rules, nil
}

// reader is for whom and when lists of intents and of events across intents are read.
type reader struct {
	agent    string
	operator bool
	now      time.Time
}

func readerFor(c caller.Caller, now time.Time) reader {
	return reader{agent: c.Agent, operator: c.IsOperator, now: now}
}

// mayRead says in SQL, about the intent i, what Rules.Level says in Go: that the reader has at least read access. It
// begins with AND, and is empty for the operator. A test holds the two equal.
func (r reader) mayRead() (condition string, args []any) {
	if r.operator {
		return "", nil
	}
	now := database.Micros(r.now)
	return ` AND (i.default_policy IS NULL OR i.default_policy = 'open' OR i.created_by = ?
		OR EXISTS (SELECT 1 FROM assignments AS a WHERE a.intent_no = i.intent_no AND a.agent_id = ?)
		OR EXISTS (SELECT 1 FROM access_entries AS x WHERE x.intent_no = i.intent_no AND x.principal_id = ?
			AND x.principal_type <> 'group' AND (x.expires_at IS NULL OR x.expires_at > ?))
		OR EXISTS (SELECT 1 FROM coordinators AS c WHERE c.intent_no = i.intent_no AND c.agent_id = ?
			AND c.status IN ('active', 'completing') AND (c.expires_at IS NULL OR c.expires_at > ?)
			AND c.last_heartbeat_at + 2000000 * c.heartbeat_interval_seconds >= ?))`,
		[]any{r.agent, r.agent, r.agent, now, r.agent, now, now}
}

// PrepareNaming gives the statement that reads which intents have ever named an agent, lowest first, and where it puts
// them: as creator, in an assignment, in an access entry or as coordinator, even one that is past. Rules.Names decides
// whether an intent still does.
func PrepareNaming(tx *database.Tx, agentID string) (database.Statement, *[]int64) {
	naming := new([]int64)
	return database.Statement{
		SQL: "SELECT intent_no FROM intents WHERE created_by = ?" +
			" UNION SELECT intent_no FROM assignments WHERE agent_id = ?" +
			" UNION SELECT intent_no FROM access_entries WHERE principal_id = ? AND principal_type <> 'group'" +
			" UNION SELECT intent_no FROM coordinators WHERE agent_id = ? ORDER BY intent_no",
		Args: []any{agentID, agentID, agentID, agentID},
		Scan: func(row database.Row) error {
			var intentNo int64
			err := row.Scan(&intentNo)
			*naming = append(*naming, intentNo)
			return err
		},
	}, naming
}
