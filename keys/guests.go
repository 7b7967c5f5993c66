package keys

import (
	"time"

	"openintent/internal/database"
)

// guestRow is the name of a guest of an invite.
type guestRow struct {
	AgentID  string `gorm:"primaryKey"`
	KeyID    string
	Place    int64
	JoinedAt *int64
}

// TableName is for gorm.
func (guestRow) TableName() string { return "guests" }

// takeName gives an invite a name that no guest has or ever had, and refuses any other. Without a time the guest has not come yet.
func takeName(tx *database.Tx, keyID, agent string, place int, joinedAt time.Time) error {
	var taken int64
	err := tx.Pipeline(database.Statement{
		SQL: "INSERT INTO guests (agent_id, key_id, place, joined_at) VALUES (?, ?, ?, ?)" +
			" ON CONFLICT (agent_id) DO NOTHING RETURNING 1",
		Args: []any{agent, keyID, int64(place), database.NullMicros(joinedAt)},
		Scan: func(row database.Row) error { return row.Scan(&taken) },
	})
	if err == nil && taken == 0 {
		err = ErrNameTaken.With("agent_id", agent)
	}
	return err
}

// HolderOf returns the id of the invite that has a guest's name, or "".
func HolderOf(tx *database.Tx, agent string) (keyID string, err error) {
	err = tx.Pipeline(database.ReadValue(&keyID, "SELECT key_id FROM guests WHERE agent_id = ?", agent))
	return keyID, err
}

// addGuests reads the guests of those of the keys that are invites.
func addGuests(tx *database.Tx, keys []*Key) error {
	invites := make(map[string]*Key)
	var ids []string
	for _, k := range keys {
		if k.Invite != nil {
			invites[k.ID], ids = k, append(ids, k.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	in, argument := tx.In("key_id", ids)
	var rows []guestRow
	if err := tx.Gorm().Where(in, argument).Order("joined_at, place").Find(&rows).Error; err != nil {
		return err
	}
	for _, row := range rows {
		if k := invites[row.KeyID]; row.JoinedAt != nil {
			k.Agents = append(k.Agents, row.AgentID)
		} else {
			k.Invite.Expected = append(k.Invite.Expected, row.AgentID)
		}
	}
	return nil
}
