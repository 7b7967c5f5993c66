package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/optional"
)

const (
	// intentsLooked is how many intents one answer goes over.
	intentsLooked = 20
	// channelRows is how many intents and channels together one answer shows.
	channelRows = 14
	// channelPages is how many pages of channels one call reads at most, however few of them fit the query.
	channelPages = 40
	// titleShown is how many bytes of an intent's title a list shows.
	titleShown = 100
)

// channels lists the open channels that the caller can see.
var channels = newTool(reads, "channels", "Open channels that you can see, by intent.",
	`"intent":{"type":"string","description":"id"},"query":{"type":"string","description":"part of a name or title"},`+cursorProperty,
	nil,
	func(ctx context.Context, s *session, given channelsArguments) (any, error) {
		at, err := placeAt(given.Cursor)
		if err != nil {
			return nil, err
		}
		l := &channelList{
			s: s, query: strings.ToLower(given.Query), rows: channelRows, pages: channelPages,
			answer: channelsAnswer{Intents: []seenIntent{}},
		}
		if given.Intent != "" {
			err = l.one(ctx, given.Intent, at)
		} else {
			err = l.all(ctx, at)
		}
		return l.answer, err
	})

type channelsArguments struct {
	Intent string `json:"intent"`
	Query  string `json:"query"`
	Cursor string `json:"cursor"`
}

type channelsAnswer struct {
	Cursor  string       `json:"cursor,omitempty"`
	Intents []seenIntent `json:"intents"`
}

// seenIntent is an intent with the channels of it that are on this page.
type seenIntent struct {
	ID       string        `json:"id"`
	Channels []seenChannel `json:"channels,omitempty"`
	Title    string        `json:"title,omitempty"`
}

type seenChannel struct {
	ID       string `json:"id"`
	Messages int64  `json:"messages"`
	Last     string `json:"last,omitempty"`
	// Members is "explicit" if only listed members take part.
	Members string `json:"members,omitempty"`
	Name    string `json:"name"`
}

// listPlace is where a list of channels goes on.
type listPlace struct {
	// Kept counts the channels to which the key is kept that were shown.
	Kept int `json:"k,omitempty"`
	// Intents is the cursor of the page of intents, Intent the one of its intents to go on with, and Channels the cursor in its channels.
	Intents  string `json:"i,omitempty"`
	Intent   string `json:"n,omitempty"`
	Channels string `json:"c,omitempty"`
}

// longestCursor is longer than any cursor that the door makes.
const longestCursor = 16 << 10

// cursor is what placeAt reads.
func (p listPlace) cursor() string { return base64.RawURLEncoding.EncodeToString([]byte(inJSON(p))) }

