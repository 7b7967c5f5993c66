package channels

import (
	"openintent/internal/database"
)

// memberRow is a row of members.
type memberRow struct {
	IntentNo  int64 `gorm:"primaryKey;autoIncrement:false"`
	ChannelNo int64 `gorm:"primaryKey;autoIncrement:false"`
	AgentID   string
	Place     int64
	AddedAt   int64

	JoinedAfter int64
}

func (memberRow) TableName() string { return "members" }

func (row memberRow) key() Key { return Key{IntentNo: row.IntentNo, ChannelNo: row.ChannelNo} }

func (row memberRow) member() member {
	return member{
		agent: row.AgentID, place: row.Place, addedAt: database.Time(row.AddedAt), joinedAfter: row.JoinedAfter,
	}
}

// loadMembers reads the member lists of an intent's channels, each in its order.
func loadMembers(tx *database.Tx, intentNo int64, channelNos []int64) (map[Key][]member, error) {
	in, arg := tx.In("channel_no", channelNos)
	var rows []memberRow
	err := tx.Gorm().Where("intent_no = ?", intentNo).Where(in, arg).Order("channel_no, place").Find(&rows).Error
	if err != nil {
		return nil, err
	}
	members := make(map[Key][]member)
	for _, row := range rows {
		members[row.key()] = append(members[row.key()], row.member())
	}
	return members, nil
}

// insertMembers adds lines to a member list.
func insertMembers(tx *database.Tx, key Key, members []member) []database.Statement {
	n := len(members)
	intentNos, channelNos := make([]int64, n), make([]int64, n)
	agentIDs, places, added, joined := make([]string, n), make([]int64, n), make([]int64, n), make([]int64, n)
	for i, m := range members {
		intentNos[i], channelNos[i] = key.IntentNo, key.ChannelNo
		agentIDs[i], places[i], added[i] = m.agent, m.place, database.Micros(m.addedAt)
		joined[i] = m.joinedAfter
	}
	return tx.Insert("members",
		database.Column{Name: "intent_no", Values: intentNos},
		database.Column{Name: "channel_no", Values: channelNos},
		database.Column{Name: "agent_id", Values: agentIDs},
		database.Column{Name: "place", Values: places},
		database.Column{Name: "added_at", Values: added},
		database.Column{Name: "joined_after", Values: joined})
}

// deleteMembers removes the named agents from a channel's list.
func deleteMembers(tx *database.Tx, key Key, agentIDs []string) database.Statement {
	in, arg := tx.In("agent_id", agentIDs)
	return database.Statement{
		SQL:  "DELETE FROM members WHERE intent_no = ? AND channel_no = ? AND " + in,
		Args: []any{key.IntentNo, key.ChannelNo, arg},
	}
}

// clearMembers empties a channel's list.
func clearMembers(key Key) database.Statement {
	return database.Statement{
		SQL:  "DELETE FROM members WHERE intent_no = ? AND channel_no = ?",
		Args: []any{key.IntentNo, key.ChannelNo},
	}
}
