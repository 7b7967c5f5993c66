package repomesh

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
)

// eventSearch finds messages of the mesh by their words.
var eventSearch = newAction("event.search", "Find messages by words, newest first; next leads on as cursor.", nil,
	[]property{text("keyword"), text("from"), text("to"), text("type"), text("channel"), text("since"), text("before"), whole("limit"), text("cursor")},
	func(ctx context.Context, s *session, given searchArguments) (any, error) {
		if value(given.Keyword) == "" {
			return s.searchAll(ctx, given)
		}
		return s.search(ctx, given)
	}).by().anyone()

type searchArguments struct {
	repeats
	Keyword *string `json:"keyword"`
	From    *string `json:"from"`
	To      *string `json:"to"`
	Type    *string `json:"type"`
	Channel *string `json:"channel"`
	Since   *string `json:"since"`
	Before  *string `json:"before"`
	Limit   *int    `json:"limit"`
	Cursor  *string `json:"cursor"`
}

type foundAnswer struct {
	// Events and Items are the same list; a model gets Items alone.
	Events *[]*event `json:"events,omitempty"`
	Items  []*event  `json:"items"`
	Count  int       `json:"count"`
	Next   string    `json:"next,omitempty"`
	// Incomplete says that the index lacks messages in which the words may occur.
	Incomplete bool `json:"index_incomplete,omitempty"`
}

// mostFound is how many messages one search of the contract may find.
const mostFound = 100

// search looks for words in the index.
func (s *session) search(ctx context.Context, given searchArguments) (any, error) {
	wanted, err := spanOf(given.Since, given.Before, nil, given.Limit)
	if err != nil {
		return nil, err
	}
	request := &openintentv1.SearchMessagesRequest{
		Q: *given.Keyword, IntentId: &s.intent, Sender: given.From, To: addressOf(given.To), Limit: new(int32(min(wanted.limit, mostFound))),
		After: momentOrNone(wanted.since), Before: momentOrNone(wanted.before), Cursor: given.Cursor,
	}
	legacy := ""
	if name := value(given.Type); name != "" {
		if name, legacy, err = typeOf(name); err != nil {
			return nil, err
		}
		request.Kind = &name
	}
	if name := value(given.Channel); name != "" {
		channels, _, err := s.channels(ctx, name)
		if err != nil || len(channels) == 0 {
			return s.found([]*event{}, "", false), err
		}
		request.ChannelId = new(channels[0].GetId())
	}
	page, err := s.caller.Search.SearchMessages(ctx, request)
	if err != nil {
		return nil, err
	}
	events := []*event{}
	for _, found := range page.GetMessages() {
		e := eventOf(found.GetMessage(), found.GetChannelName(), min(s.room, modelPayload))
		if e.Snippet = found.GetSnippet(); legacy == "" || e.LegacyType == legacy {
			events = append(events, e)
		}
	}
	return s.found(events, page.GetNextCursor(), doors.IndexIncomplete(page)), nil
}

// found returns the answer with what a search has found.
func (s *session) found(events []*event, next string, incomplete bool) foundAnswer {
	answer := foundAnswer{Items: events, Count: len(events), Next: next, Incomplete: incomplete}
	if !s.model {
		answer.Events = &answer.Items
	}
	return answer
}

// searchAll looks for what passes the filters, without words: through the channels themselves.
func (s *session) searchAll(ctx context.Context, given searchArguments) (any, error) {
	before := given.Before
	if value(given.Cursor) != "" {
		before = given.Cursor
	}
	g, err := listArguments{Type: given.Type, Since: given.Since, Before: before, Limit: given.Limit}.gathering(s)
	if err != nil {
		return nil, err
	}
	g.from = value(given.From)
	switch to := value(given.To); to {
	case everyone, wildcard:
		g.only = everyone
	default:
		g.only = to
	}
	return s.gather(ctx, g, value(given.Channel))
}

// addressOf returns a recipient as the contract writes it.
func addressOf(to *string) *string {
	switch value(to) {
	case "":
		return nil
	case everyone:
		return new(wildcard)
	}
	return to
}

func momentOrNone(at time.Time) *timestamppb.Timestamp {
	if at.IsZero() {
		return nil
	}
	return timestamppb.New(at)
}
