package intents

import (
	"time"

	"openintent/internal/database"
)

// Rules returns an intent's rules as of an epoch that the transaction has read from the head. Under the head's lock, or in one
// snapshot, the rules belong to that epoch. Otherwise they may be newer, and the cache does not keep them.
func (s *Service) Rules(tx *database.Tx, intentNo, epoch int64) (*Rules, error) {
	if rules, ok := s.rules.Get(tx, intentNo, epoch, intentNo); ok {
		return rules, nil
	}
	loaded, err := s.loadRules(tx, []int64{intentNo})
	if err != nil {
		return nil, err
	}
	rules, found := loaded[intentNo]
	if !found {
		return nil, ErrIntentNotFound
	}
	s.rules.Add(tx, intentNo, epoch, intentNo, rules)
	return rules, nil
}

// KeptRules returns an intent's rules as of an epoch from the cache, if they are there. The caller knows from a head that the
// epoch was committed.
func (s *Service) KeptRules(intentNo, epoch int64) (rules *Rules, ok bool) {
	return s.rules.Kept(epoch, intentNo)
}

// AllRules is Rules for several intents in one round trip, as of the heads that the transaction has read.
func (s *Service) AllRules(tx *database.Tx, heads Heads) (map[int64]*Rules, error) {
	all := make(map[int64]*Rules, len(heads))
	epochs := make(map[int64]int64)
	var missing []int64
	for _, head := range heads {
		rules, ok := s.rules.Get(tx, head.IntentNo, head.Epoch, head.IntentNo)
		if ok {
			all[head.IntentNo] = rules
			continue
		}
		missing = append(missing, head.IntentNo)
		epochs[head.IntentNo] = head.Epoch
	}
	if len(missing) == 0 {
		return all, nil
	}
	loaded, err := s.loadRules(tx, missing)
	if err != nil {
		return nil, err
	}
	for intentNo, rules := range loaded {
		s.rules.Add(tx, intentNo, epochs[intentNo], intentNo, rules)
		all[intentNo] = rules
	}
	return all, nil
}

// loadRules reads the rules of intents in one round trip; the result lacks intents that do not exist.
func (s *Service) loadRules(tx *database.Tx, intentNos []int64) (map[int64]*Rules, error) {
	loaded := make(map[int64]*Rules, len(intentNos))
	of := func(intentNo int64) *Rules {
		if rules := loaded[intentNo]; rules != nil {
			return rules
		}
		return s.newRules() // for an intent that was created after the first statement
	}
	in, argument := tx.In("intent_no", intentNos)
	read := func(columns, condition string, scan func(row database.Row) error) database.Statement {
		return database.Statement{SQL: "SELECT " + columns + " WHERE " + in + condition, Args: []any{argument}, Scan: scan}
	}
	err := tx.Pipeline(
		read("intent_no, id, created_by, default_policy FROM intents", "", func(row database.Row) error {
			rules := s.newRules()
			var intentNo int64
			var policy *string
			err := row.Scan(&intentNo, &rules.intentID, &rules.creator, &policy)
			rules.policy = Policy(text(policy))
			loaded[intentNo] = rules
			return err
		}),
		read("intent_no, principal_id, permission, granted_by, expires_at FROM access_entries", " AND principal_type <> 'group'",
			func(row database.Row) error {
				var intentNo int64
				var principal, permission, grantedBy string
				var expiresAt *int64
				if err := row.Scan(&intentNo, &principal, &permission, &grantedBy, &expiresAt); err != nil {
					return err
				}
				entry := AccessEntry{Permission: parsePermission(permission), GrantedBy: grantedBy, ExpiresAt: database.TimeOrZero(expiresAt)}
				entries := of(intentNo).entries
				entries[principal] = append(entries[principal], entry)
				return nil
			}),
		read("intent_no, agent_id FROM assignments", "", func(row database.Row) error {
			var intentNo int64
			var agent string
			if err := row.Scan(&intentNo, &agent); err != nil {
				return err
			}
			of(intentNo).assigned[agent] = struct{}{}
			return nil
		}),
		read("intent_no, agent_id, status, heartbeat_interval_seconds, last_heartbeat_at, expires_at FROM coordinators",
			" AND status NOT IN ('failed_over', 'completed')", func(row database.Row) error {
				c, err := scanRight(row)
				rules := of(c.IntentNo)
				rules.coordinators = append(rules.coordinators, c)
				return err
			}),
	)
	return loaded, err
}

func (s *Service) newRules() *Rules {
	return &Rules{
		closedWithoutList: s.defaultAccess == PolicyClosed,
		entries:           make(map[string][]AccessEntry), assigned: make(map[string]struct{}),
	}
}

// scanRight reads the part of a coordinator that decides about its rights.
func scanRight(row database.Row) (c Coordinator, err error) {
	var interval, lastHeartbeatAt int64
	var expiresAt *int64
	err = row.Scan(&c.IntentNo, &c.AgentID, &c.Status, &interval, &lastHeartbeatAt, &expiresAt)
	c.HeartbeatInterval = time.Duration(interval) * time.Second
	c.LastHeartbeatAt, c.ExpiresAt = database.Time(lastHeartbeatAt), database.TimeOrZero(expiresAt)
	return c, err
}

// PrepareNaming returns the statement that reads which intents name an agent or once did, lowest number first, and where it
// puts their numbers. An intent names an agent as its creator, in an assignment, in an access entry, or as a coordinator, even
// a past one. Rules.Names decides whether an intent still does. The statement leaves out purged intents, because there are
// more and more of them.
func PrepareNaming(agentID string) (database.Statement, *[]int64) {
	naming := new([]int64)
	return database.Statement{
		SQL: "SELECT n.intent_no FROM (SELECT intent_no FROM intents WHERE created_by = ?" +
			" UNION SELECT intent_no FROM assignments WHERE agent_id = ?" +
			" UNION SELECT intent_no FROM access_entries WHERE principal_id = ? AND principal_type <> 'group'" +
			" UNION SELECT intent_no FROM coordinators WHERE agent_id = ?) AS n" +
			" WHERE " + NotPurged("n.intent_no") + " ORDER BY n.intent_no",
		Args: []any{agentID, agentID, agentID, agentID},
		Scan: func(row database.Row) error {
			var intentNo int64
			err := row.Scan(&intentNo)
			*naming = append(*naming, intentNo)
			return err
		},
	}, naming
}

// PrepareNamed is the reverse of PrepareNaming: it returns the statement that reads which agents the given intents name or once
// did, and calls the function for each of them.
func PrepareNamed(tx *database.Tx, intentNos []int64, named func(intentNo int64, agentID string)) database.Statement {
	in, argument := tx.In("intent_no", intentNos)
	return database.Statement{
		SQL: "SELECT intent_no, created_by FROM intents WHERE " + in +
			" UNION SELECT intent_no, agent_id FROM assignments WHERE " + in +
			" UNION SELECT intent_no, principal_id FROM access_entries WHERE " + in + " AND principal_type <> 'group'" +
			" UNION SELECT intent_no, agent_id FROM coordinators WHERE " + in,
		Args: []any{argument, argument, argument, argument},
		Scan: func(row database.Row) error {
			var intentNo int64
			var agentID string
			err := row.Scan(&intentNo, &agentID)
			named(intentNo, agentID)
			return err
		},
	}
}
