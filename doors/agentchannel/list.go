package agentchannel

import (
	"context"
	"net/url"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// listed is how many channels a page of the list has, unless its last intent has more of them at once.
	listed = 50
	// intentsPerPage is how many intents are read at a time, and mostIntents how many for one page of the list.
	intentsPerPage, mostIntents = 50, 250
	// mostOfIntent is how many pages of an intent's channels are read.
	mostOfIntent = 5
)

// Listing is a page of the list of channels.
type Listing struct {
	Channels []Listed `json:"channels"`
	// More is true if there may be further channels; NextCursor leads on to them then. A page may have no channel and still lead on.
	More       bool   `json:"more"`
	NextCursor string `json:"next_cursor,omitempty"`
}

// link returns the path of the next page, with the rest of the query; empty for none.
func (l *Listing) link(query url.Values) string {
	if l.NextCursor == "" {
		return ""
	}
	query.Set("cursor", l.NextCursor)
	return root + "?" + query.Encode()
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

// List lists a page of the channels with an address that the caller may see: those to which its key is kept, and those of its intents. Those
// of newer intents come first, and of one intent the newer ones. A cursor is one of the list of intents, so no new intent moves a channel to
// another page.
func (d *Desk) List(ctx context.Context, closedToo bool, cursor string) (*Listing, error) {
	l := &lister{desk: d, closedToo: closedToo, Listing: Listing{Channels: []Listed{}}}
	if cursor == "" {
		if err := l.kept(ctx); err != nil {
			return nil, err
		}
	}
	err := l.intents(ctx, cursor)
	return &l.Listing, err
}

// lister is a page of the list while it is being filled.
type lister struct {
	desk      *Desk
	closedToo bool
	Listing
}

// kept adds the channels to which the caller's key is kept.
func (l *lister) kept(ctx context.Context) error {
	for _, id := range slices.Backward(l.desk.Caller.OnlyChannels) {
		channel, err := l.desk.Caller.Channels.GetChannel(ctx, &openintentv1.GetChannelRequest{ChannelId: id})
		switch {
		case gone(err):
			continue
		case err != nil:
			return err
		}
		l.add(channel)
	}
	return nil
}

// intents adds the channels of the caller's intents after a cursor, newest first.
func (l *lister) intents(ctx context.Context, cursor string) error {
	for looked := 0; ; {
		page, err := l.page(ctx, cursor, intentsPerPage)
		if err != nil {
			return err
		}
		intents := page.GetIntents()
		for i, intent := range intents {
			if err := l.intent(ctx, intent.GetId()); err != nil {
				return err
			}
			if looked++; len(l.Channels) < listed && looked < mostIntents {
				continue
			}
			if next := page.NextCursor; i < len(intents)-1 {
				l.NextCursor, err = l.after(ctx, cursor, intents[:i+1])
			} else if next != nil {
				l.NextCursor = *next
			}
			l.More = l.NextCursor != ""
			return err
		}
		if cursor = page.GetNextCursor(); cursor == "" {
			return nil
		}
	}
}

// page reads a page of the caller's intents after a cursor, newest first.
func (l *lister) page(ctx context.Context, cursor string, limit int) (*openintentv1.ListIntentsResponse, error) {
	request := &openintentv1.ListIntentsRequest{Limit: new(int32(limit)), Order: new("desc")}
	if cursor != "" {
		request.Cursor = &cursor
	}
	return l.desk.Caller.Intents.ListIntents(ctx, request)
}

// after returns the cursor after some intents that begin a page. If intents have been made since that page was read, they are in front of the
// others, and the cursor is further back.
func (l *lister) after(ctx context.Context, cursor string, intents []*openintentv1.Intent) (next string, err error) {
	last := intents[len(intents)-1].GetId()
	for limit := len(intents); limit < len(intents)+intentsPerPage; limit++ {
		page, err := l.page(ctx, cursor, limit)
		if err != nil {
			return "", err
		}
		next = page.GetNextCursor()
		if read := page.GetIntents(); len(read) > 0 && read[len(read)-1].GetId() == last {
			break
		}
	}
	return next, nil
}

// intent adds the channels of one intent, the newest first.
func (l *lister) intent(ctx context.Context, id string) error {
	request := &openintentv1.ListChannelsRequest{IntentId: id}
	if !l.closedToo {
		request.Status = openintentv1.ChannelStatus_CHANNEL_STATUS_OPEN.Enum()
	}
	var found []*openintentv1.Channel
	for range mostOfIntent {
		page, err := l.desk.Caller.Channels.ListChannels(ctx, request)
		switch {
		case gone(err):
			return nil
		case err != nil:
			return err
		}
		for _, channel := range page.GetChannels() {
			if channel.GetAddress() != "" {
				found = append(found, channel)
			}
		}
		if request.Cursor = page.NextCursor; request.Cursor == nil {
			break
		}
	}
	for _, channel := range slices.Backward(found) {
		l.add(channel)
	}
	return nil
}

// add adds a channel that belongs to the list.
func (l *lister) add(channel *openintentv1.Channel) {
	if channel.GetAddress() == "" || !l.closedToo && statusOf(channel) == "closed" {
		return
	}
	shown := Listed{
		ID: channel.GetAddress(), Title: titleOf(channel), URL: l.desk.url(channel), Status: statusOf(channel),
		CreatedBy: channel.GetCreatedBy(), CreatedAt: moment(channel.GetCreatedAt().AsTime()),
	}
	if channel.LastMessageAt != nil {
		shown.LastEventAt = moment(channel.GetLastMessageAt().AsTime())
	}
	l.Channels = append(l.Channels, shown)
}

// gone reports whether an error says that the caller does not see something, or not any more.
func gone(err error) bool {
	return status.Code(err) == codes.NotFound || status.Code(err) == codes.PermissionDenied
}
