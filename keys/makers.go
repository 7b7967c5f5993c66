package keys

import (
	"cmp"
	"strings"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
)

// The reasons for which what somebody made is paused, as clients see them.
const (
	PausedRevoked = "KEY_REVOKED"
	PausedExpired = "KEY_EXPIRED"
	PausedRemoved = "KEY_REMOVED"
)

// maxListed is how many subscriptions, and how many invites, the answer about an ended key lists.
const maxListed = 100

// What somebody made with a key, and what goes on without them, pauses when the key ends: the webhooks of subscriptions, and invites. It
// waits until another key takes it over. Whether it is paused is decided at the time of looking, by the key. A rotation ends no key. What
// was made with a token or a certificate never pauses, because these end all the time and the next one stands for the same maker.

// fate is what became of a key with which something was made.
type fate struct{ revokedAt, expiresAt time.Time }

func (f fate) reason(now time.Time) string {
	switch {
	case !f.revokedAt.IsZero():
		return PausedRevoked
	case !f.expiresAt.IsZero() && !f.expiresAt.After(now):
		return PausedExpired
	}
	return ""
}

// KnowConfigured tells the service which ids keys of the server's configuration have. Call it before serving; until then, none counts as
// removed.
func (s *Service) KnowConfigured(known func(id string) bool) { s.configured = known }

// OnListing adds what lists, by id, the subscriptions that were made with a key and post: a limited number of them.
func (s *Service) OnListing(subscriptions func(tx *database.Tx, keyID string, limit int) ([]string, error)) {
	s.madeWith = subscriptions
}

// PausedOf returns why what these makers made is paused; those whose works go on are not in it. Makers are the KeyIDs of callers. It needs a
// statement only if there are keys of the database among them.
func (s *Service) PausedOf(tx *database.Tx, makers ...string) (map[string]string, error) {
	fates, err := fatesOf(tx, makers)
	if err != nil {
		return nil, err
	}
	paused, now := make(map[string]string), s.db.Now()
	for _, id := range makers {
		if reason := cmp.Or(s.removed(id), fates[id].reason(now)); reason != "" {
			paused[id] = reason
		}
	}
	return paused, nil
}

// Paused returns why an invite is paused now; it is empty while the invite is not.
func (s *Service) Paused(k *Key) string {
	if k.Invite == nil {
		return ""
	}
	return cmp.Or(s.removed(k.Invite.ByKey), k.Invite.maker.reason(s.db.Now()))
}

// removed returns the reason if an id is that of a key that has been in the configuration and is not any more.
func (s *Service) removed(id string) string {
	if isConfiguredID(id) && s.configured != nil && !s.configured(id) {
		return PausedRemoved
	}
	return ""
}

// AcceptedUntil is when the key stops being accepted unless somebody changes it; zero without an end. An invite pauses when its maker's
// key expires.
func (k *Key) AcceptedUntil() time.Time {
	until := k.ExpiresAt
	if k.Invite == nil || k.Invite.maker.expiresAt.IsZero() || !until.IsZero() && until.Before(k.Invite.maker.expiresAt) {
		return until
	}
	return k.Invite.maker.expiresAt
}

// pausedBy lists what is paused because a key has ended.
func (s *Service) pausedBy(tx *database.Tx, keyID string) (*openintentv1.PausedByKey, error) {
	paused := new(openintentv1.PausedByKey)
	err := tx.Pipeline(database.ReadValues(&paused.InviteIds, "SELECT key_id FROM api_keys WHERE channel_id IS NOT NULL AND invited_by_key = ? AND "+
		live+" ORDER BY key_id LIMIT ?", keyID, database.Micros(s.db.Now()), maxListed+1))
	if err != nil {
		return nil, err
	}
	if s.madeWith != nil {
		if paused.SubscriptionIds, err = s.madeWith(tx, keyID, maxListed+1); err != nil {
			return nil, err
		}
	}
	paused.InviteIds, paused.MoreInvites = firstListed(paused.InviteIds)
	paused.SubscriptionIds, paused.MoreSubscriptions = firstListed(paused.SubscriptionIds)
	return paused, nil
}

func firstListed(ids []string) (listed []string, more bool) {
	return ids[:min(len(ids), maxListed)], len(ids) > maxListed
}

// addMakers reads what became of the makers of those of the keys that are invites.
func addMakers(tx *database.Tx, keys []*Key) error {
	var makers []string
	for _, k := range keys {
		if k.Invite != nil {
			makers = append(makers, k.Invite.ByKey)
		}
	}
	fates, err := fatesOf(tx, makers)
	for _, k := range keys {
		if k.Invite != nil {
			k.Invite.maker = fates[k.Invite.ByKey]
		}
	}
	return err
}

// fatesOf reads what became of those makers that are keys of the database.
func fatesOf(tx *database.Tx, makers []string) (map[string]fate, error) {
	var ids []string
	for _, id := range makers {
		if IsID(id) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	fates := make(map[string]fate)
	in, list := tx.In("key_id", ids)
	err := tx.Pipeline(database.Statement{
		SQL:  "SELECT key_id, revoked_at, expires_at FROM api_keys WHERE (revoked_at IS NOT NULL OR expires_at IS NOT NULL) AND " + in,
		Args: []any{list},
		Scan: func(row database.Row) error {
			var id string
			var revokedAt, expiresAt *int64
			err := row.Scan(&id, &revokedAt, &expiresAt)
			fates[id] = fate{database.TimeOrZero(revokedAt), database.TimeOrZero(expiresAt)}
			return err
		},
	})
	return fates, err
}

// ShownMaker returns what clients see of a maker: the id of a key of the database, a word for a key of the configuration, or for whom
// somebody else vouches.
func ShownMaker(id, subject string) string {
	switch {
	case id == "" || IsID(id):
		return id
	case subject != "":
		return subject
	}
	return configured
}

// configuredIDLength is the length of the ids that the server gives to the keys of its configuration. What stands for a token or a
// certificate has another one.
const configuredIDLength = 16

// isConfiguredID reports whether a text has the form of the id of a key of the server's configuration.
func isConfiguredID(text string) bool {
	return len(text) == configuredIDLength && strings.Trim(text, "0123456789abcdef") == ""
}
