package messaging

import (
	"log/slog"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// notedLosses is how many intents the log of losses remembers, and notedFor how long. So it names and counts a loss once even if the
	// writer and several streams notice it, and once more if one of them knew of more.
	notedLosses = 16_384
	notedFor    = time.Minute
)

// lossLog tells the operator which part of an intent's log the database has lost (see message.ErrCursorBeyondLog). It can only tell
// what this server knew of: what it stored itself, and what its streams had read.
type lossLog struct {
	logger  *slog.Logger
	now     func() time.Time
	observe func(positions int64)

	mutex sync.Mutex
	noted *lru.Cache[string, notedLoss]
}

// notedLoss is the part of a log, after < position <= through, that was named lately.
type notedLoss struct {
	after, through int64
	at             time.Time
}

func newLossLog(logger *slog.Logger, now func() time.Time, observe func(int64)) *lossLog {
	noted, _ := lru.New[string, notedLoss](notedLosses) // fails only for a size that is not positive
	return &lossLog{logger: logger, now: now, observe: observe, noted: noted}
}

// note is told that an intent's log ends, or goes on differently, after a position, although it had come as far as another one.
func (l *lossLog) note(intentID string, after, through int64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	positions := through - after
	if before, known := l.noted.Get(intentID); known && l.now().Sub(before.at).Abs() < notedFor && after < before.through {
		if through <= before.through && after >= before.after {
			return
		}
		positions = max(0, before.after-after) + max(0, through-before.through)
		after, through = min(after, before.after), max(through, before.through)
	}
	l.noted.Add(intentID, notedLoss{after, through, l.now()})
	l.observe(positions)
	l.logger.Error("the database has lost entries of an intent's log that were stored; other entries may get their positions",
		"intent", intentID, "first_lost", after+1, "last_lost", through)
}
