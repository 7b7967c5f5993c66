package keys

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/pages"
)

const (
	// maxGuests is how many guests may come with all invites that are accepted at a time, and maxGuestsOfKey with those that were
	// made under one key. So nobody fills the servers' memory, or leaves no room for others.
	maxGuests, maxGuestsOfKey = 20_000, 1_000
	// inviteDays is for how long an invite is accepted unless its maker says, and maxInviteDays for how long it may be.
	inviteDays, maxInviteDays = 7, 90
)

const day = 24 * time.Hour

// Invite is what a key that is an invite has besides. Its Agents are the guests that have come, in the order of their names'
// places.
type Invite struct {
	ChannelID string
	IntentNo  int64
	// MaxAgents is how many guests may come.
	MaxAgents int
	// Expected are the names that were given to the invite and are not used yet.
	Expected []string
	// By is the agent that made it, under the key with the id ByKey.
	By, ByKey string
	// maker is what became of that key.
	maker fate
}

// InviteDraft describes an invite that is to be made.
type InviteDraft struct {
	Label     string
	Invite    Invite
	ReadOnly  bool
	ExpiresAt time.Time // zero for the usual time
}

// check refuses an invite that cannot be, and fills in what the draft leaves open.
func (d *InviteDraft) check(now time.Time) error {
	for i, agent := range d.Invite.Expected {
		field := fmt.Sprintf("agents[%d]", i)
		if err := caller.CheckGuestName(field, agent); err != nil {
			return err
		}
	}
	d.Invite.MaxAgents = cmp.Or(d.Invite.MaxAgents, max(1, len(d.Invite.Expected)))
	if d.Invite.MaxAgents < len(d.Invite.Expected) {
		return fault.BadField("max_agents", "it must be at least the number of agents that the invite names; leave it out for just these.")
	}
	if d.ExpiresAt.IsZero() {
		d.ExpiresAt = now.Add(inviteDays * day)
	}
	if !d.ExpiresAt.After(now) || d.ExpiresAt.After(now.Add(maxInviteDays*day)) {
		return fault.BadField("expires_at", "it must lie in the future, and at most %d days from now.", maxInviteDays)
	}
	return caller.CheckText("label", d.Label)
}

// IssueInvite stores a new invite in a transaction of the caller's, and returns it with its secret. Call Changed after the
// commit.
func IssueInvite(tx *database.Tx, d InviteDraft, by caller.Caller) (*Key, string, error) {
	if err := changeTag(tx); err != nil {
		return nil, "", err
	}
	now := tx.Now()
	if err := d.check(now); err != nil {
		return nil, "", err
	}
	if err := checkRoom(tx, d.Invite, now); err != nil {
		return nil, "", err
	}
	secret := newSecret()
	key := &Key{
		ID: newID(), Label: d.Label, Version: 1, Digest: DigestOf(secret),
		Settings: Settings{
			Agents: []string{}, Roles: []string{}, ReadOnly: d.ReadOnly, Scope: caller.NewScope(nil, []string{d.Invite.ChannelID}),
			Invite: &d.Invite,
		},
		CreatedAt: now, CreatedBy: maker(by), ExpiresAt: d.ExpiresAt,
	}
	if err := insert(tx, key); err != nil {
		return nil, "", err
	}
	for place, agent := range d.Invite.Expected {
		if err := takeName(tx, key.ID, agent, place, time.Time{}); err != nil {
			return nil, "", err
		}
	}
	return key, secret, nil
}

// checkRoom refuses an invite for which there is no room beside the others. The transaction has locked the tag.
func checkRoom(tx *database.Tx, wanted Invite, now time.Time) error {
	const sum = "SELECT COALESCE(sum(max_agents), 0) FROM api_keys WHERE channel_id IS NOT NULL AND " + live
	var all, own int64
	at := database.Micros(now)
	err := tx.Pipeline(database.ReadValue(&all, sum, at), database.ReadValue(&own, sum+" AND invited_by_key = ?", at, wanted.ByKey))
	if err != nil {
		return err
	}
	if more := int64(wanted.MaxAgents); all+more > maxGuests || own+more > maxGuestsOfKey {
		return errTooManyInvites
	}
	return nil
}

