package server

import (
	"context"
	"errors"
	"slices"

	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/invites"
	"openintent/keys"
)

// These are the refusals of guests' names.
var (
	errGuestNameless = fault.New(fault.Denied, "AGENT_NEEDED",
		"The API key is an invite; name yourself in X-Agent-ID, with a name that begins with "+caller.GuestPrefix+".")
	errGuestNamesake = fault.New(fault.Denied, "AGENT_NOT_ALLOWED",
		"The API key is an invite, and its guests' names begin with "+caller.GuestPrefix+"; name one in X-Agent-ID, such as "+
			caller.GuestPrefix+"researcher.")
	errNoGuest = fault.New(fault.Denied, "AGENT_RESERVED",
		"Names that begin with "+caller.GuestPrefix+" are for those who come with an invite; choose another name.")
)

// guestRoom is the room that lets guests in.
type guestRoom interface {
	// Join takes a name for a guest, and makes the guest a member of the invite's channel.
	Join(ctx context.Context, invite *keys.Key, agent string) error
	// ChannelName returns the name of the invite's channel.
	ChannelName(ctx context.Context, invite *keys.Key) (string, error)
}

// guest returns the invite and the name of the guest that calls with it, and lets in a guest that comes for the first time. A name
// that another server has let in a moment ago costs a look at the database.
func (s *storedKeys) guest(ctx context.Context, key *apiKey, named string) (*apiKey, string, error) {
	expected := key.invite.Invite.Expected
	switch {
	case named == "" && len(key.agents) == 1:
		return key, key.agents[0], nil
	case named == "" && len(key.agents) == 0 && len(expected) == 1:
		named = expected[0]
	case named == "":
		return nil, "", errGuestNameless
	case !caller.IsGuest(named):
		return nil, "", errGuestNamesake
	}
	if slices.Contains(key.agents, named) {
		return key, named, nil
	}
	if err := key.invite.UsedUp(); err != nil && !slices.Contains(expected, named) {
		return nil, "", err
	}
	if err := s.guests.Join(ctx, key.invite, named); err != nil {
		if errors.Is(err, invites.ErrEnded) {
			err = errKeyUnknown
		}
		return nil, "", err
	}
	if err := s.looks.after(ctx); err != nil {
		return nil, "", err
	}
	joined := s.get(key.digest)
	if joined == nil {
		return nil, "", errKeyUnknown
	}
	return joined, named, nil
}

// checkName refuses a guest's name to callers who come without an invite.
func (k *apiKey) checkName(agent string) error {
	if k.invite == nil && caller.IsGuest(agent) {
		return errNoGuest
	}
	return nil
}
