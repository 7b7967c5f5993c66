package channels

import (
	"context"

	"openintent/intents"
	"openintent/internal/database"
)

// sweepPage is how many lapsed channels one statement finds at most, and so how many one transaction closes at most.
const sweepPage = 500

// Sweep only stores what readers already see: it closes for good the channels whose time to live has run out, with one
// transaction per intent. It logs an intent that fails and leaves it to the next run. A run that finds nothing is a single
// statement, which an index answers.
func (s *Service) Sweep(ctx context.Context) error {
	var after lapse
	for {
		page, err := s.lapsedAfter(ctx, after)
		if err != nil {
			return err
		}
		lapsed := make(map[int64][]int64)
		for _, found := range page {
			lapsed[found.IntentNo] = append(lapsed[found.IntentNo], found.ChannelNo)
		}
		for intentNo, channelNos := range lapsed {
			if err := s.sweepIntent(ctx, intentNo, channelNos); err != nil {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				s.logger.Warn("closing lapsed channels failed; it is tried again at the next run",
					"intent_no", intentNo, "error", err)
			}
		}
		if len(page) < sweepPage {
			return nil
		}
		after = page[len(page)-1]
	}
}

// lapsedAfter looks for the next page of channels that have lapsed, without locking anything.
func (s *Service) lapsedAfter(ctx context.Context, after lapse) (page []lapse, err error) {
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(lapsedStatement(tx.Now(), after, sweepPage, &page))
	})
	return page, err
}

// sweepIntent closes for good those of an intent's channels that have lapsed; it decides this again under the lock.
func (s *Service) sweepIntent(ctx context.Context, intentNo int64, channelNos []int64) error {
	return s.db.Write(ctx, func(tx *database.Tx) error {
		heads, err := intents.Lock(tx, intentNo)
		if err != nil {
			return err
		}
		head := heads.Get(intentNo)
		in, arg := tx.In("channel_no", channelNos)
		return s.closeOpen(tx, head, head.Now(), lapsedOnly, "closed_at IS NULL AND "+in, arg)
	})
}
