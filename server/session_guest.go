package server

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"strings"

	"google.golang.org/grpc/metadata"

	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/keys"
	"openintent/server/jsonform"
)

const (
	// madeUpLetters is how many letters a name has that the server makes up for a guest, after the beginning of all guests' names.
	madeUpLetters = 6
	// madeUpTries is how many names the server makes up before it gives up. Hardly ever does a guest have one already.
	madeUpTries = 5
)

// errNoInvite refuses an API key of another kind in the place of an invite.
var errNoInvite = fault.BadField("invite", "is an API key, and no invite; send it as api_key.")

// guest lets somebody in who comes with an invite and gives a name, or none.
func (c *signingIn) guest(ctx context.Context, invite, name string) (caller.Caller, *apiKey, error) {
	key, err := c.invite(ctx, invite)
	if err != nil {
		return caller.Caller{}, nil, err
	}
	expected := key.invite.Invite.Expected
	switch {
	case name != "":
		name = caller.GuestPrefix + strings.TrimPrefix(strings.TrimSpace(name), caller.GuestPrefix)
		if err := caller.CheckGuestName("name", name); err != nil {
			return caller.Caller{}, nil, err
		}
	case key.invite.UsedUp() != nil && len(expected) > 0:
		name = expected[0] // all places that are left are for names that the invite's maker has given
	}
	for range madeUpTries {
		named := name
		if named == "" {
			named = caller.GuestPrefix + madeUpName()
		}
		who, key, err := c.keys.identify(ctx, metadata.Pairs("x-api-key", invite, "x-agent-id", named))
		if name != "" || !errors.Is(err, keys.ErrNameTaken) {
			return who, key, err
		}
	}
	return caller.Caller{}, nil, keys.ErrNameTaken
}

// invite returns the key of an invite that somebody shows.
func (c *signingIn) invite(ctx context.Context, shown string) (*apiKey, error) {
	key, err := c.keys.shown(ctx, metadata.Pairs("x-api-key", shown))
	if err == nil && key.invite == nil {
		err = errNoInvite
	}
	return key, err
}

// madeUpName returns letters for the name of a guest. Whoever knows them has nothing by that.
func madeUpName() string {
	letters := make([]byte, madeUpLetters)
	for i := range letters {
		letters[i] = byte('a' + rand.IntN(26))
	}
	return string(letters)
}

// shownInvite is what somebody learns of an invite before they come with it.
type shownInvite struct {
	ChannelID string `json:"channel_id"`
	// Channel is the channel's name, and InvitedBy the agent that has made the invite.
	Channel   string `json:"channel"`
	InvitedBy string `json:"invited_by"`
	ReadOnly  bool   `json:"read_only"`
	ExpiresAt string `json:"expires_at"`
}

// showInvite answers whose channel an invite is for, so that its bearer can decide whether to come.
func (c *signingIn) showInvite(w http.ResponseWriter, r *http.Request) error {
	var asked struct {
		Invite string `json:"invite"`
	}
	if err := c.readSignIn(w, r, &asked); err != nil {
		return err
	}
	if asked.Invite == "" {
		return fault.BadField("invite", "is missing; send the invite that you want to know more about.")
	}
	key, err := c.invite(r.Context(), asked.Invite)
	if err != nil {
		return err
	}
	knowConnection(r.Context())
	name, err := c.keys.stored.guests.ChannelName(r.Context(), key.invite)
	if err != nil {
		return err
	}
	return answerJSON(w, http.StatusOK, shownInvite{
		ChannelID: key.invite.Invite.ChannelID, Channel: name, InvitedBy: key.invite.Invite.By, ReadOnly: key.readOnly,
		ExpiresAt: key.invite.ExpiresAt.Format(jsonform.TimeLayout),
	})
}
