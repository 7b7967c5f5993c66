package agentchannel

import (
	"context"
	"math"
	"net/url"
	"slices"
	"strconv"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"openintent/fault"
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

// errCursor refuses a cursor that no page had.
var errCursor = fault.BadField("cursor", "is none of this list; leave it out to begin anew.")

// List lists a page of the channels with an address that the caller may see: those to which its key is kept, and those of its intents. Those
// of newer intents come first, and of one intent the newer ones. A cursor counts the intents that are left, oldest first, so that no new one
// moves a channel to another page.
func (d *Desk) List(ctx context.Context, closedToo bool, cursor string) (*Listing, error) {
	l := &lister{desk: d, closedToo: closedToo, Listing: Listing{Channels: []Listed{}}}
	left := int32(math.MaxInt32)
	if cursor != "" {
		given, err := strconv.ParseInt(cursor, 10, 32)
		if err != nil || given < 1 {
			return nil, errCursor
		}
		left = int32(given)
	} else if err := l.kept(ctx); err != nil {
		return nil, err
	}
	err := l.intents(ctx, left)
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

// intents adds the channels of the caller's intents, of which so many are left, newest first.
func (l *lister) intents(ctx context.Context, left int32) error {
	call := l.desk.Caller.Intents.ListIntents
	counted, err := call(ctx, &openintentv1.ListIntentsRequest{Limit: new(int32(1))})
	if err != nil {
		return err
	}
	left = int32(min(int64(left), counted.GetTotal()))
	for looked := 0; left > 0; {
		first := max(0, left-intentsPerPage)
		page, err := call(ctx, &openintentv1.ListIntentsRequest{Limit: new(left - first), Offset: &first})
		if err != nil {
			return err
		}
		for _, intent := range slices.Backward(page.GetIntents()) {
			if len(l.Channels) >= listed || looked == mostIntents {
				l.More, l.NextCursor = true, strconv.Itoa(int(left))
				return nil
			}
			if err := l.intent(ctx, intent.GetId()); err != nil {
				return err
			}
			left, looked = left-1, looked+1
		}
		left = first
	}
	return nil
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
