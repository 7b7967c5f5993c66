package intents

import (
	"time"

	"gorm.io/gorm"

	"openintent/database"
	"openintent/pages"
)

type accessEntryRow struct {
	IntentNo      int64  `gorm:"primaryKey;autoIncrement:false"`
	ID            string `gorm:"primaryKey"`
	PrincipalID   string
	PrincipalType string
	Permission    string
	GrantedBy     string
	GrantedAt     int64
	ExpiresAt     *int64
	ExpiryLogged  bool
	Reason        *string
}

func (accessEntryRow) TableName() string { return "access_entries" }

func (row accessEntryRow) entry() AccessEntry {
	return AccessEntry{
		ID:            row.ID,
		PrincipalID:   row.PrincipalID,
		PrincipalType: PrincipalType(row.PrincipalType),
		Permission:    parsePermission(row.Permission),
		GrantedBy:     row.GrantedBy,
		GrantedAt:     database.Time(row.GrantedAt),
		ExpiresAt:     optionalTime(row.ExpiresAt),
		Reason:        row.Reason,
	}
}

func rowOfEntry(intentNo int64, entry AccessEntry) accessEntryRow {
	return accessEntryRow{
		IntentNo:      intentNo,
		ID:            entry.ID,
		PrincipalID:   entry.PrincipalID,
		PrincipalType: string(entry.PrincipalType),
		Permission:    entry.Permission.String(),
		GrantedBy:     entry.GrantedBy,
		GrantedAt:     database.Micros(entry.GrantedAt),
		ExpiresAt:     database.NullMicros(entry.ExpiresAt),
		Reason:        entry.Reason,
	}
}

// insertEntries stores new entries, in bounded statements.
func insertEntries(tx *database.Tx, intentNo int64, entries []AccessEntry) error {
	const rowsPerStatement = 500
	rows := make([]accessEntryRow, len(entries))
	for i, entry := range entries {
		rows[i] = rowOfEntry(intentNo, entry)
	}
	if len(rows) == 0 {
		return nil
	}
	return tx.Gorm().CreateInBatches(rows, rowsPerStatement).Error
}

// maxEntries bounds the entries of one intent's list: whoever calls there is judged by all of them.
const maxEntries = 10_000

// checkRoom refuses a further entry for a list that is full.
func checkRoom(tx *database.Tx, intentNo int64) error {
	var entries int64
	err := tx.Gorm().Raw("SELECT count(*) FROM access_entries WHERE intent_no = ?", intentNo).Scan(&entries).Error
	if err == nil && entries >= maxEntries {
		err = errTooManyEntries
	}
	return err
}

// allEntries reads an intent's entries, oldest first.
func allEntries(tx *database.Tx, intentNo int64) ([]AccessEntry, error) {
	return selectEntries(tx.Gorm().Where("intent_no = ?", intentNo).Order("granted_at, id"))
}

// listEntries reads a page of an intent's entries, oldest first.
func listEntries(tx *database.Tx, page *pages.Page, intentNo int64, after place) ([]AccessEntry, error) {
	const size = "300 + octet_length(principal_id) + octet_length(granted_by) + COALESCE(octet_length(reason), 0)"
	const selection = " FROM access_entries WHERE intent_no = ? AND (granted_at, id) > (?, ?) ORDER BY granted_at, id"
	args := []any{intentNo, after.at, after.id}
	fit, err := page.Fit(tx, size, selection, args...)
	if err != nil {
		return nil, err
	}
	return selectEntries(tx.Gorm().Where("intent_no = ? AND (granted_at, id) > (?, ?)", args...).
		Order("granted_at, id").Limit(fit))
}

// findEntry reads one entry; nil when the intent has no such entry.
func findEntry(tx *database.Tx, intentNo int64, entryID string) (*AccessEntry, error) {
	entries, err := selectEntries(tx.Gorm().Where("intent_no = ? AND id = ?", intentNo, entryID))
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	return &entries[0], nil
}

// listLapsedEntries reads entries that have expired while the log does not say so yet, oldest first.
func listLapsedEntries(tx *database.Tx, intentNo int64, now time.Time, limit int) ([]AccessEntry, error) {
	return selectEntries(tx.Gorm().
		Where("intent_no = ? AND expires_at <= ? AND NOT expiry_logged", intentNo, database.Micros(now)).
		Order("expires_at, id").Limit(limit))
}

// findIntentsWithLapsedEntries gives some intents for which listLapsedEntries gives something.
func findIntentsWithLapsedEntries(tx *database.Tx, now time.Time, limit int) (intentNos []int64, err error) {
	err = tx.Gorm().Raw("SELECT DISTINCT intent_no FROM access_entries WHERE expires_at <= ? AND NOT expiry_logged"+
		" ORDER BY intent_no LIMIT ?", database.Micros(now), limit).Scan(&intentNos).Error
	return intentNos, err
}

func selectEntries(query *gorm.DB) ([]AccessEntry, error) {
	var rows []accessEntryRow
	if err := query.Find(&rows).Error; err != nil {
		return nil, err
	}
	entries := make([]AccessEntry, len(rows))
	for i, row := range rows {
		entries[i] = row.entry()
	}
	return entries, nil
}

func markExpiryLogged(tx *database.Tx, intentNo int64, entryIDs []string) error {
	condition, argument := tx.In("id", entryIDs)
	return tx.Gorm().Exec("UPDATE access_entries SET expiry_logged = TRUE WHERE intent_no = ? AND "+condition,
		intentNo, argument).Error
}

func deleteEntry(tx *database.Tx, intentNo int64, entryID string) error {
	return tx.Gorm().Where("intent_no = ? AND id = ?", intentNo, entryID).Delete(&accessEntryRow{}).Error
}

func deleteEntries(tx *database.Tx, intentNo int64) error {
	return tx.Gorm().Where("intent_no = ?", intentNo).Delete(&accessEntryRow{}).Error
}

// loadPolicy reads an intent's policy; policyNone when it has no list.
func loadPolicy(tx *database.Tx, intentNo int64) (Policy, error) {
	var policy *string
	err := tx.Gorm().Raw("SELECT default_policy FROM intents WHERE intent_no = ?", intentNo).Scan(&policy).Error
	return Policy(text(policy)), err
}

func storePolicy(tx *database.Tx, intentNo int64, policy Policy) error {
	return tx.Gorm().Exec("UPDATE intents SET default_policy = ? WHERE intent_no = ?", string(policy), intentNo).Error
}
