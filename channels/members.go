package channels

import (
	"context"
	"fmt"
	"time"

	"openintent/agents"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/database"
)

// membersFrom makes lines of a member list, beginning at the given place, for agents that are added when the newest message has
// the given ordinal. A member is always added after its last departure, even if that has a time ahead of the clock because the
// clock was set back since.
func membersFrom(
	agentIDs []string, place int64, now time.Time, presences map[string]agents.Presence, joinedAfter int64,
) []member {
	var members []member
	for i, agent := range agentIDs {
		addedAt := now
		if departedAt := presences[agent].DepartedAt; !addedAt.After(departedAt) {
			addedAt = departedAt.Add(time.Microsecond)
		}
		members = append(members, member{agent: agent, place: place + int64(i), addedAt: addedAt, joinedAfter: joinedAfter})
	}
	return members
}

// AddChannelMembers adds agents to the member list; agents that are on it already stay as they are.
func (s *Service) AddChannelMembers(
	ctx context.Context, req *openintentv1.AddChannelMembersRequest,
) (*openintentv1.Channel, error) {
	wanted, err := s.checkMembers(req.GetMembers())
	if err != nil {
		return nil, err
	}
	return s.change(ctx, req.GetChannelId(), func(tx *database.Tx, subject *subject) error {
		if _, closed := subject.closed(); closed {
			return ErrChannelClosed
		}
		return s.addMembers(tx, subject, wanted)
	})
}

func (s *Service) addMembers(tx *database.Tx, subject *subject, wanted []string) error {
	presences, err := agents.LoadPresences(tx, wanted)
	if err != nil {
		return err
	}
	var added []string
	for _, agent := range wanted {
		if !subject.rules.Lists(agent, presences[agent].DepartedAt) {
			added = append(added, agent)
		}
	}
	if len(added) == 0 {
		return nil
	}
	length, place := len(subject.rules.members), int64(0)
	if length > 0 {
		place = subject.rules.members[length-1].place + 1
	}
	for _, agent := range added {
		if _, departed := subject.rules.listed[agent]; !departed {
			length++
		}
	}
	if err := s.checkMemberCount(length); err != nil {
		return err
	}
	statements := []database.Statement{deleteMembers(tx, subject.rules.Key, added)}
	members := membersFrom(added, place, tx.Now(), presences, subject.count.Messages)
	statements = append(statements, insertMembers(tx, subject.rules.Key, members)...)
	if err := tx.Pipeline(statements...); err != nil {
		return err
	}
	subject.head.Name(added...)
	s.changed(tx, subject.head, subject.rules.Key)
	return nil
}

// RemoveChannelMember takes an agent off the member list. It is not an error if the agent is not on it.
func (s *Service) RemoveChannelMember(
	ctx context.Context, req *openintentv1.RemoveChannelMemberRequest,
) (*openintentv1.Channel, error) {
	return s.change(ctx, req.GetChannelId(), func(tx *database.Tx, subject *subject) error {
		if _, closed := subject.closed(); closed {
			return ErrChannelClosed
		}
		if _, listed := subject.rules.listed[req.GetAgentId()]; !listed {
			return nil
		}
		if err := tx.Pipeline(deleteMembers(tx, subject.rules.Key, []string{req.GetAgentId()})); err != nil {
			return err
		}
		s.changed(tx, subject.head, subject.rules.Key)
		return nil
	})
}

// replaceMembers makes the list exactly the wanted agents in their order, and returns the new list. Agents that stay keep the
// time at which they were added.
func replaceMembers(tx *database.Tx, rules *Rules, wanted []string, count Count) ([]member, error) {
	presences, err := agents.LoadPresences(tx, wanted)
	if err != nil {
		return nil, err
	}
	members := membersFrom(wanted, 0, tx.Now(), presences, count.Messages)
	for i, m := range members {
		if rules.Lists(m.agent, presences[m.agent].DepartedAt) {
			stays := rules.listed[m.agent]
			members[i].addedAt, members[i].joinedAfter = stays.addedAt, stays.joinedAfter
		}
	}
	statements := append([]database.Statement{clearMembers(rules.Key)}, insertMembers(tx, rules.Key, members)...)
	return members, tx.Pipeline(statements...)
}

