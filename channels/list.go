package channels

import (
	"context"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/pages"
)

const (
	// piece is how many channels one statement looks at; it is small because each may list many members.
	piece = 64
	// sizeOfChannel is an SQL expression for the bytes that a channel takes on a page, with its members.
	sizeOfChannel = "400 + octet_length(c.name) + octet_length(c.created_by) + COALESCE((SELECT sum(octet_length(m.agent_id) + 3)" +
		" FROM members AS m WHERE m.intent_no = c.intent_no AND m.channel_no = c.channel_no), 0)"
)

// listed is a place in the list of an intent's channels, in which open channels come before closed ones.
type listed struct {
	closed    int64 // 1 for a place among the closed channels
	channelNo int64
}

// ListChannels lists a page of an intent's channels: open ones first, and each group oldest first.
func (s *Service) ListChannels(
	ctx context.Context, req *openintentv1.ListChannelsRequest,
) (*openintentv1.ListChannelsResponse, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	var after listed
	page, err := pages.Begin("channels", req, pages.MaxEntries, &after.closed, &after.channelNo)
	if err != nil {
		return nil, err
	}
	page.InPieces(piece)
	var channels []*openintentv1.Channel
	var places []listed
	err = s.db.ReadHeavy(ctx, c.Reader(), func(tx *database.Tx) error {
		intentNo, err := s.intents.Resolve(tx, req.GetIntentId())
		if err != nil {
			return err
		}
		head, err := intents.ReadHead(tx, intentNo)
		if err != nil {
			return err
		}
		if err := s.requireRead(tx, c, &head); err != nil {
			return err
		}
		rules, err := listRules(tx, page, &head, req.GetStatus(), after)
		if err != nil {
			return err
		}
		for _, r := range rules {
			places = append(places, r.place)
		}
		channels, err = s.answers(tx, &head, withoutPlaces(rules))
		return err
	})
	if err != nil {
		return nil, err
	}
	response := &openintentv1.ListChannelsResponse{}
	response.Channels, response.NextCursor = pages.Close(page, channels, func(i int) []any {
		return []any{places[i].closed, places[i].channelNo}
	})
	return response, nil
}

// placed are a channel's rules with its place in the list.
type placed struct {
	*Rules
	place listed
}

func withoutPlaces(found []placed) []*Rules {
	rules := make([]*Rules, len(found))
	for i, one := range found {
		rules[i] = one.Rules
	}
	return rules
}

// listRules reads the rules of the channels on a page that begins after a place; an unspecified status selects all channels.
func listRules(
	tx *database.Tx, page *pages.Page, head *intents.Head, status openintentv1.ChannelStatus, after listed,
) (found []placed, err error) {
	for closed := after.closed; closed <= 1; closed, after.channelNo = closed+1, 0 {
		if closed == 0 && status == openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED ||
			closed == 1 && status == openintentv1.ChannelStatus_CHANNEL_STATUS_OPEN {
			continue
		}
		condition, args := openNow(head)
		if closed == 1 {
			condition, args = closedNow(head)
		}
		for more := true; more; more = page.More() {
			rules, err := listPiece(tx, page, head, condition, args, after.channelNo)
			if err != nil {
				return nil, err
			}
			for _, r := range rules {
				after.channelNo = r.ChannelNo
				found = append(found, placed{r, listed{closed, r.ChannelNo}})
			}
			if page.More() && page.Full() {
				return found, nil
			}
		}
	}
	return found, nil
}

// listPiece reads the rules of the next channels that meet a condition and go on the page.
func listPiece(
	tx *database.Tx, page *pages.Page, head *intents.Head, condition string, args []any, after int64,
) ([]*Rules, error) {
	selection := " FROM channels AS c JOIN channel_heads AS k ON k.intent_no = c.intent_no AND k.channel_no = c.channel_no" +
		" WHERE c.intent_no = ? AND c.deleted_at IS NULL AND c.channel_no > ? AND " + condition + " ORDER BY c.channel_no"
	args = append([]any{head.IntentNo, after}, args...)
	rows, err := page.Fit(tx, sizeOfChannel, selection, args...)
	if err != nil || rows == 0 {
		return nil, err
	}
	var numbers []int64
	read := database.ReadValues(&numbers, "SELECT c.channel_no"+selection+" LIMIT ?", append(args, rows)...)
	if err := tx.Pipeline(read); err != nil {
		return nil, err
	}
	in, wanted := tx.In("channel_no", numbers)
	return loadRules(tx, head.IntentNo, head.IntentID, in, wanted)
}

// openNow returns an SQL condition that a channel c with the head k is open at the time of the intent's head. It is the
// opposite of Rules.ClosedBy.
func openNow(head *intents.Head) (condition string, args []any) {
	switch {
	case head.Ended():
		return "1 = 0", nil
	case head.Status == intents.StatusSuspended:
		return "c.closed_at IS NULL", nil
	}
	now := database.Micros(head.Now())
	return "c.closed_at IS NULL AND (c.ttl_seconds IS NULL OR c.created_at + c.ttl_seconds * 1000000 > ?" +
			" OR COALESCE(k.last_message_at, 0) + c.ttl_seconds * 1000000 > ? OR c.ttl_seconds * 1000000 > ?)",
		[]any{now, now, now - resumedAt(head)}
}

// closedNow returns the opposite of openNow.
func closedNow(head *intents.Head) (condition string, args []any) {
	condition, args = openNow(head)
	return "NOT (" + condition + ")", args
}

// resumedAt returns when the intent last resumed, in microseconds; 0 means never.
func resumedAt(head *intents.Head) int64 {
	if head.ResumedAt.IsZero() {
		return 0
	}
	return database.Micros(head.ResumedAt)
}
