package search

import (
	"cmp"
	"context"
	"errors"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/pages"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

const (
	// listOfFound names the list in its cursors, and defaultPage is how many messages a page has unless the call says.
	listOfFound = "search"
	defaultPage = 20
	// searchTime bounds one search, with its wait for its turn.
	searchTime = 5 * time.Second
	// mostEach is how many searches one key may have under way on a server.
	mostEach = 8
)

// SearchMessages finds messages that the caller may see by their words.
func (s *Service) SearchMessages(
	ctx context.Context, req *openintentv1.SearchMessagesRequest,
) (*openintentv1.SearchMessagesResponse, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	if s.off {
		return nil, errOff
	}
	w, err := wantedFrom(c, req)
	if err != nil {
		return nil, err
	}
	searches, err := s.enter(c.KeyID)
	if err != nil {
		return nil, err
	}
	defer s.leave(c.KeyID)
	bounded, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	var p *page
	asOf := s.db.Now()
	err = searches.inTurn(bounded, func() error {
		return s.db.ReadHeavy(bounded, c.Reader(), func(tx *database.Tx) (err error) {
			if p, err = s.find(tx, w); err == nil {
				p.extent, err = s.extent(tx, w, asOf)
			}
			return err
		})
	})
	switch {
	case err != nil && bounded.Err() != nil && ctx.Err() == nil && !errors.Is(err, database.ErrCrowded):
		return nil, errTooSlow
	case err != nil:
		return nil, err
	}
	if err := s.keep(ctx, p.keeps); err != nil {
		s.logger.Warn("a search found something, but could not note where to keep the index; the next one does", "error", err)
	}
	s.messaging.RecordOffered(c.Agent, p.offered()...)
	return p.toWire()
}

// wantedFrom reads what a call looks for.
func wantedFrom(c caller.Caller, req *openintentv1.SearchMessagesRequest) (w wanted, err error) {
	w = wanted{
		by: c, intentID: req.GetIntentId(), channelID: req.GetChannelId(), threadID: req.GetThreadId(),
		sender: req.GetSender(), to: req.GetTo(), kind: req.GetKind(), below: numberAt(latestMicros),
	}
	for _, field := range []struct{ name, text string }{
		{"q", req.GetQ()}, {"intent_id", w.intentID}, {"channel_id", w.channelID}, {"thread_id", w.threadID},
		{"sender", w.sender}, {"to", w.to}, {"kind", w.kind},
	} {
		err = cmp.Or(err, caller.CheckText(field.name, field.text))
	}
	if err != nil {
		return w, err
	}
	if w.query, err = parseQuery(req.GetQ()); err != nil {
		return w, err
	}
	if req.GetAfter() != nil {
		w.after = req.GetAfter().AsTime()
	}
	if req.GetBefore() != nil {
		w.before = req.GetBefore().AsTime()
	}
	listed, err := pages.Begin(listOfFound, req, defaultPage, &w.below)
	if err != nil {
		return w, err
	}
	w.limit = listed.Limit()
	return w, nil
}

// page is what a search has found.
type page struct {
	found []found
	// next is the number below which the next page begins, or 0 if there is none.
	next int64
	// bounded is true if the page ended because it had looked at enough.
	bounded bool
	extent
}

// found is a message that was found, as of a time.
type found struct {
	message     *message.Message
	number      int64
	snippet     string
	intentID    string
	channelName string
	now         time.Time
}

func (p *page) offered() []reading.Entry {
	entries := make([]reading.Entry, len(p.found))
	for i, f := range p.found {
		entries[i] = reading.Entry{Message: f.message}
	}
	return entries
}

func (p *page) toWire() (*openintentv1.SearchMessagesResponse, error) {
	answer := &openintentv1.SearchMessagesResponse{
		Bounded: p.bounded, MessagesLeft: p.left, IntentsNotIndexed: int32(p.notIndexed),
	}
	for _, f := range p.found {
		wire, err := f.message.ToWire(f.now)
		if err != nil {
			return nil, err
		}
		answer.Messages = append(answer.Messages, &openintentv1.FoundMessage{
			Message: wire, Snippet: f.snippet, IntentId: f.intentID, ChannelName: f.channelName,
		})
	}
	if p.next > 0 {
		cursor := pages.Cursor(listOfFound, p.next)
		answer.NextCursor = &cursor
	}
	if !p.through.IsZero() {
		answer.CompleteThrough = timestamppb.New(p.through)
	}
	if !p.from.IsZero() {
		answer.CompleteFrom = timestamppb.New(p.from)
	}
	return answer, nil
}
