package subscriptions

import (
	"context"

	"openintent/messaging/reading"
	"openintent/webhooks"
)

// postOne posts one delivery, as the subscriber may see it when it is about to be sent. ahead are the outcomes of the deliveries
// before it in its queue.
func (run *dispatch) postOne(
	ctx context.Context, d delivery, ahead *outcomes,
) (entry reading.Entry, result webhooks.Result, err error) {
	result = run.poster.service.webhooks.Post(ctx, webhooks.Request{
		URL: run.url, Secret: run.sub.secret, ID: webhookID(run.sub, d.number),
		Body: func(ctx context.Context) (body []byte) {
			entry, body, err = run.prepare(ctx, d, ahead)
			return body
		},
	})
	return entry, result, err
}

// prepare returns what is posted for a delivery. The body is nil when nothing is left of the delivery for the subscriber.
//
// Two things must not happen, because a receiver would then get a delivery for the first time after later ones of its channel:
//
//   - The deliveries ahead were skipped, this one is posted, and a crash forgets the skipping. By the next dispatch the subscriber may
//     see the skipped ones again. So what was skipped is stored before anything behind it is posted. What was delivered need not be:
//     a crash makes it a repetition.
//   - This process stood still, another replica took over and skipped this delivery, and this process posts it now. So the lease is
//     confirmed when it may have ended.
//
// Both take time, so the content is read once more after them.
func (run *dispatch) prepare(ctx context.Context, d delivery, ahead *outcomes) (entry reading.Entry, body []byte, err error) {
	for confirmed := false; ; {
		entry, body, err = run.read(ctx, d)
		switch {
		case err != nil || body == nil:
			return entry, nil, err
		case ahead.skipped:
			err = ahead.flush(ctx)
		case !confirmed && !run.consumer.leased(run.poster.service.db.Now()):
			confirmed, err = true, run.consumer.confirm(ctx)
		default:
			return entry, body, nil
		}
		if err != nil {
			return entry, nil, err
		}
	}
}

// read returns the content of a delivery and its form as a post, nil when the subscriber may not see it any more.
func (run *dispatch) read(ctx context.Context, d delivery) (entry reading.Entry, body []byte, err error) {
	found, err := run.poster.service.contents(ctx, run.sub, run.sub.filter, []delivery{d}, true)
	entry, there := found[d.number]
	if err != nil || !there {
		return entry, nil, err
	}
	body, err = run.poster.body(run.sub, entry)
	return entry, body, err
}