// Welcome takes a name for a guest of an invite that the transaction has locked, unless the guest has it already. isNew is true
// for a guest that comes for the first time. Call Changed after the commit.
func Welcome(tx *database.Tx, k *Key, agent string) (isNew bool, err error) {
	switch {
	case slices.Contains(k.Agents, agent):
		return false, nil
	case slices.Contains(k.Invite.Expected, agent):
		err = tx.Pipeline(database.Statement{
			SQL: "UPDATE guests SET joined_at = ? WHERE agent_id = ?", Args: []any{database.Micros(tx.Now()), agent},
		})
	default:
		if err := k.UsedUp(); err != nil {
			return false, err
		}
		err = takeName(tx, k.ID, agent, len(k.Agents)+len(k.Invite.Expected), tx.Now())
	}
	if err != nil {
		return false, err
	}
	return true, changeTag(tx)
}

// UsedUp refuses another guest of an invite with which all guests have come, or are expected under other names.
func (k *Key) UsedUp() error {
	if len(k.Agents)+len(k.Invite.Expected) < k.Invite.MaxAgents {
		return nil
	}
	return errUsedUp
}

// LockInvite reads an invite and locks it until the transaction ends. It refuses an id that no invite of the channel has.
func LockInvite(tx *database.Tx, channelID, id string) (*Key, error) {
	key, err := lock(tx, id)
	switch {
	case errors.Is(err, errNotFound):
		return nil, errInviteNotFound
	case err != nil:
		return nil, err
	case key.Invite == nil || key.Invite.ChannelID != channelID:
		return nil, errInviteNotFound
	}
	return key, nil
}

// EndInvite revokes an invite that the transaction has locked. It tells whether that changed anything. Call Changed after the
// commit.
func EndInvite(tx *database.Tx, k *Key) (changed bool, err error) {
	if !k.RevokedAt.IsZero() {
		return false, nil
	}
	k.revoke(tx.Now())
	return true, store(tx, k)
}

// ListInvites reads a page of a channel's invites, oldest first, after a place.
func ListInvites(tx *database.Tx, page *pages.Page, channelID string, createdAt int64, id string) ([]*Key, error) {
	return list(tx, page, "channel_id = ?", []any{channelID}, place{createdAt, id})
}

// EndedInvites returns some of the invites that have ended and whose guests have not left yet.
func EndedInvites(tx *database.Tx, limit int) ([]*Key, error) {
	return read(tx, tx.Gorm().Where("channel_id IS NOT NULL AND NOT guests_left AND (revoked_at IS NOT NULL OR expires_at <= ?)",
		database.Micros(tx.Now())).Limit(limit))
}

// GuestsLeft notes that the guests of an ended invite have left.
func GuestsLeft(tx *database.Tx, k *Key) error {
	return tx.Pipeline(database.Statement{SQL: "UPDATE api_keys SET guests_left = true WHERE key_id = ?", Args: []any{k.ID}})
}

// TakeOver makes a caller's key the maker of an invite that the transaction has locked, so that it is not paused any more because of the
// one before. Call Changed after the commit.
func TakeOver(tx *database.Tx, k *Key, by caller.Caller) error {
	if k.Ended(tx.Now()) {
		return errInviteEnded
	}
	if k.Invite.ByKey == by.KeyID {
		return nil
	}
	if err := changeTag(tx); err != nil {
		return err
	}
	if err := checkRoom(tx, Invite{ByKey: by.KeyID, MaxAgents: k.Invite.MaxAgents}, tx.Now()); err != nil {
		return err
	}
	k.Invite.ByKey, k.Invite.maker = by.KeyID, fate{}
	return tx.Pipeline(database.Statement{SQL: "UPDATE api_keys SET invited_by_key = ? WHERE key_id = ?", Args: []any{by.KeyID, k.ID}})
}
