package subscriptions

import (
	"context"
	"maps"
	"slices"
	"time"

	"openintent/database"
	"openintent/intents"
)

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

// noteHeads notes how the heads of intents stand that are followed only now, before anything is gathered of them: the next
// survey finds what is stored from here on.
func (p *poster) noteHeads(ctx context.Context, intentNos []int64) error {
	p.mutex.Lock()
	unknown := slices.DeleteFunc(slices.Clone(intentNos), func(intentNo int64) bool {
		_, known := p.heads[intentNo]
		return known
	})
	p.mutex.Unlock()
	heads, err := p.readHeads(ctx, unknown)
	if err != nil {
		return err
	}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for intentNo, head := range heads {
		if _, known := p.heads[intentNo]; !known {
			p.heads[intentNo] = head
		}
	}
	return nil
}

func (p *poster) readHeads(ctx context.Context, intentNos []int64) (map[int64]intents.State, error) {
	states := make(map[int64]intents.State, len(intentNos))
	for some := range slices.Chunk(intentNos, headsAtOnce) {
		err := p.service.db.ReadStatement(ctx, func(tx *database.Tx) error {
			found, read := intents.PrepareStates(tx, some)
			if err := tx.Pipeline(read); err != nil {
				return err
			}
			for _, state := range *found {
				states[state.IntentNo] = state
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return states, nil
}

// surveyHeads wakes the followers of intents whose heads moved since the last survey.
func (p *poster) surveyHeads(ctx context.Context) error {
	p.mutex.Lock()
	watched := slices.Collect(maps.Keys(p.byIntent))
	p.mutex.Unlock()
	heads, err := p.readHeads(ctx, watched)
	if err != nil {
		return err
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
	for intentNo, before := range p.heads { // noted while this survey read
		if _, read := heads[intentNo]; !read && p.byIntent[intentNo] != nil {
			heads[intentNo] = before
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
