package agentchannel

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// Inviting is what somebody wants of an invite. Everything may be left out.
type Inviting struct {
	// Agent is the guest's name; it begins with guest-. Without it the guest gets one.
	Agent    string  `json:"agent"`
	Label    string  `json:"label"`
	ReadOnly bool    `json:"read_only"`
	Expires  float64 `json:"expires_s"`
}

// Invited is an invite. Whoever has its URL has its key, which stands behind the #.
type Invited struct {
	URL       string `json:"url"`
	Key       string `json:"key"`
	Agent     string `json:"agent"`
	ReadOnly  bool   `json:"read_only"`
	ExpiresAt string `json:"expires_at"`
}

// guestPrefix begins the names of those who come with an invite.
const guestPrefix = "guest-"

// longestInvite bounds expires_s, in seconds: the contract's 90 days.
const longestInvite = 90 * 24 * 60 * 60

// Invite makes a key for this channel alone, for one guest.
func (d *Desk) Invite(ctx context.Context, named string, wanted Inviting) (*Invited, error) {
	channel, err := d.find(ctx, named)
	if err != nil {
		return nil, err
	}
	if wanted.Agent == "" {
		wanted.Agent = guestPrefix + strings.ToLower(rand.Text()[:8])
	}
	request := &openintentv1.CreateInviteRequest{
		ChannelId: channel.GetId(), Label: wanted.Label, Agents: []string{wanted.Agent}, ReadOnly: wanted.ReadOnly,
	}
	switch {
	case wanted.Expires != 0 && (wanted.Expires < 1 || wanted.Expires > longestInvite):
		return nil, fault.BadField("expires_s", "must lie between 1 second and 90 days; leave it out for 7 days.")
	case wanted.Expires > 0:
		request.ExpiresAt = timestamppb.New(d.now().Add(time.Duration(wanted.Expires * float64(time.Second))))
	}
	issued, err := d.Caller.Invites.CreateInvite(ctx, request)
	if err != nil {
		return nil, err
	}
	return &Invited{
		URL: d.url(channel) + "#" + issued.GetSecret(), Key: issued.GetSecret(), Agent: wanted.Agent, ReadOnly: wanted.ReadOnly,
		ExpiresAt: moment(issued.GetInvite().GetExpiresAt().AsTime()),
	}, nil
}
