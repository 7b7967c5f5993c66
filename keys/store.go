package keys

import (
	"encoding/json"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/pages"
)

// row is a key as the table stores it: times are in microseconds, and absent values are NULL.
type row struct {
	KeyID             string `gorm:"primaryKey"`
	Label             string
	Digest            []byte
	FormerDigest      []byte
	FormerExpiresAt   *int64
	Operator          bool
	Agents            []byte
	Roles             []byte
	Scope             []byte
	ReadOnly          bool
	Human             bool
	MessagesPerSecond *int64
	BytesPerSecond    *int64
	RowsPerSecond     *int64

	StoredBytesPerSecond *int64

	CreatedAt  int64 `gorm:"autoCreateTime:false"`
	CreatedBy  string
	ExpiresAt  *int64
	LastUsedAt *int64
	RevokedAt  *int64
	Version    int64

	ChannelID    *string
	IntentNo     *int64
	MaxAgents    *int64
	InvitedBy    *string
	InvitedByKey *string
}

// TableName is for gorm.
func (row) TableName() string { return "api_keys" }

func (r *row) key() (*Key, error) {
	k := &Key{
		ID: r.KeyID, Label: r.Label,
		Settings: Settings{
			Operator: r.Operator, ReadOnly: r.ReadOnly, Human: r.Human,
			MessagesPerSecond: r.MessagesPerSecond, BytesPerSecond: r.BytesPerSecond,
			RowsPerSecond: r.RowsPerSecond, StoredBytesPerSecond: r.StoredBytesPerSecond,
		},
		Digest:    Digest(r.Digest),
		CreatedAt: database.Time(r.CreatedAt), CreatedBy: r.CreatedBy,
		ExpiresAt: database.TimeOrZero(r.ExpiresAt), LastUsedAt: database.TimeOrZero(r.LastUsedAt), RevokedAt: database.TimeOrZero(r.RevokedAt),
		Version: r.Version,
	}
	if r.FormerDigest != nil {
		k.Former = &Former{Digest: Digest(r.FormerDigest), ExpiresAt: database.TimeOrZero(r.FormerExpiresAt)}
	}
	if r.ChannelID != nil {
		k.Invite = &Invite{
			ChannelID: *r.ChannelID, IntentNo: *r.IntentNo, MaxAgents: int(*r.MaxAgents), By: *r.InvitedBy, ByKey: *r.InvitedByKey,
		}
	}
	var err error
	if k.Scope, err = caller.ScopeFrom(r.Scope); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(r.Agents, &k.Agents); err != nil {
		return nil, err
	}
	return k, json.Unmarshal(r.Roles, &k.Roles)
}

func insert(tx *database.Tx, k *Key) error {
	agents, err := json.Marshal(k.Agents)
	if err != nil {
		return err
	}
	roles, err := json.Marshal(k.Roles)
	if err != nil {
		return err
	}
	stored := &row{
		KeyID: k.ID, Label: k.Label, Digest: k.Digest[:],
		Operator: k.Operator, Agents: agents, Roles: roles, Scope: k.Scope.Stored(), ReadOnly: k.ReadOnly, Human: k.Human,
		MessagesPerSecond: k.MessagesPerSecond, BytesPerSecond: k.BytesPerSecond,
		RowsPerSecond: k.RowsPerSecond, StoredBytesPerSecond: k.StoredBytesPerSecond,
		CreatedAt: database.Micros(k.CreatedAt), CreatedBy: k.CreatedBy, ExpiresAt: database.NullMicros(k.ExpiresAt),
		Version: k.Version,
	}
	if i := k.Invite; i != nil {
		most := int64(i.MaxAgents)
		stored.ChannelID, stored.IntentNo, stored.MaxAgents = &i.ChannelID, &i.IntentNo, &most
		stored.InvitedBy, stored.InvitedByKey = &i.By, &i.ByKey
	}
	return tx.Gorm().Create(stored).Error
}

// save stores what a rotation or a revocation has changed in a key that the transaction has locked.
func save(tx *database.Tx, k *Key) error {
	changes := map[string]any{
		"digest": k.Digest[:], "former_digest": nil, "former_expires_at": nil,
		"revoked_at": database.NullMicros(k.RevokedAt), "version": k.Version,
	}
	if k.Former != nil {
		changes["former_digest"], changes["former_expires_at"] = k.Former.Digest[:], database.Micros(k.Former.ExpiresAt)
	}
	return tx.Gorm().Model(&row{}).Where("key_id = ?", k.ID).Updates(changes).Error
}

// changeTag makes the keys' tag another one. It locks the tag, so transactions that change keys commit one after the other. A
// transaction that locks a key locks it first.
func changeTag(tx *database.Tx) error {
	return tx.Pipeline(database.Statement{SQL: "UPDATE api_keys_state SET tag = ? WHERE one = 1", Args: []any{database.Tag()}})
}

func readTag(tx *database.Tx) (tag int64, err error) {
	err = tx.Pipeline(database.ReadValue(&tag, "SELECT tag FROM api_keys_state WHERE one = 1"))
	return tag, err
}

// find reads a key without locking it.
func find(tx *database.Tx, id string) (*Key, error) { return one(tx, tx.Gorm(), id) }

// lock reads a key and locks its row until the transaction ends.
func lock(tx *database.Tx, id string) (*Key, error) {
	return one(tx, tx.Gorm().Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}), id)
}

func one(tx *database.Tx, query *gorm.DB, id string) (*Key, error) {
	if !IsID(id) {
		return nil, errNotFound
	}
	found, err := read(tx, query.Where("key_id = ?", id))
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errNotFound
	}
	return found[0], nil
}

// live is the condition of keys that are accepted at a time.
const live = "revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)"

func countLive(tx *database.Tx, now time.Time) (count int64, err error) {
	err = tx.Pipeline(database.ReadValue(&count, "SELECT count(*) FROM api_keys WHERE channel_id IS NULL AND "+live, database.Micros(now)))
	return count, err
}

// place is where a page of keys begins: after the key that was made then and has that id.
type place struct {
	at int64
	id string
}

// list reads a page of the keys that a condition selects, oldest first.
func list(tx *database.Tx, page *pages.Page, condition string, args []any, after place) ([]*Key, error) {
	const size = "400 + octet_length(label) + octet_length(agents) + octet_length(roles)" +
		" + COALESCE(octet_length(scope), 0) + 300 * COALESCE(max_agents, 0)"
	const order = "created_at, key_id"
	condition, args = condition+" AND (created_at, key_id) > (?, ?)", append(args, after.at, after.id)
	rows, err := page.Fit(tx, size, " FROM api_keys WHERE "+condition+" ORDER BY "+order, args...)
	if err != nil || rows == 0 {
		return nil, err
	}
	return read(tx, tx.Gorm().Where(condition, args...).Order(order).Limit(rows))
}

func read(tx *database.Tx, query *gorm.DB) ([]*Key, error) {
	var rows []row
	if err := query.Find(&rows).Error; err != nil {
		return nil, err
	}
	keys := make([]*Key, len(rows))
	for i := range rows {
		var err error
		if keys[i], err = rows[i].key(); err != nil {
			return nil, err
		}
	}
	if err := addGuests(tx, keys); err != nil {
		return nil, err
	}
	return keys, addMakers(tx, keys)
}
