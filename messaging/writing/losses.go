package writing

import (
	"context"
	"slices"

	"openintent/intents"
	"openintent/internal/database"
)

// headsAtOnce is how many heads one statement compares.
const headsAtOnce = 1000

// noteTrouble is told that the database was away. Another server of the database may have taken over meanwhile, which may lack what
// was stored last.
func (w *Writer) noteTrouble() { w.troubled = true }

// nameLosses compares the logs with what the writer's own commits left behind, once the database works again after trouble, and
// names what the database lacks. The senders have their answers by then.
func (w *Writer) nameLosses() {
	if moves := w.db.Moves(); moves != w.moves {
		w.moves, w.troubled = moves, true
	}
	if !w.troubled {
		return
	}
	w.troubled = false
	ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
	defer cancel()
	for nos := range slices.Chunk(w.cache.heads.Keys(), headsAtOnce) {
		var states *[]intents.State
		err := w.db.Read(ctx, func(tx *database.Tx) error {
			var statement database.Statement
			states, statement = intents.PrepareStates(tx, nos)
			return tx.Pipeline(statement)
		})
		if err != nil {
			w.logger.Warn("the logs could not be compared with what was stored before the database was away; this is tried again",
				"error", err)
			w.troubled = true
			return
		}
		ends := make(map[int64]int64, len(*states))
		for _, state := range *states {
			ends[state.IntentNo] = state.LastPosition
		}
		for _, no := range nos {
			w.cache.compare(no, ends[no]) // an intent that is gone ends before its first entry
		}
	}
}

// compare notes a loss if a log ends before the cached head, and forgets the head.
func (c *optimisticCache) compare(intentNo, end int64) {
	if known, ok := c.heads.Peek(intentNo); ok && end < known.head.LastPosition {
		c.lost(known.head.IntentID, end, known.head.LastPosition)
		c.heads.Remove(intentNo)
	}
}
