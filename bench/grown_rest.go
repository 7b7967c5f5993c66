package main

import (
	"context"
	"errors"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
)

// removalPatience bounds how long retention may take to remove what it should, and removalLook is how often that is looked at.
const (
	removalPatience = 10 * time.Minute
	removalLook     = 50 * time.Millisecond
)

// measureIdle measures the processor time of the server and its database while nobody calls.
func (w *grownWorld) measureIdle(ctx context.Context, filled bool) error {
	before, err := w.consumption()
	if err != nil {
		return err
	}
	stored := processorOf(w.processes())
	select {
	case <-time.After(w.run.idling):
	case <-ctx.Done():
		return ctx.Err()
	}
	stored = processorOf(w.processes()) - stored
	after, err := w.consumption()
	if err != nil {
		return err
	}
	w.note(rowIdle, filled, time.Duration(float64(after.Before-before.After+stored)/w.run.idling.Seconds()))
	return nil
}

// measureRetention ends some of the busy intents, and goes on with a server that keeps nothing of ended intents. It measures one sender
// from the first removal to the last, and then alone.
func (w *grownWorld) measureRetention(ctx context.Context, url string) error {
	for _, id := range w.ids[:endedIntents] {
		intent, err := w.intents.GetIntent(as(ctx, asker), &openintentv1.GetIntentRequest{IntentId: id})
		if err != nil {
			return err
		}
		if _, err := w.intents.SetIntentStatus(as(ctx, asker), &openintentv1.SetIntentStatusRequest{
			IntentId: id, ExpectedVersion: &intent.Version, Status: openintentv1.IntentStatus_INTENT_STATUS_COMPLETED,
		}); err != nil {
			return err
		}
	}
	w.stop()
	if err := w.restart(ctx, url, childRetention+"=1ms"); err != nil {
		return err
	}
	const together = 500 // what one statement removes
	expected := int64(endedIntents * ((w.perBusy + together - 1) / together))
	var beside []time.Duration
	var first, looked time.Time
	for began := time.Now(); ; {
		sent := time.Now()
		if err := w.send(ctx); err != nil {
			return err
		}
		took := time.Since(sent)
		if !first.IsZero() {
			beside = append(beside, took)
		}
		if time.Since(looked) < removalLook {
			continue
		}
		looked = time.Now()
		removed, err := w.removals()
		if err != nil {
			return err
		}
		if removed > 0 && first.IsZero() {
			first = time.Now()
		}
		if removed >= expected {
			break
		}
		if time.Since(began) > removalPatience {
			return errors.New("retention does not remove what it should")
		}
	}
	w.run.say("%s: retention removed %d messages in %s", w.engine, endedIntents*w.perBusy, time.Since(first).Round(time.Millisecond))
	alone, err := grownCall{call: w.send, times: grownSends}.measure(ctx)
	if err != nil {
		return err
	}
	if len(beside) == 0 {
		w.run.say("%s: retention was faster than the first send", w.engine)
		return nil
	}
	w.note(rowRetention, false, alone)
	w.note(rowRetention, true, medianOf(beside))
	return nil
}
