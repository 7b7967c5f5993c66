package keys

import (
	"context"
	"slices"
	"time"

	"openintent/internal/database"
)

// Tag returns the keys' tag. No key has changed as long as the tag stays the same.
func (s *Service) Tag(ctx context.Context) (tag int64, err error) {
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) (err error) {
		tag, err = readTag(tx)
		return err
	})
	return tag, err
}

// Live returns all keys that are accepted now, with the tag to which they belong. Paused invites are not among them.
func (s *Service) Live(ctx context.Context) (keys []*Key, tag int64, err error) {
	err = s.db.Read(ctx, func(tx *database.Tx) (err error) {
		if tag, err = readTag(tx); err != nil {
			return err
		}
		keys, err = read(tx, tx.Gorm().Where(live, database.Micros(s.db.Now())))
		return err
	})
	return slices.DeleteFunc(keys, func(k *Key) bool { return s.Paused(k) != "" }), tag, err
}

// NoteUse notes that these keys were used at a time, unless a later use is noted already.
func (s *Service) NoteUse(ctx context.Context, ids []string, at time.Time) error {
	return s.db.Write(ctx, func(tx *database.Tx) error {
		condition, list := tx.In("key_id", ids)
		used := database.Micros(at)
		return tx.Pipeline(database.Statement{
			SQL:  "UPDATE api_keys SET last_used_at = ? WHERE " + condition + " AND (last_used_at IS NULL OR last_used_at < ?)",
			Args: []any{used, list, used},
		})
	})
}

// Probe stores a few bytes, to find out whether the database stores anything. They stand beside the tag and mean nothing else.
func Probe(tx *database.Tx) error {
	return tx.Pipeline(database.Statement{
		SQL: "UPDATE api_keys_state SET probed_at = ? WHERE one = 1", Args: []any{database.Micros(tx.Now())},
	})
}
