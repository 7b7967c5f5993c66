package subscriptions

import (
	"context"
	"maps"
	"slices"
	"time"

	"openintent/database"
	"openintent/intents"
)

// headState is what of an intent's head tells whether its followers have to look again.
type headState struct{ lastPosition, epoch int64 }

// headsAtOnce bounds of how many intents one statement reads the heads.
const headsAtOnce = 5000

// survey looks for what no wake-up told of, with a few statements however many subscriptions rest: subscriptions made at
// other replicas, posts that are due (also those that a dead replica left), intents' logs that grew, and subscriptions that
// have rested for long.
func (p *poster) survey(ctx context.Context) error {
	subscribers, due, err := p.service.postedSubscriptions(ctx)
	if err != nil {
		return err
	}
	for no, subscriber := range subscribers {
		p.follow(no, subscriber)
	}
	for _, no := range due {
		p.woken(no)
	}
	if err := p.surveyHeads(ctx); err != nil {
		return err
	}
	p.wakeRested(p.service.db.Now())
	return nil
}

// surveyHeads wakes the followers of intents whose heads moved since the last survey.
func (p *poster) surveyHeads(ctx context.Context) error {
	p.mutex.Lock()
	watched := slices.Collect(maps.Keys(p.byIntent))
	p.mutex.Unlock()
	heads := make(map[int64]headState, len(watched))
	for some := range slices.Chunk(watched, headsAtOnce) {
		err := p.service.db.ReadStatement(ctx, func(tx *database.Tx) error {
			statement, read := intents.PrepareHeads(tx, some)
			if err := tx.Pipeline(statement); err != nil {
				return err
			}
			for _, head := range read() {
				heads[head.IntentNo] = headState{head.LastPosition, head.Epoch}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	now := p.service.db.Now()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for intentNo, head := range heads {
		if before, known := p.heads[intentNo]; known && before != head {
			for f := range p.byIntent[intentNo] {
				p.enqueue(f, now)
			}
		}
	}
	p.heads = heads
	return nil
}

// wakeRested wakes some of those that have rested for long.
func (p *poster) wakeRested(now time.Time) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	woken := 0
	for _, f := range p.followed {
		if woken == idleLooks {
			return
		}
		if !f.busy && f.at.IsZero() && now.Sub(f.restedAt) > idleLook {
			p.enqueue(f, now)
			woken++
		}
	}
}
