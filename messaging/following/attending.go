package following

import (
	"context"
	"sync"
	"time"

	"openintent/internal/database"
	"openintent/messaging/attention"
	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/messaging/wake"
)

// attendedAhead is how many items a follower reads facts about at a time.
const attendedAhead = reading.FirstChunk

// commonFacts are what the followers of a tail need to know in common about the messages that it shares. The first follower that needs
// them reads them. They hold until the log goes on, since a claim, an edit and an answer take places in it.
type commonFacts struct {
	mutex  sync.Mutex
	as     logAsOf
	common *attention.Common
}

// logAsOf is how far a tail has seen its log go on.
type logAsOf struct {
	last   int64
	losses int
}

// of returns the facts about messages, the first of which is needed now.
func (c *commonFacts) of(ctx context.Context, db *database.DB, seen *sharedPage, messages []*message.Message) (*attention.Common, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	as := seen.asOf()
	if c.as == as && c.common.Knows(messages[0]) {
		return c.common, nil
	}
	err := db.ReadFor(ctx, database.Reader{}, func(tx *database.Tx) (err error) {
		c.common, err = attention.ReadCommon(tx, messages)
		return err
	})
	if err != nil {
		c.common = nil
	}
	c.as = as
	return c.common, err
}

// asOf returns how far the page's tail has seen its log go on.
func (s *sharedPage) asOf() logAsOf { return logAsOf{s.Head.LastPosition, s.losses.count} }

// ownFacts are what a follower has read for itself about the messages that come next. Those about threads hold until the log goes on,
// because the caller may write in a thread between two replies of others.
type ownFacts struct {
	common  *attention.Common
	readAt  time.Time
	threads *attention.Threads
	as      logAsOf
	// written is true when the caller is known to have written in the intent.
	written bool
}

// refresh drops facts that have become old.
func (o *ownFacts) refresh(as logAsOf, now time.Time) {
	if now.Sub(o.readAt).Abs() > wake.SharedFor { // Abs, because clocks are set back
		*o = ownFacts{readAt: now}
	}
	if o.as != as {
		o.as, o.threads = as, nil
	}
}

// attend judges what the first of some items, a message, asks of the caller. in is the message's channel.
func (f *follower) attend(
	ctx context.Context, found *reading.LogPage, items []reading.Item, in reading.ChannelState, now time.Time,
) (*attention.Judgement, error) {
	if !f.filter.Attention || items[0].Message == nil {
		return nil, nil
	}
	d := f.delivered(items[0].Message, in, now)
	if d.Excluded() {
		return nil, nil
	}
	f.facts.refresh(f.seen.asOf(), now)
	common, err := f.commonFor(ctx, items)
	if err != nil {
		return nil, err
	}
	if d.DependsOnThread() && !f.facts.threads.Knows(d.Message) {
		next := append([]attention.Delivery{d}, f.upcoming(found, items[1:], now)...)
		err = f.tails.DB.ReadFor(ctx, f.by.Reader(), func(tx *database.Tx) (err error) {
			f.facts.threads, err = attention.ReadThreads(tx, next)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	judged := d.Judge(common, f.facts.threads)
	if !d.MayBeStranger(judged) || f.facts.written {
		return judged, nil
	}
	err = f.tails.DB.ReadFor(ctx, f.by.Reader(), func(tx *database.Tx) (err error) {
		f.facts.written, err = attention.HasWritten(tx, d.Viewer.Agent, d.Message.IntentNo)
		return err
	})
	if err != nil || f.facts.written {
		return judged, err
	}
	return judged.FromStranger(), nil
}

// commonFor returns the facts about items that are the same for all followers. Those about shared items are shared too.
func (f *follower) commonFor(ctx context.Context, items []reading.Item) (common *attention.Common, err error) {
	var messages []*message.Message
	for _, it := range items[:min(len(items), attendedAhead)] {
		if it.Message != nil {
			messages = append(messages, it.Message)
		}
	}
	if items[0].Encodings != nil {
		return f.tail.facts.of(ctx, f.tails.DB, f.seen, messages)
	}
	if !f.facts.common.Knows(messages[0]) {
		err = f.tails.DB.ReadFor(ctx, f.by.Reader(), func(tx *database.Tx) (err error) {
			f.facts.common, err = attention.ReadCommon(tx, messages)
			return err
		})
	}
	return f.facts.common, err
}

// upcoming returns the deliveries of the messages that come next, as far as they ask anything of the caller.
func (f *follower) upcoming(found *reading.LogPage, items []reading.Item, now time.Time) (deliveries []attention.Delivery) {
	for _, it := range items[:min(len(items), attendedAhead)] {
		if it.Message == nil {
			continue
		}
		in, known := f.stateOf(found, it.Message.ChannelNo)
		if !known {
			continue
		}
		if d := f.delivered(it.Message, in, now); !d.Excluded() {
			deliveries = append(deliveries, d)
		}
	}
	return deliveries
}

// delivered returns the delivery of a message to the caller at a time.
func (f *follower) delivered(m *message.Message, in reading.ChannelState, now time.Time) attention.Delivery {
	of := f.seen.Snapshot
	of.Channel, of.Count, of.Now = in.Channel, in.Count, now
	return attention.Delivery{Situation: of.SituationOf(m), Viewer: f.viewerIn(in.Channel), Floor: in.Count.Floor}
}
