package channels

import (
	"time"

	"openintent/agents"
	"openintent/internal/caller"
	"openintent/internal/database"
)

// insider is an agent that was a member when its channel was opened.
type insider struct {
	addedAt time.Time
	// seenAfter is the ordinal up to which the member could not see messages.
	seenAfter int64
}

// HistoryFloor returns the ordinal up to which other agents' messages are hidden from an agent that takes part. On an explicit
// channel with HistoryFromJoin, it is how far the channel had come when the agent was added; for a guest that is so on any
// channel. On a channel that was opened, it is how far the channel had come at that moment. An agent that was a member then
// still sees what it saw before, until a departure ends this as it ends a membership (see Lists).
func (r *Rules) HistoryFloor(agent string, departedAt time.Time) int64 {
	switch {
	case (r.Policy == PolicyExplicit || caller.IsGuest(agent)) && r.History == HistoryFromJoin:
		return r.listed[agent].joinedAfter
	case r.Policy == PolicyExplicit:
		return 0
	}
	if was, inside := r.insiders[agent]; inside && outlasts(was.addedAt, departedAt) {
		return was.seenAfter
	}
	return r.OpenedThrough
}

// open notes how far an explicit channel has come and who its members are, because it is being opened to the intent's agents.
// The rules are still those of the explicit channel.
func (r *Rules) open(tx *database.Tx, count Count) error {
	presences, err := agents.LoadPresences(tx, r.Members())
	if err != nil {
		return err
	}
	r.OpenedThrough, r.insiders = count.Messages, make(map[string]insider, len(r.members))
	for _, m := range r.members {
		if departedAt := presences[m.agent].DepartedAt; r.Lists(m.agent, departedAt) {
			r.insiders[m.agent] = insider{m.addedAt, r.HistoryFloor(m.agent, departedAt)}
		}
	}
	return tx.Pipeline(append([]database.Statement{clearInsiders(r.Key)}, insertInsiders(tx, r.Key, r.insiders)...)...)
}

func insertInsiders(tx *database.Tx, key Key, insiders map[string]insider) []database.Statement {
	n := len(insiders)
	intentNos, channelNos := make([]int64, 0, n), make([]int64, 0, n)
	agentIDs, added, floors := make([]string, 0, n), make([]int64, 0, n), make([]int64, 0, n)
	for agent, was := range insiders {
		intentNos, channelNos = append(intentNos, key.IntentNo), append(channelNos, key.ChannelNo)
		agentIDs, floors = append(agentIDs, agent), append(floors, was.seenAfter)
		added = append(added, database.Micros(was.addedAt))
	}
	return tx.Insert("insiders",
		database.Column{Name: "intent_no", Values: intentNos},
		database.Column{Name: "channel_no", Values: channelNos},
		database.Column{Name: "agent_id", Values: agentIDs},
		database.Column{Name: "added_at", Values: added},
		database.Column{Name: "seen_after", Values: floors})
}

func clearInsiders(key Key) database.Statement {
	return database.Statement{
		SQL:  "DELETE FROM insiders WHERE intent_no = ? AND channel_no = ?",
		Args: []any{key.IntentNo, key.ChannelNo},
	}
}

// prepareInsiders returns the statement that reads the insiders of the channels that meet a condition on intent_no and
// channel_no, and the map that it fills.
func prepareInsiders(condition string, args ...any) (database.Statement, map[Key]map[string]insider) {
	all := make(map[Key]map[string]insider)
	return database.Statement{
		SQL:  "SELECT intent_no, channel_no, agent_id, added_at, seen_after FROM insiders WHERE " + condition,
		Args: args,
		Scan: func(row database.Row) error {
			var key Key
			var agent string
			var addedAt int64
			var was insider
			if err := row.Scan(&key.IntentNo, &key.ChannelNo, &agent, &addedAt, &was.seenAfter); err != nil {
				return err
			}
			was.addedAt = database.Time(addedAt)
			if all[key] == nil {
				all[key] = make(map[string]insider)
			}
			all[key][agent] = was
			return nil
		},
	}, all
}
