package messaging

import (
	"context"
	"maps"
	"slices"
	"time"

	"openintent/agents"
	"openintent/channels"
	"openintent/database"
	"openintent/intents"
	"openintent/messaging/message"
	"openintent/messaging/writing"
)

// latestTie gives the time of the latest membership of an agent or unanswered request to it, which its departure ends; zero
// when there is neither.
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

// scheduleDeparture leaves, in the transaction of an agent's deregistration, a piece of work for each intent with a channel
// that lists the agent or with an unanswered request to it. Readers do not wait for it: they compare with the departure's
// time.
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

// finishDeparture does what scheduleDeparture left, before the deregistering call answers. What it does not reach, the
// sweep does.
func (s *Service) finishDeparture(ctx context.Context, agentID string) {
	if err := s.sweepWork(ctx, writing.WorkDeparture, agentID); err != nil && ctx.Err() == nil {
		s.logger.Warn("a departure is not finished yet; the sweep goes on with it", "agent", agentID, "error", err)
	}
}

// depart finishes a departure in one intent: the agent leaves the member lists, unanswered requests to it expire, and each
// open channel concerned is told.
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

// abandonedRequests finds the agent's unanswered requests from before its departure and adds their channels. One whose
// time had run out by then is none of them, whether or not the sweep came by. The time of the departure orders it among
// requests; left is what the clock can have shown then, which is earlier when the departure has a time ahead of the clock.
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
