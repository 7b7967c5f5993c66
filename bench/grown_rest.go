package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
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

// measureFilling measures how long a message takes when many are sent to the busy intents, which come in turn.
func (w *grownWorld) measureFilling(ctx context.Context, filled bool) error {
	began := time.Now()
	err := w.sendAll(ctx, fillingMessages, func(n int) *openintentv1.SendMessageRequest {
		return grownMessage(w.channels[n%busyIntents], grownReader(w.run.size.messages+n), n)
	})
	w.note(rowFilling, filled, time.Since(began)/fillingMessages)
	return err
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

// measureSpace sends as many messages as retention has removed, and compares the database's size with the one before the removal.
func (w *grownWorld) measureSpace(ctx context.Context, url string, before int64) error {
	after, err := databaseSize(ctx, url)
	if err != nil {
		return err
	}
	rest := w.channels[endedIntents:busyIntents]
	if err := w.sendAll(ctx, endedIntents*w.perBusy, func(n int) *openintentv1.SendMessageRequest {
		return grownMessage(rest[n%len(rest)], grownReader(w.run.size.messages+n), n)
	}); err != nil {
		return err
	}
	again, err := databaseSize(ctx, url)
	if err != nil {
		return err
	}
	const megabyte = 1 << 20
	sentence := fmt.Sprintf("%s: %d MB when filled, %d MB once %d messages were removed, %d MB once as many were sent again (%.3f times)",
		w.engine, before/megabyte, after/megabyte, endedIntents*w.perBusy, again/megabyte, float64(again)/float64(before))
	w.run.say("%s", sentence)
	w.run.sizes = append(w.run.sizes, sentence)
	return nil
}

// databaseSize returns the bytes of a SQLite file without its log, or of a PostgreSQL database.
func databaseSize(ctx context.Context, url string) (size int64, err error) {
	if path, isFile := strings.CutPrefix(url, "sqlite:"); isFile {
		found, err := os.Stat(path)
		if err != nil {
			return 0, err
		}
		return found.Size(), nil
	}
	pool, err := sql.Open("pgx", url)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	err = pool.QueryRowContext(ctx, "SELECT pg_database_size(current_database())").Scan(&size)
	return size, err
}
