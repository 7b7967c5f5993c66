package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// invitesCommand holds the verbs that work on the invites to a channel.
type invitesCommand struct {
	List   inviteListCommand   `cmd:"" default:"withargs" help:"List a channel's invites, with those that have ended."`
	Create inviteCreateCommand `cmd:"" help:"Create an invite, and print what the other side needs to join, this once."`
	Revoke inviteRevokeCommand `cmd:"" help:"End an invite for good; its guests leave the channel."`
}

// inviteListCommand lists invites.
type inviteListCommand struct {
	connection
	listing
	channelArgument
}

// Run prints a table.
func (c *inviteListCommand) Run(ctx context.Context, to terminal) error {
	return c.onChannel(ctx, to, c.channelArgument, func(client *openintent.Client, channel string) error {
		request := &openintentv1.ListInvitesRequest{ChannelId: channel}
		listed, err := openintent.EveryPage(ctx, func(ctx context.Context, cursor *string) ([]*openintentv1.Invite, *string, error) {
			request.Cursor = cursor
			page, err := client.Raw().Invites.ListInvites(ctx, request)
			if err != nil {
				return nil, nil, err
			}
			return page.GetInvites(), page.NextCursor, nil
		})
		if err != nil {
			return err
		}
		printed := newTable("INVITE", "STATUS", "GUESTS", "OF", "EXPIRES", "LAST USED", "LABEL")
		return listOf(c.listing, to, printed, listed, func(i *openintentv1.Invite) []string {
			return []string{
				i.GetId(), inviteStatus(i), strings.Join(i.GetAgents(), ", "), fmt.Sprint(i.GetMaxAgents()),
				clock(i.GetExpiresAt()), clock(i.GetLastUsedAt()), i.GetLabel(),
			}
		})
	})
}

// inviteCreateCommand makes an invite.
type inviteCreateCommand struct {
	connection
	output
	channelArgument
	Guest    []string      `placeholder:"NAME" help:"Name of a guest, which begins with guest-; may be repeated. Without it, whoever has the invite chooses."`
	Uses     int32         `placeholder:"N" help:"How many guests may come with it (as many as are named, or 1)."`
	Expires  time.Duration `default:"168h" placeholder:"DURATION" help:"For how long the invite is valid, 90 days at most (168h)."`
	ReadOnly bool          `help:"Make an invite whose guests may only read."`
	Label    string        `placeholder:"TEXT" help:"What it is for, in words for people."`
}

// Run prints on stdout the line with which each guest joins, and the rest on stderr.
func (c *inviteCreateCommand) Run(ctx context.Context, to terminal) error {
	return c.onChannel(ctx, to, c.channelArgument, func(client *openintent.Client, channel string) error {
		request := &openintentv1.CreateInviteRequest{
			ChannelId: channel, Label: c.Label, Agents: c.Guest, ReadOnly: c.ReadOnly,
			ExpiresAt: timestamppb.New(time.Now().Add(c.Expires)),
		}
		if c.Uses != 0 {
			request.MaxAgents = &c.Uses
		}
		issued, err := called(client.Raw().Invites.CreateInvite(ctx, request))
		if err != nil {
			return err
		}
		if c.JSON {
			return lines(to, issued)
		}
		return joining(to, issued)
	})
}

// joining prints how guests join with an invite.
func joining(to terminal, issued *openintentv1.IssuedInvite) error {
	made := issued.GetInvite()
	to.note("The invite %s lets in %d, until %s. Give the other side this line now; nobody can show the key again.",
		made.GetId(), made.GetMaxAgents(), clock(made.GetExpiresAt()))
	names := made.GetExpectedAgents()
	if len(names) < int(made.GetMaxAgents()) {
		names = append(names, "guest-NAME")
	}
	for _, name := range names {
		if err := printLine(to, "OPENINTENT_API_KEY="+issued.GetSecret()+" OPENINTENT_AGENT_ID="+name); err != nil {
			return err
		}
	}
	return nil
}

// inviteRevokeCommand ends an invite.
type inviteRevokeCommand struct {
	connection
	output
	channelArgument
	ID string `arg:"" name:"invite-id" help:"The invite's id."`
}

// Run prints the revoked invite's fields.
func (c *inviteRevokeCommand) Run(ctx context.Context, to terminal) error {
	return c.onChannel(ctx, to, c.channelArgument, func(client *openintent.Client, channel string) error {
		revoked, err := called(client.Raw().Invites.RevokeInvite(ctx, &openintentv1.RevokeInviteRequest{
			ChannelId: channel, InviteId: c.ID,
		}))
		if err != nil {
			return err
		}
		return show(c.output, to, revoked, inviteFields)
	})
}

func inviteFields(i *openintentv1.Invite) (shown fields) {
	shown.add("invite", i.GetId())
	shown.add("channel", i.GetChannelId())
	shown.add("label", i.GetLabel())
	shown.add("status", inviteStatus(i))
	shown.add("guests", strings.Join(i.GetAgents(), ", "))
	shown.add("created", clock(i.GetCreatedAt())+" by "+i.GetCreatedBy())
	shown.add("expires", clock(i.GetExpiresAt()))
	shown.add("last used", clock(i.GetLastUsedAt()))
	shown.add("revoked", clock(i.GetRevokedAt()))
	return shown
}

// onChannel runs work on the channel that an argument names.
func (c connection) onChannel(
	ctx context.Context, to terminal, argument channelArgument, work func(client *openintent.Client, channel string) error,
) error {
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	channel, err := argument.find(ctx, client)
	if err != nil {
		return err
	}
	return work(client, channel.GetId())
}

// inviteStatus reports whether the server accepts an invite.
func inviteStatus(i *openintentv1.Invite) string {
	if i.PausedReason == nil {
		return word(i.GetStatus())
	}
	return "paused: " + i.GetPausedReason()
}
