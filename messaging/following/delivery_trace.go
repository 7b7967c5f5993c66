package following

import (
	"context"

	"openintent/messaging/reading"
)

// maxUnrecorded is how many messages a follower hands over at most before it records that.
const maxUnrecorded = 16

// hand gives the caller an entry.
func (f *follower) hand(ctx context.Context, d delivery) error {
	handed := f.tails.Trace.Begin(ctx, reading.Consumer{Agent: f.by.Agent}, d.Entry)
	err := f.send(d)
	handed(err)
	if err != nil {
		return err
	}
	if d.Message != nil {
		f.offered = append(f.offered, d.Message)
	}
	if len(f.offered) == maxUnrecorded {
		f.recordOffered()
	}
	return nil
}

// recordOffered records which messages were handed over since the last time.
func (f *follower) recordOffered() {
	if len(f.offered) > 0 {
		f.tails.Offered(f.by.Agent, f.tails.DB.Now(), f.offered...)
		clear(f.offered) // keep no message alive
		f.offered = f.offered[:0]
	}
}