// placeAt returns the place that a cursor names; without a cursor, the beginning.
func placeAt(cursor string) (place listPlace, err error) {
	if cursor == "" {
		return listPlace{}, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(cursor) > longestCursor || json.Unmarshal(text, &place) != nil || place.Kept < 0 {
		return listPlace{}, fault.BadField("cursor", "must be the cursor of an answer of channels; leave it out to begin anew.")
	}
	return place, nil
}

// channelList is an answer while it is being filled.
type channelList struct {
	s     *session
	query string
	// rows and pages are how many are left.
	rows, pages int
	answer      channelsAnswer
}

// one lists the channels of one intent.
func (l *channelList) one(ctx context.Context, id string, at listPlace) error {
	intent, err := l.s.caller.Intents.GetIntent(ctx, &openintentv1.GetIntentRequest{IntentId: id})
	if err != nil {
		return err
	}
	rest, done, err := l.intent(ctx, intent, at.Channels)
	if err == nil && !done {
		l.answer.Cursor = listPlace{Channels: rest}.cursor()
	}
	return err
}

// all lists the channels to which the key is kept, and then those of a page of intents.
func (l *channelList) all(ctx context.Context, at listPlace) error {
	if at.Intents == "" && at.Intent == "" {
		shown, err := l.kept(ctx, at.Kept)
		if err != nil {
			return err
		}
		if at.Kept = shown; shown < len(l.s.caller.OnlyChannels) {
			l.answer.Cursor = listPlace{Kept: shown}.cursor()
			return nil
		}
	}
	page, err := l.s.caller.Intents.ListIntents(ctx, &openintentv1.ListIntentsRequest{
		Limit: new(int32(intentsLooked)), Cursor: optional.Text(at.Intents),
	})
	if err != nil {
		return err
	}
	intents := page.GetIntents()
	first := max(0, slices.IndexFunc(intents, func(i *openintentv1.Intent) bool { return i.GetId() == at.Intent }))
	for _, intent := range intents[first:] {
		from := ""
		if intent.GetId() == at.Intent {
			from = at.Channels
		}
		rest, done, err := l.intent(ctx, intent, from)
		if err != nil {
			return err
		}
		if !done {
			l.answer.Cursor = listPlace{Kept: at.Kept, Intents: at.Intents, Intent: intent.GetId(), Channels: rest}.cursor()
			return nil
		}
	}
	if page.NextCursor != nil {
		l.answer.Cursor = listPlace{Kept: at.Kept, Intents: page.GetNextCursor()}.cursor()
	}
	return nil
}

// kept lists the channels to which the key is kept, after so many of them, and returns how many are done.
func (l *channelList) kept(ctx context.Context, from int) (done int, err error) {
	all := l.s.caller.OnlyChannels
	for done = min(from, len(all)); done < len(all) && l.rows >= 2 && l.pages > 0; done++ {
		l.pages--
		channel, err := l.s.caller.Channels.GetChannel(ctx, &openintentv1.GetChannelRequest{ChannelId: all[done]})
		switch {
		case gone(err):
		case err != nil:
			return 0, err
		case isOpen(channel) && l.asksFor(channel.GetName()):
			l.rows -= 2
			l.answer.Intents = append(l.answer.Intents, seenIntent{ID: channel.GetIntentId(), Channels: []seenChannel{seen(channel)}})
		}
	}
	return done, nil
}

// intent lists the open channels of an intent from a cursor on. If it comes to no end, it returns the cursor to go on with.
func (l *channelList) intent(ctx context.Context, intent *openintentv1.Intent, from string) (rest string, done bool, err error) {
	if over(intent) {
		return "", true, nil
	}
	titled := l.asksFor(intent.GetTitle())
	entry := seenIntent{ID: intent.GetId(), Title: doors.Beginning(intent.GetTitle(), titleShown)}
	defer func() {
		if len(entry.Channels) > 0 || done && err == nil && titled && from == "" {
			l.rows -= 1 + len(entry.Channels)
			l.answer.Intents = append(l.answer.Intents, entry)
		}
	}()
	for cursor := from; ; {
		free := l.rows - 1 - len(entry.Channels)
		if free < 1 || l.pages == 0 {
			return cursor, false, nil
		}
		l.pages--
		page, err := l.s.caller.Channels.ListChannels(ctx, &openintentv1.ListChannelsRequest{
			IntentId: intent.GetId(), Status: openintentv1.ChannelStatus_CHANNEL_STATUS_OPEN.Enum(),
			Limit: new(int32(free)), Cursor: optional.Text(cursor),
		})
		if gone(err) {
			return "", true, nil
		}
		if err != nil {
			return "", false, err
		}
		for _, channel := range page.GetChannels() {
			if titled || l.asksFor(channel.GetName()) {
				entry.Channels = append(entry.Channels, seen(channel))
			}
		}
		if cursor = page.GetNextCursor(); cursor == "" {
			return "", true, nil
		}
	}
}

// asksFor reports whether the query is part of a text.
func (l *channelList) asksFor(text string) bool {
	return strings.Contains(strings.ToLower(text), l.query)
}

// seen returns a channel as a list shows it.
func seen(c *openintentv1.Channel) seenChannel {
	row := seenChannel{ID: c.GetId(), Messages: c.GetMessageCount(), Last: moment(c.GetLastMessageAt()), Name: c.GetName()}
	if c.GetMemberPolicy() == openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT {
		row.Members = doors.Word(c.GetMemberPolicy())
	}
	return row
}

func isOpen(c *openintentv1.Channel) bool {
	return c.GetStatus() == openintentv1.ChannelStatus_CHANNEL_STATUS_OPEN
}

// over reports whether an intent has ended; then it has no open channels.
func over(i *openintentv1.Intent) bool {
	return i.GetStatus() == openintentv1.IntentStatus_INTENT_STATUS_COMPLETED ||
		i.GetStatus() == openintentv1.IntentStatus_INTENT_STATUS_ABANDONED
}

// gone reports whether an error says that the caller does not see something, or not any more.
func gone(err error) bool {
	return status.Code(err) == codes.NotFound || status.Code(err) == codes.PermissionDenied
}
