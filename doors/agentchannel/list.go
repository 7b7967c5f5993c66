package agentchannel

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// mostListed is how many channels a list shows, and mostPages how many pages of intents and channels one call reads for them.
	mostListed, mostPages = 200, 60
	// intentsPerPage is how many intents are read at a time.
	intentsPerPage = 50
)

// Listing is a list of channels. More is true if the caller may see further ones.
type Listing struct {
	Channels []Listed `json:"channels"`
	More     bool     `json:"more"`
}

// Listed is a channel in a list.
type Listed struct {
	ID          string `json:"id"`
	Title       string `json:"title"`
	URL         string `json:"url"`
	Status      string `json:"status"`
	CreatedBy   string `json:"created_by"`
	CreatedAt   string `json:"created_at"`
	LastEventAt string `json:"last_event_at,omitempty"`
}

// List lists the channels with an address that the caller may see: those to which its key is kept, and those of its intents.
func (d *Desk) List(ctx context.Context, closedToo bool) (*Listing, error) {
	l := &lister{desk: d, closedToo: closedToo, pages: mostPages, Listing: Listing{Channels: []Listed{}}}
	for _, id := range d.Caller.OnlyChannels {
		channel, err := d.Caller.Channels.GetChannel(ctx, &openintentv1.GetChannelRequest{ChannelId: id})
		if gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if l.add(channel); l.full() {
			return &l.Listing, nil
		}
	}
	err := l.intents(ctx)
	return &l.Listing, err
}

// lister is a list while it is being filled.
type lister struct {
	desk      *Desk
	closedToo bool
	// pages is how many may still be read.
	pages int
	Listing
}

// full reports whether the list ends here, and notes that there may be more.
func (l *lister) full() bool {
	if len(l.Channels) < mostListed && l.pages > 0 {
		return false
	}
	l.More = true
	return true
}

// intents adds the channels of the caller's intents.
func (l *lister) intents(ctx context.Context) error {
	for cursor := (*string)(nil); ; {
		if l.full() {
			return nil
		}
		l.pages--
		page, err := l.desk.Caller.Intents.ListIntents(ctx, &openintentv1.ListIntentsRequest{Limit: new(int32(intentsPerPage)), Cursor: cursor})
		if err != nil {
			return err
		}
		for _, intent := range page.GetIntents() {
			if done, err := l.intent(ctx, intent.GetId()); err != nil || done {
				return err
			}
		}
		if cursor = page.NextCursor; cursor == nil {
			return nil
		}
	}
}

// intent adds the channels of one intent, and reports whether the list is full.
func (l *lister) intent(ctx context.Context, id string) (full bool, err error) {
	request := &openintentv1.ListChannelsRequest{IntentId: id}
	if !l.closedToo {
		request.Status = openintentv1.ChannelStatus_CHANNEL_STATUS_OPEN.Enum()
	}
	for {
		if l.full() {
			return true, nil
		}
		l.pages--
		page, err := l.desk.Caller.Channels.ListChannels(ctx, request)
		if gone(err) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		for _, channel := range page.GetChannels() {
			if l.add(channel); len(l.Channels) == mostListed {
				return l.full(), nil
			}
		}
		if request.Cursor = page.NextCursor; request.Cursor == nil {
			return false, nil
		}
	}
}

// add adds a channel that belongs to the list.
func (l *lister) add(channel *openintentv1.Channel) {
	if channel.GetAddress() == "" || !l.closedToo && statusOf(channel) == "closed" {
		return
	}
	listed := Listed{
		ID: channel.GetAddress(), Title: titleOf(channel), URL: l.desk.url(channel), Status: statusOf(channel),
		CreatedBy: channel.GetCreatedBy(), CreatedAt: moment(channel.GetCreatedAt().AsTime()),
	}
	if channel.LastMessageAt != nil {
		listed.LastEventAt = moment(channel.GetLastMessageAt().AsTime())
	}
	l.Channels = append(l.Channels, listed)
}

// gone reports whether an error says that the caller does not see something, or not any more.
func gone(err error) bool {
	return status.Code(err) == codes.NotFound || status.Code(err) == codes.PermissionDenied
}
