package posting

import (
	"context"
	"errors"

	"openintent/internal/fault"
	"openintent/internal/webhooks"
	"openintent/messaging/reading"
	"openintent/subscriptions/record"
)

// postOne posts one delivery, as the subscriber may see it just before it is sent. ahead contains the outcomes of the
// deliveries before it in its queue.
func (run *dispatch) postOne(
	ctx context.Context, d record.Delivery, ahead *outcomes,
) (entry reading.Entry, result webhooks.Result, err error) {
	var traceparent string
	posted := func(Posted) {}
	result = run.poster.webhooks.Post(ctx, webhooks.Request{
		URL: run.url, Secret: run.sub.Secret, ID: webhookID(run.sub, d.Number),
		Body: func(ctx context.Context) (body []byte) {
			defer fault.Recover(&err)
			if entry, body, err = run.prepare(ctx, d, ahead); body != nil {
				traceparent, posted = run.beginPosting(ctx, entry)
			}
			return body
		},
		Traceparent: func() string { return traceparent },
	})
	if fault.IsPanic(err) { // counted as a failed attempt, so that it becomes a dead letter in the end
		run.poster.logger.Error("a delivery could not be made ready for its post", "error", err)
		result, err = webhooks.Result{Problem: "The server could not make this post ready; the failure has been logged."}, nil
	}
	posted(Posted{Status: result.Status, Problem: result.Problem})
	return entry, result, err
}

// prepare returns the content and the body to post for a delivery. The body is nil when nothing is left of the delivery for the
// subscriber.
//
// prepare prevents two cases in which a receiver would get a delivery for the first time after later ones of its channel:
//
//   - The deliveries ahead were skipped, this one is posted, and a crash loses the record that they were skipped. In the next
//     dispatch the subscriber may see them again. So prepare stores what was skipped before anything behind it is posted. It
//     need not store what was delivered, because a crash only causes a repetition of that.
//   - This process stood still, another replica took over and skipped this delivery, and now this process would post it. So
//     prepare confirms the lease if it may have ended.
//
// Both steps take time, so prepare reads the content once more after them.
func (run *dispatch) prepare(ctx context.Context, d record.Delivery, ahead *outcomes) (entry reading.Entry, body []byte, err error) {
	for confirmed := false; ; {
		entry, body, err = run.read(ctx, d)
		switch {
		case err != nil || body == nil:
			return entry, nil, err
		case ahead.skipped:
			err = ahead.flush(ctx)
		case !confirmed && !run.consumer.Leased(run.poster.db.Now()):
			confirmed, err = true, run.consumer.Confirm(ctx)
		default:
			if err := run.checkPaused(ctx); err != nil {
				return entry, nil, err
			}
			return entry, body, nil
		}
		if err != nil {
			return entry, nil, err
		}
	}
}

// checkPaused returns errPaused if the subscription is paused, so that no post begins after the answer to a revocation.
func (run *dispatch) checkPaused(ctx context.Context) error {
	paused, err := run.poster.paused(ctx, run.sub)
	if err == nil && len(paused) > 0 {
		err = errPaused
	}
	return err
}

// read returns the content of a delivery and the body to post. The body is nil when the subscriber may no longer see the
// content.
func (run *dispatch) read(ctx context.Context, d record.Delivery) (entry reading.Entry, body []byte, err error) {
	found, err := run.poster.supplier.Contents(ctx, run.sub, run.sub.Filter, []record.Delivery{d}, true)
	entry, there := found[d.Number]
	if err != nil || !there {
		return entry, nil, err
	}
	body, err = run.poster.body(run.sub, entry)
	return entry, body, err
}

// errPaused ends a dispatch because the key of the subscription's maker has ended. It never leaves the room.
var errPaused = errors.New("the subscription is paused")
