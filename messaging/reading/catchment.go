package reading

import (
	"maps"
	"slices"
	"time"

	"openintent/channels"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
)

// ReachingIntents returns the intents from which something may reach an agent, lowest first: intents that have named it,
// that list it in a channel, where it has sent, or where it or its role was addressed. Pass no role for an agent that holds
// none. Whether something does reach the agent is decided for each message. Intents that were purged are left out.
func ReachingIntents(tx *database.Tx, agentID, roleID string) ([]int64, error) {
	reached, statements := PrepareCatchment(tx, agentID, roleID)
	if err := tx.Pipeline(statements...); err != nil {
		return nil, err
	}
	return reached.Intents(), nil
}

// ReachedBy is ReachingIntents the other way round: it calls the function for each name that something may reach in some
// intents, an agent or role:<role_id>. Agents that an intent names or lists are read only for the ruled intents.
func ReachedBy(tx *database.Tx, intentNos, ruled []int64, reached func(intentNo int64, name string)) error {
	in, argument := tx.In("intent_no", intentNos)
	statements := []database.Statement{{
		SQL:  "SELECT DISTINCT intent_no, name FROM audiences WHERE " + in,
		Args: []any{argument},
		Scan: func(row database.Row) error {
			var intentNo int64
			var name string
			err := row.Scan(&intentNo, &name)
			reached(intentNo, name)
			return err
		},
	}}
	if len(ruled) > 0 {
		statements = append(statements, intents.PrepareNamed(tx, ruled, reached), channels.PrepareListed(tx, ruled, reached))
	}
	return tx.Pipeline(statements...)
}

// Catchment says where something may reach an agent, and what is known about that without reading the intents.
type Catchment struct {
	naming *[]int64            // intents that have ever named the agent
	Listed map[int64]time.Time // when a channel of the intent last began to list the agent
	Spoken map[int64]bool      // intents where the agent or its role was addressed; true where the agent has sent
}

// PrepareCatchment returns the statements that read an agent's catchment, and the Catchment that they fill.
func PrepareCatchment(tx *database.Tx, agentID, roleID string) (Catchment, []database.Statement) {
	c := Catchment{Spoken: make(map[int64]bool)}
	var naming, listings database.Statement
	naming, c.naming = intents.PrepareNaming(agentID)
	listings, c.Listed = channels.PrepareListings(agentID)
	names := []string{agentID}
	if roleID != "" {
		names = append(names, caller.RolePrefix+roleID)
	}
	in, argument := tx.In("name", names)
	return c, []database.Statement{naming, listings, {
		SQL:  "SELECT intent_no, sent FROM audiences WHERE " + in,
		Args: []any{argument},
		Scan: func(row database.Row) error {
			var intentNo int64
			var sent bool
			err := row.Scan(&intentNo, &sent)
			c.Spoken[intentNo] = c.Spoken[intentNo] || sent
			return err
		},
	}}
}

// Intents returns the intents from which something may reach the agent, lowest first.
func (c Catchment) Intents() []int64 {
	all := slices.Concat(*c.naming, slices.Collect(maps.Keys(c.Listed)), slices.Collect(maps.Keys(c.Spoken)))
	return database.Distinct(all)
}

// TakesPart reports whether what is sent to everyone in an intent is sent to the agent too (message.TakesPart).
func (c Catchment) TakesPart(intentNo int64, rules *intents.Rules, agentID string, departedAt, now time.Time) bool {
	return message.TakesPart(c.Spoken[intentNo], c.Listed[intentNo], rules, agentID, departedAt, now)
}

// AheadOf returns those of the intents in which a role was addressed whose newest place lies after a time, the latest
// first, with the times of these places.
func AheadOf(tx *database.Tx, roleID string, after time.Time, limit int) (map[int64]time.Time, error) {
	ahead := make(map[int64]time.Time)
	return ahead, tx.Pipeline(database.Statement{
		SQL: "SELECT h.intent_no, h.last_at FROM audiences a JOIN intent_heads h ON h.intent_no = a.intent_no" +
			" WHERE a.name = ? AND h.last_at > ? ORDER BY h.last_at DESC LIMIT ?",
		Args: []any{caller.RolePrefix + roleID, database.Micros(after), limit},
		Scan: func(row database.Row) error {
			var intentNo, lastAt int64
			err := row.Scan(&intentNo, &lastAt)
			ahead[intentNo] = database.Time(lastAt)
			return err
		},
	})
}

// PrepareCatchmentIn returns the statements that read what decides whether an agent takes part in one intent, and the Catchment
// that they fill.
func PrepareCatchmentIn(intentNo int64, agentID string) (Catchment, []database.Statement) {
	c := Catchment{Spoken: make(map[int64]bool)}
	var listing database.Statement
	listing, c.Listed = channels.PrepareListing(intentNo, agentID)
	return c, []database.Statement{listing, {
		SQL:  "SELECT intent_no FROM audiences WHERE name = ? AND intent_no = ? AND sent",
		Args: []any{agentID, intentNo},
		Scan: func(database.Row) error {
			c.Spoken[intentNo] = true
			return nil
		},
	}}
}