// RemoveFromLists takes a departed agent off all member lists of one intent to which it was added no later than the given time.
// The intent's head is locked. It returns those of the channels that are open.
func (s *Service) RemoveFromLists(
	tx *database.Tx, head *intents.Head, agentID string, before time.Time,
) ([]Key, error) {
	var rows []memberRow
	err := tx.Gorm().
		Where("intent_no = ? AND agent_id = ? AND added_at <= ?", head.IntentNo, agentID, database.Micros(before)).
		Order("channel_no").Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	numbers := make([]int64, len(rows))
	for i, row := range rows {
		numbers[i] = row.ChannelNo
	}
	in, arg := tx.In("channel_no", numbers)
	found, err := loadWithoutMembers(tx, head.IntentNo, head.IntentID, in, arg)
	if err != nil {
		return nil, err
	}
	counts, err := LoadCounts(tx, keysOf(found))
	if err != nil {
		return nil, err
	}
	err = tx.Pipeline(database.Statement{
		SQL:  fmt.Sprintf("DELETE FROM members WHERE intent_no = ? AND agent_id = ? AND %s", in),
		Args: []any{head.IntentNo, agentID, arg},
	})
	if err != nil {
		return nil, err
	}
	var open []Key
	for _, r := range found {
		if _, closed := r.ClosedBy(*counts[r.Key], head, head.Now()); !closed {
			open = append(open, r.Key)
		}
	}
	s.changed(tx, head, keysOf(found)...)
	return open, nil
}

// IntentsListing returns the intents with a channel that lists the agent, closed channels included, lowest number first.
func IntentsListing(tx *database.Tx, agentID string) ([]int64, error) {
	var intentNos []int64
	err := tx.Pipeline(database.ReadValues(&intentNos,
		"SELECT DISTINCT intent_no FROM members WHERE agent_id = ? ORDER BY intent_no", agentID))
	return intentNos, err
}

// PrepareListings returns the statement that reads the intents in which channels list the agent, and the map that it fills. The
// map says when the agent was last added to a list of the intent; a departure since then has ended all of these memberships.
func PrepareListings(agentID string) (database.Statement, map[int64]time.Time) {
	listed := make(map[int64]time.Time)
	return prepareListings("agent_id = ? AND "+intents.NotPurged("members.intent_no"), []any{agentID}, listed), listed
}

// PrepareListing is PrepareListings for one intent.
func PrepareListing(intentNo int64, agentID string) (database.Statement, map[int64]time.Time) {
	listed := make(map[int64]time.Time)
	return prepareListings("intent_no = ? AND agent_id = ?", []any{intentNo, agentID}, listed), listed
}

// Listing is an agent that channels of an intent list.
type Listing struct {
	IntentNo int64
	AgentID  string
}

// Listings say when channels of an intent last began to list an agent.
type Listings map[Listing]time.Time

// PrepareListingsIn is PrepareListings for several agents and intents.
func PrepareListingsIn(tx *database.Tx, intentNos []int64, agentIDs []string) (database.Statement, Listings) {
	listed := make(Listings)
	inIntents, intentArgument := tx.In("intent_no", intentNos)
	inAgents, agentArgument := tx.In("agent_id", agentIDs)
	return database.Statement{
		SQL: "SELECT intent_no, agent_id, max(added_at) FROM members WHERE " + inAgents + " AND " + inIntents +
			" GROUP BY intent_no, agent_id",
		Args: []any{agentArgument, intentArgument},
		Scan: func(row database.Row) error {
			var one Listing
			var addedAt int64
			err := row.Scan(&one.IntentNo, &one.AgentID, &addedAt)
			listed[one] = database.Time(addedAt)
			return err
		},
	}, listed
}

// PrepareListed is the reverse of PrepareListings: it returns the statement that reads which agents are listed by channels of
// the given intents, and calls the function for each of them.
func PrepareListed(tx *database.Tx, intentNos []int64, listed func(intentNo int64, agentID string)) database.Statement {
	in, argument := tx.In("intent_no", intentNos)
	return database.Statement{
		SQL:  "SELECT DISTINCT intent_no, agent_id FROM members WHERE " + in,
		Args: []any{argument},
		Scan: func(row database.Row) error {
			var intentNo int64
			var agentID string
			err := row.Scan(&intentNo, &agentID)
			listed(intentNo, agentID)
			return err
		},
	}
}

func prepareListings(condition string, args []any, listed map[int64]time.Time) database.Statement {
	return database.Statement{
		SQL:  "SELECT intent_no, max(added_at) FROM members WHERE " + condition + " GROUP BY intent_no",
		Args: args,
		Scan: func(row database.Row) error {
			var intentNo, addedAt int64
			err := row.Scan(&intentNo, &addedAt)
			listed[intentNo] = database.Time(addedAt)
			return err
		},
	}
}

// keysOf returns the keys of channels in the order of the channels.
func keysOf(rules []*Rules) []Key {
	keys := make([]Key, len(rules))
	for i, r := range rules {
		keys[i] = r.Key
	}
	return keys
}
