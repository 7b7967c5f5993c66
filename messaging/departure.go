package messaging

import (
	"context"
	"maps"
	"slices"
	"time"

	"openintent/agents"
	"openintent/channels"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/writing"
)

// When an agent departs, its memberships and the unanswered requests to it end (RFC-0021 section 7.2). Readers see that immediately,
// because they compare with the time of the departure: message.Message.AbandonedBy decides it for requests, and channels.Rules
// for memberships. This file does the work that remains in each intent: it stores what readers see already, and has the writer
// tell the channels (writing/departure_notice.go).

// latestTie returns the time of the latest membership of an agent, or of the latest unanswered request to it, because its
// departure ends both. It is zero when there is neither.
func latestTie(tx *database.Tx, agentID string) (latest time.Time, err error) {
	listings, listed := channels.PrepareListings(agentID)
	var requestedAt *int64
	err = tx.Pipeline(listings, database.Statement{
		SQL:  "SELECT max(created_at) FROM open_requests WHERE target = ?",
		Args: []any{agentID},
		Scan: func(row database.Row) error { return row.Scan(&requestedAt) },
	})
	if requestedAt != nil {
		latest = database.Time(*requestedAt)
	}
	for _, addedAt := range listed {
		latest = message.Later(latest, addedAt)
	}
	return latest, err
}

// scheduleDeparture leaves work to do, in the transaction that deregisters an agent: a piece for each intent with a channel
// that lists the agent, or with an unanswered request to it.
func (s *Service) scheduleDeparture(tx *database.Tx, agentID string, at time.Time) error {
	intentNos, err := channels.IntentsListing(tx, agentID)
	if err != nil {
		return err
	}
	err = tx.Pipeline(database.Statement{
		SQL:  "SELECT DISTINCT intent_no FROM open_requests WHERE target = ?",
		Args: []any{agentID},
		Scan: func(row database.Row) error {
			var intentNo int64
			err := row.Scan(&intentNo)
			intentNos = append(intentNos, intentNo)
			return err
		},
	})
	if err != nil {
		return err
	}
	return writing.ScheduleWork(tx, writing.WorkDeparture, agentID, at, database.Distinct(intentNos)...)
}

// finishDeparture does the work that scheduleDeparture left, before the call that deregisters answers. The sweep does what
// remains.
func (s *Service) finishDeparture(ctx context.Context, agentID string) {
	if err := s.sweepWork(ctx, writing.WorkDeparture, agentID); err != nil && ctx.Err() == nil {
		s.logger.Warn("a departure is not finished yet; the sweep will finish it", "agent", agentID, "error", err)
	}
}

// depart finishes a departure in one intent. It takes the agent off the member lists, stores that unanswered requests to it
// have expired, and tells each open channel concerned (writing/departure_notice.go).
func (s *Service) depart(ctx context.Context, w writing.Work) error {
	concerned := make(map[channels.Key]struct{})
	return s.db.Write(ctx, func(tx *database.Tx) error {
		clear(concerned)
		heads, err := intents.Lock(tx, w.IntentNo)
		if err != nil {
			return err
		}
		head := heads.Get(w.IntentNo)
		presences, err := agents.LoadPresences(tx, []string{w.Key})
		if err != nil {
			return err
		}
		departedAt := presences[w.Key].DepartedAt
		listing, err := s.channels.RemoveFromLists(tx, head, w.Key, departedAt)
		if err != nil {
			return err
		}
		for _, key := range listing {
			concerned[key] = struct{}{}
		}
		positions, err := abandonedRequests(tx, w, departedAt, message.Earliest(head.Now(), departedAt), concerned)
		if err != nil {
			return err
		}
		if len(positions) > 0 {
			if err := message.ExpireRequests(tx, head, positions); err != nil {
				return err
			}
		}
		if err := s.writer.AnnounceDeparture(tx, head, w.Key, channels.DistinctKeys(slices.Collect(maps.Keys(concerned)))); err != nil {
			return err
		}
		return w.Done(tx)
	})
}

// abandonedRequests finds the unanswered requests to the agent from before its departure, and adds their channels to those
// concerned. It leaves out a request whose time had run out by then, whether or not the sweep has stored that. departedAt
// orders the departure among the requests. left is what the clock can have shown then; it is earlier when the departure has
// a time ahead of the clock.
func abandonedRequests(
	tx *database.Tx, w writing.Work, departedAt, left time.Time, concerned map[channels.Key]struct{},
) (positions []int64, err error) {
	err = tx.Pipeline(database.Statement{
		SQL: "SELECT position, channel_no FROM open_requests" +
			" WHERE intent_no = ? AND target = ? AND created_at <= ? AND (expires_at IS NULL OR expires_at > ?) ORDER BY position",
		Args: []any{w.IntentNo, w.Key, database.Micros(departedAt), database.Micros(left)},
		Scan: func(row database.Row) error {
			var position, channelNo int64
			err := row.Scan(&position, &channelNo)
			positions = append(positions, position)
			concerned[channels.Key{IntentNo: w.IntentNo, ChannelNo: channelNo}] = struct{}{}
			return err
		},
	})
	return positions, err
}
