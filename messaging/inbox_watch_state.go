package messaging

import (
	"context"

	"openintent/caller"
	"openintent/database"
	"openintent/intents"
	"openintent/messaging/wake"
)

// refresh brings the state up to date, and notes whether the inbox may differ. A turn of the slow timer, and whatever may have
// changed where the agent is reached, takes a reading of the whole state. Otherwise it reads no more than what has happened in the
// intents that woke the watch.
func (w *inboxWatch) refresh(ctx context.Context, tick bool) error {
	topics, all := w.listener.Noted()
	moved, known := movedIn(topics, w.state.intents)
	if w.begun && !tick && !all && known {
		whole, err := w.readMoved(ctx, moved)
		if err != nil || !whole {
			return err
		}
	}
	return w.readWhole(ctx)
}

// readMoved reads what has happened in a few intents. whole is true if that does not show what has become of the state.
func (w *inboxWatch) readMoved(ctx context.Context, moved []int64) (whole bool, err error) {
	if len(moved) == 0 {
		return false, nil
	}
	later, differs := make(map[int64]intentState, len(moved)), false
	err = w.service.db.ReadFor(ctx, caller.ReaderOf(ctx, w.agent), func(tx *database.Tx) error {
		whole, differs = false, false
		clear(later)
		states, statement := intents.PrepareStates(tx, moved)
		if err := tx.Pipeline(statement); err != nil {
			return err
		}
		var found bool
		var probes []database.Statement
		for _, state := range *states {
			before := w.state.intents[state.IntentNo]
			if state.LastPosition < before.lastPosition || state.Epoch != before.epoch || len(probes) > maxProbes {
				whole = true
				return nil
			}
			now := before
			if now.lastPosition = state.LastPosition; now != before {
				later[state.IntentNo] = now
				probes = append(probes, addressedAfter(tx, state.IntentNo, before.lastPosition, w.state.names(), &found))
			}
			if now != before && !before.sent { // by its first message the agent begins to take part
				probes = append(probes, sentAfter(tx, state.IntentNo, before.lastPosition, w.agent, &whole))
			}
		}
		err := tx.Pipeline(probes...)
		differs = found
		return err
	})
	if err != nil || whole {
		return whole, err
	}
	w.differs = w.differs || differs
	for no, now := range later {
		w.state.intents[no] = now
	}
	return false, nil
}

// sentAfter returns the statement that tells whether an agent has sent a message after a position.
func sentAfter(_ *database.Tx, intentNo, after int64, agent string, found *bool) database.Statement {
	return database.Statement{
		SQL:  "SELECT 1 FROM messages WHERE intent_no = ? AND position > ? AND sender = ? LIMIT 1",
		Args: []any{intentNo, after, agent},
		Scan: func(row database.Row) error {
			var one int64
			*found = true
			return row.Scan(&one)
		},
	}
}

// readWhole reads the whole state, until the watch listens for everything in it. What was stored before it listened has woken
// nobody.
func (w *inboxWatch) readWhole(ctx context.Context) error {
	for {
		var later inboxState
		var differs bool
		err := w.service.db.ReadFor(ctx, caller.ReaderOf(ctx, w.agent), func(tx *database.Tx) (err error) {
			if later, _, _, err = w.service.inboxState(tx, w.agent); err != nil || !w.begun {
				return err
			}
			differs, err = w.state.mayDiffer(tx, later)
			return err
		})
		if err != nil {
			return err
		}
		w.differs = w.differs || differs || !w.begun
		w.state, w.begun = later, true
		if !w.listen() {
			return nil
		}
	}
}

// listen listens for everything in the state, and for nothing else. It reports whether there was anything new to listen for.
func (w *inboxWatch) listen() (added bool) {
	var further, dropped []any
	for no := range w.state.intents {
		if _, already := w.listened[no]; !already {
			w.listened[no] = struct{}{}
			further = append(further, wake.FeedTopic(no), wake.IntentTopic(no))
		}
	}
	for no := range w.listened {
		if _, still := w.state.intents[no]; !still {
			delete(w.listened, no)
			dropped = append(dropped, wake.FeedTopic(no), wake.IntentTopic(no))
		}
	}
	if role := w.state.role(); role != w.role {
		if w.role != "" {
			dropped = append(dropped, wake.AudienceTopic(caller.RolePrefix+w.role))
		}
		if w.role = role; role != "" {
			further = append(further, wake.AudienceTopic(caller.RolePrefix+role))
		}
	}
	w.listener.Also(further...)
	w.listener.Forget(dropped...)
	return len(further) > 0
}
