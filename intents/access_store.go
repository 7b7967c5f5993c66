package intents

import (
	"time"

	"gorm.io/gorm"

	"openintent/internal/database"
	"openintent/internal/pages"
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
		ExpiresAt:     database.TimeOrZero(row.ExpiresAt),
		Reason:        row.Reason,
	}
}

// insertEntries stores new entries in one round trip.
func insertEntries(tx *database.Tx, intentNo int64, entries []AccessEntry) error {
	n := len(entries)
	nos, ids := make([]int64, n), make([]string, n)
	principals, types, permissions := make([]string, n), make([]string, n), make([]string, n)
	grantedBy, grantedAt, expiresAt := make([]string, n), make([]int64, n), make([]*int64, n)
	logged, reasons := make([]bool, n), make([]*string, n)
	for i, entry := range entries {
		nos[i], ids[i] = intentNo, entry.ID
		principals[i], types[i], permissions[i] = entry.PrincipalID, string(entry.PrincipalType), entry.Permission.String()
		grantedBy[i], grantedAt[i] = entry.GrantedBy, database.Micros(entry.GrantedAt)
		expiresAt[i], reasons[i] = database.NullMicros(entry.ExpiresAt), entry.Reason
	}
	return tx.Pipeline(tx.Insert("access_entries",
		database.Column{Name: "intent_no", Values: nos},
		database.Column{Name: "id", Values: ids},
		database.Column{Name: "principal_id", Values: principals},
		database.Column{Name: "principal_type", Values: types},
		database.Column{Name: "permission", Values: permissions},
		database.Column{Name: "granted_by", Values: grantedBy},
		database.Column{Name: "granted_at", Values: grantedAt},
		database.Column{Name: "expires_at", Values: expiresAt},
		database.Column{Name: "expiry_logged", Values: logged},
		database.Column{Name: "reason", Values: reasons},
	)...)
}

// maxEntries bounds the entries of one intent's list, because loading the intent's rules reads all of them.
const maxEntries = 10_000

// checkRoom refuses another entry for a list that is full.
func checkRoom(tx *database.Tx, intentNo int64) error {
	var entries int64
	err := tx.Gorm().Model(&accessEntryRow{}).Where("intent_no = ?", intentNo).Count(&entries).Error
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
	const condition, order = "intent_no = ? AND (granted_at, id) > (?, ?)", "granted_at, id"
	args := []any{intentNo, after.at, after.id}
	fit, err := page.Fit(tx, size, " FROM access_entries WHERE "+condition+" ORDER BY "+order, args...)
	if err != nil {
		return nil, err
	}
	return selectEntries(tx.Gorm().Where(condition, args...).Order(order).Limit(fit))
}

// findEntry reads one entry; it returns nil if the intent has no such entry.
func findEntry(tx *database.Tx, intentNo int64, entryID string) (*AccessEntry, error) {
	entries, err := selectEntries(tx.Gorm().Where("intent_no = ? AND id = ?", intentNo, entryID))
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	return &entries[0], nil
}

// listLapsedEntries reads expired entries that the log does not report as expired yet, oldest first.
func listLapsedEntries(tx *database.Tx, intentNo int64, now time.Time, limit int) ([]AccessEntry, error) {
	return selectEntries(tx.Gorm().
		Where("intent_no = ? AND expires_at <= ? AND NOT expiry_logged", intentNo, database.Micros(now)).
		Order("expires_at, id").Limit(limit))
}

// findIntentsWithLapsedEntries returns some of the intents for which listLapsedEntries finds entries.
func findIntentsWithLapsedEntries(tx *database.Tx, now time.Time, limit int) (intentNos []int64, err error) {
	err = tx.Pipeline(database.ReadValues(&intentNos, "SELECT DISTINCT intent_no FROM access_entries"+
		" WHERE expires_at <= ? AND NOT expiry_logged ORDER BY intent_no LIMIT ?", database.Micros(now), limit))
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
	return tx.Pipeline(database.Statement{
		SQL:  "UPDATE access_entries SET expiry_logged = TRUE WHERE intent_no = ? AND " + condition,
		Args: []any{intentNo, argument},
	})
}

func deleteEntry(tx *database.Tx, intentNo int64, entryID string) error {
	return tx.Gorm().Where("intent_no = ? AND id = ?", intentNo, entryID).Delete(&accessEntryRow{}).Error
}

func deleteEntries(tx *database.Tx, intentNo int64) error {
	return tx.Gorm().Where("intent_no = ?", intentNo).Delete(&accessEntryRow{}).Error
}

// loadPolicy reads an intent's policy; it returns policyNone if the intent has no list.
func loadPolicy(tx *database.Tx, intentNo int64) (Policy, error) {
	var policy *string
	err := tx.Pipeline(database.ReadValue(&policy, "SELECT default_policy FROM intents WHERE intent_no = ?", intentNo))
	return Policy(text(policy)), err
}

func storePolicy(tx *database.Tx, intentNo int64, policy Policy) error {
	return tx.Gorm().Model(&intentRow{IntentNo: intentNo}).Update("default_policy", string(policy)).Error
}
