package invites

import (
	"context"
	"errors"

	"openintent/agents"
	"openintent/channels"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/keys"
)

// sweepBatch is how many invites one sweep ends at most.
const sweepBatch = 100

// ErrEnded means that an invite is not accepted any more, or is paused.
var ErrEnded = errors.New("the invite has ended")

// Join lets a guest in with an invite: it takes the name and makes the guest a member of the channel. A guest that came before
// stays as it is. The caller has seen the invite's secret.
func (s *Service) Join(ctx context.Context, invite *keys.Key, agent string) error {
	if err := caller.CheckGuestName("X-Agent-ID", agent); err != nil {
		return err
	}
	if err := s.checkFree(ctx, invite, agent); err != nil {
		return err
	}
	came := false
	var key *keys.Key
	err := s.db.Write(ctx, func(tx *database.Tx) error {
		heads, err := intents.Lock(tx, invite.Invite.IntentNo)
		if err != nil {
			return err
		}
		if key, err = keys.LockInvite(tx, invite.Invite.ChannelID, invite.ID); err != nil {
			return err
		}
		head := heads.Get(invite.Invite.IntentNo)
		if key.Ended(head.Now()) || s.keys.Paused(key) != "" { // as of after the lock, so that none comes after the others have left
			return ErrEnded
		}
		if came, err = keys.Welcome(tx, key, agent); err != nil || !came {
			return err
		}
		return s.channels.AddGuest(tx, head, invite.Invite.ChannelID, agent)
	})
	if err == nil && came {
		s.keys.Changed(ctx, "a guest has come", key, caller.Caller{KeyID: invite.ID})
	}
	return err
}

// ChannelName returns the name of the channel that an invite is for. The caller has seen the invite's secret.
func (s *Service) ChannelName(ctx context.Context, invite *keys.Key) (name string, err error) {
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		name, err = channels.NameOf(tx, invite.Invite.ChannelID)
		return err
	})
	return name, err
}

// checkFree refuses a name that somebody else has, without a lock. It also refuses the name of an agent that has registered
// before such names were for guests alone.
func (s *Service) checkFree(ctx context.Context, invite *keys.Key, agent string) error {
	return s.db.Read(ctx, func(tx *database.Tx) error {
		holder, err := keys.HolderOf(tx, agent)
		if err != nil || holder == invite.ID {
			return err
		}
		presences, err := agents.LoadPresences(tx, []string{agent})
		if _, registered := presences[agent]; err == nil && (holder != "" || registered) {
			err = keys.ErrNameTaken.With("agent_id", agent)
		}
		return err
	})
}

// Sweep takes the guests of ended invites off the member lists. It lets this server end their streams first, so that they say why.
func (s *Service) Sweep(ctx context.Context) error {
	var ended []*keys.Key
	err := s.db.Read(ctx, func(tx *database.Tx) (err error) {
		ended, err = keys.EndedInvites(tx, sweepBatch)
		return err
	})
	if err != nil || len(ended) == 0 {
		return err
	}
	s.keys.LookAgain(ctx)
	for _, key := range ended {
		if err := s.letGo(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// letGo ends the memberships of an ended invite's guests. A channel that is gone has no members.
func (s *Service) letGo(ctx context.Context, key *keys.Key) error {
	return s.db.Write(ctx, func(tx *database.Tx) error {
		heads, err := intents.Lock(tx, key.Invite.IntentNo)
		if err != nil {
			return err
		}
		key, err := keys.LockInvite(tx, key.Invite.ChannelID, key.ID)
		if err != nil {
			return err
		}
		head := heads.Get(key.Invite.IntentNo)
		err = s.channels.RemoveGuests(tx, head, key.Invite.ChannelID, key.Agents)
		if err != nil && !errors.Is(err, channels.ErrChannelNotFound) {
			return err
		}
		return keys.GuestsLeft(tx, key)
	})
}
