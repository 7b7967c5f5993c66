package messaging

import (
	"maps"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"openintent/caller"
	"openintent/channels"
	"openintent/database"
	"openintent/intents"
)

// keptAudiences bounds how many rows of audiences are remembered as stored; what falls out is written again, which changes
// nothing.
const keptAudiences = 65_536

// audience says that something may reach a name in an intent: the name was addressed there, or is an agent that has sent
// there and so takes part.
type audience struct {
	name     string
	intentNo int64
	sent     bool
}

// audiences remembers which of them are stored, so that a message between parties that have spoken before costs no
// statement. It learns after the commit alone: of a row that is not stored it must never be said that it is. They go with
// the last messages of an ended intent, which takes no more.
type audiences struct {
	stored *lru.Cache[audience, struct{}]
}

func newAudiences() audiences {
	stored, _ := lru.New[audience, struct{}](keptAudiences) // fails only for a size that is not positive
	return audiences{stored}
}

// learn is told what a commit has certainly stored.
func (a audiences) learn(batch audienceBatch) {
	for one := range batch {
		a.stored.Add(one, struct{}{})
	}
}

// audienceBatch is what a transaction has to store of them.
type audienceBatch map[audience]struct{}

// add notes whom a message concerns, as far as that is not known to be stored.
func (b audienceBatch) add(m *Message, known audiences) {
	if m.Sender != caller.System {
		b.note(audience{m.Sender, m.IntentNo, true}, known)
	}
	if !toEveryone(m.Target) {
		b.note(audience{m.Target, m.IntentNo, false}, known)
	}
}

func (b audienceBatch) note(one audience, known audiences) {
	if _, known := known.stored.Get(one); !known {
		b[one] = struct{}{}
	}
}

// topics are those of the names that begin to be reached.
func (b audienceBatch) topics() []any {
	var topics []any
	for one := range b {
		topics = append(topics, audienceTopic(one.name))
	}
	return topics
}

func (b audienceBatch) statements(tx *database.Tx) []database.Statement {
	var names []string
	var intentNos []int64
	var sent []bool
	for one := range b {
		names, intentNos, sent = append(names, one.name), append(intentNos, one.intentNo), append(sent, one.sent)
	}
	return tx.InsertIgnore("audiences",
		database.Column{Name: "name", Values: names},
		database.Column{Name: "intent_no", Values: intentNos},
		database.Column{Name: "sent", Values: sent},
	)
}

// ReachingIntents gives the intents from which something may reach an agent, lowest first: those that have named it, that
// list it in a channel, where it has sent, or where it or the role that it holds was addressed. Pass no role for an agent
// that holds none. Whether anything does reach it is for each message to be decided. Intents that were purged are left out.
func (s *Service) ReachingIntents(tx *database.Tx, agentID, roleID string) ([]int64, error) {
	reached, statements := prepareReach(tx, agentID, roleID)
	if err := tx.Pipeline(statements...); err != nil {
		return nil, err
	}
	return reached.intents(), nil
}

// ReachedBy is ReachingIntents the other way round: it calls a function for each name, an agent or role:<role_id>, that
// something may reach in some intents. Of the agents that intents name or list, only those of ruled intents are read.
func (s *Service) ReachedBy(tx *database.Tx, intentNos, ruled []int64, reached func(intentNo int64, name string)) error {
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

// reach is where an agent may be reached, and what is known of that before looking into the intents.
type reach struct {
	naming *[]int64            // intents that have ever named it
	listed map[int64]time.Time // when a channel of the intent last came to list it
	spoken map[int64]bool      // intents where it or its role was addressed; true where it has sent
}

// prepareReach gives the statements that read an agent's reach, and where they put it.
func prepareReach(tx *database.Tx, agentID, roleID string) (reach, []database.Statement) {
	r := reach{spoken: make(map[int64]bool)}
	var naming, listings database.Statement
	naming, r.naming = intents.PrepareNaming(agentID)
	listings, r.listed = channels.PrepareListings(agentID)
	names := []string{agentID}
	if roleID != "" {
		names = append(names, caller.RolePrefix+roleID)
	}
	in, argument := tx.In("name", names)
	return r, []database.Statement{naming, listings, {
		SQL:  "SELECT intent_no, sent FROM audiences WHERE " + in,
		Args: []any{argument},
		Scan: func(row database.Row) error {
			var intentNo int64
			var sent bool
			err := row.Scan(&intentNo, &sent)
			r.spoken[intentNo] = r.spoken[intentNo] || sent
			return err
		},
	}}
}

func (r reach) intents() []int64 {
	all := slices.Concat(*r.naming, slices.Collect(maps.Keys(r.listed)), slices.Collect(maps.Keys(r.spoken)))
	return distinct(all)
}

// takesPart tells whether what is said to everyone in an intent is said to the agent too: the intent names it, a channel
// lists it, or it has sent there.
func (r reach) takesPart(intentNo int64, rules *intents.Rules, agentID string, departedAt, now time.Time) bool {
	return r.spoken[intentNo] || r.listed[intentNo].After(departedAt) || rules.Names(agentID, now)
}
