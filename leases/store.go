package leases

import (
	"time"

	"gorm.io/gorm"

	"openintent/internal/database"
	"openintent/internal/pages"
)

// ofScope reads the lease of a scope; it returns nil if there is none.
func ofScope(tx *database.Tx, intentNo int64, scope string) (*Lease, error) {
	return one(tx.Gorm().Where("intent_no = ? AND scope = ?", intentNo, scope))
}

// byID reads a lease of an intent; it returns nil if there is none of that id.
func byID(tx *database.Tx, intentNo int64, id string) (*Lease, error) {
	return one(tx.Gorm().Where("intent_no = ? AND id = ?", intentNo, id))
}

func one(query *gorm.DB) (*Lease, error) {
	found, err := read(query)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

func read(query *gorm.DB) ([]*Lease, error) {
	var rows []row
	if err := query.Find(&rows).Error; err != nil {
		return nil, err
	}
	leases := make([]*Lease, len(rows))
	for i := range rows {
		leases[i] = rows[i].lease()
	}
	return leases, nil
}

func insert(tx *database.Tx, l *Lease) error { return tx.Gorm().Create(rowOf(l)).Error }

// save stores a lease's times and by what it was judged; nothing else of it can change.
func save(tx *database.Tx, l *Lease) error {
	r := rowOf(l)
	return tx.Gorm().Model(&row{}).Where("intent_no = ? AND scope = ?", l.IntentNo, l.Scope).Updates(map[string]any{
		"expires_at": r.ExpiresAt, "left_over": r.LeftOver, "due_at": r.DueAt, "epoch": r.Epoch, "renewed_at": r.RenewedAt,
	}).Error
}

func remove(tx *database.Tx, l *Lease) error {
	return tx.Gorm().Where("intent_no = ? AND scope = ?", l.IntentNo, l.Scope).Delete(&row{}).Error
}

func countHeld(tx *database.Tx, intentNo int64, agentID string) (count int64, err error) {
	err = tx.Pipeline(database.ReadValue(&count,
		"SELECT count(*) FROM leases WHERE agent_id = ? AND intent_no = ?", agentID, intentNo))
	return count, err
}

// list reads a page of an intent's leases after a scope, ordered by scope. A scope to look for selects its lease alone.
func list(tx *database.Tx, page *pages.Page, intentNo int64, only *string, after string) ([]*Lease, error) {
	condition, args := "intent_no = ? AND scope > ?", []any{intentNo, after}
	if only != nil {
		condition, args = condition+" AND scope = ?", append(args, *only)
	}
	const size = "300 + octet_length(scope) + octet_length(agent_id)"
	rows, err := page.Fit(tx, size, " FROM leases WHERE "+condition+" ORDER BY scope", args...)
	if err != nil || rows == 0 {
		return nil, err
	}
	return read(tx.Gorm().Where(condition, args...).Order("scope").Limit(rows))
}

// toJudge reads intents with leases that time may have ended, whose holder has left or is dead, or whose intent's rules have
// changed since somebody judged them.
func toJudge(tx *database.Tx, now time.Time, limit int) (intentNos []int64, err error) {
	err = tx.Pipeline(database.ReadValues(&intentNos, `SELECT DISTINCT l.intent_no FROM leases AS l
		JOIN intent_heads AS h ON h.intent_no = l.intent_no
		LEFT JOIN agents AS a ON a.agent_id = l.agent_id
		WHERE l.due_at <= ? OR h.epoch <> l.epoch OR a.status IN ('dead', 'deregistered') LIMIT ?`,
		database.Micros(now), limit))
	return intentNos, err
}
