package messaging

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/wake"
)

// losses are what a room says in its log about entries that the database has lost.
type losses struct {
	mutex   sync.Mutex
	text    bytes.Buffer
	entries int64
}

// Write implements io.Writer.
func (l *losses) Write(text []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.text.Write(text)
}

func (l *losses) count(entries int64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.entries += entries
}

// listening makes a room write its log to l, and count there.
func (l *losses) listening(_ *database.Config, cfg *Config) {
	cfg.Logger, cfg.ObserveLoss = slog.New(slog.NewJSONHandler(l, nil)), l.count
}

// told returns what was said about an intent, and what was counted in all.
func (l *losses) told(t *testing.T, intentID string) (lost [][2]int64, counted int64) {
	t.Helper()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, line := range strings.Split(strings.TrimSpace(l.text.String()), "\n") {
		var said struct {
			Level, Intent string
			FirstLost     int64 `json:"first_lost"`
			LastLost      int64 `json:"last_lost"`
		}
		if line != "" {
			require.NoError(t, json.Unmarshal([]byte(line), &said))
		}
		if said.Intent == intentID && said.LastLost > 0 {
			require.Equal(t, "ERROR", said.Level)
			lost = append(lost, [2]int64{said.FirstLost, said.LastLost})
		}
	}
	return lost, l.entries
}

// The writer names what the database has lost of a log when it writes there again. If a stream has named a part of it before, the writer
// names all, and only the rest is counted.
func TestALossIsCountedOnce(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			var said losses
			h := newHouse(t, engine, said.listening)
			id := h.open(t)
			h.say(t, "alice", id, "kept")
			kept := h.positionOf(t, id)
			past := databasetest.Remember(t, h.db, "before")
			live := h.streams(t, "bob", id)
			for range 3 {
				h.say(t, "alice", id, "lost")
			}
			for _, f := range live {
				require.Len(t, f.texts(t, 3), 3)
			}
			past.PutBack(t)
			h.say(t, "alice", id, "after")
			for _, f := range live {
				faulttest.Require(t, f.end(t), fault.Conflict, "CURSOR_BEYOND_LOG")
			}
			lost, counted := said.told(t, h.channel(t, id).GetIntentId())
			require.Contains(t, lost, [2]int64{kept + 1, kept + 3})
			require.LessOrEqual(t, len(lost), 2)
			require.EqualValues(t, 3, counted)
		})
	}
}

// A stream hears of a loss with the first message after it, even if the stream has come far beyond that message's place.
func TestAStreamFarBeyondALossEnds(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t, engine)
			id := h.open(t)
			h.say(t, "alice", id, "kept")
			past := databasetest.Remember(t, h.db, "before")
			live := h.streams(t, "bob", id)
			for range 5 {
				h.clock.Advance(2 * wake.SharedFor) // the streams share the latest messages only
				h.say(t, "alice", id, "lost")
				for _, f := range live {
					require.Len(t, f.texts(t, 1), 1)
				}
			}
			past.PutBack(t)
			h.clock.Advance(time.Millisecond)
			h.say(t, "alice", id, "after")
			for _, f := range live {
				faulttest.Require(t, f.end(t), fault.Conflict, "CURSOR_BEYOND_LOG")
			}
		})
	}
}

// A stream's tail names what its intent has lost although nobody writes there.
func TestAStreamNamesALoss(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			var said losses
			h := newHouse(t, engine, said.listening, func(_ *database.Config, cfg *Config) { cfg.LookAgain = 10 * time.Millisecond })
			id := h.open(t)
			past := databasetest.Remember(t, h.db, "before")
			live := h.streams(t, "bob", id)
			h.say(t, "alice", id, "lost")
			for _, f := range live {
				f.texts(t, 1)
			}
			at := h.positionOf(t, id)
			intentID := h.channel(t, id).GetIntentId()
			past.PutBack(t)
			for _, f := range live {
				faulttest.Require(t, f.end(t), fault.Conflict, "CURSOR_BEYOND_LOG")
			}
			lost, counted := said.told(t, intentID)
			require.Equal(t, [][2]int64{{at, at}}, lost)
			require.EqualValues(t, 1, counted)
		})
	}
}

// After the database was away, the writer compares all logs that it knows, also those where nobody writes.
func TestTheWriterComparesAllLogsAfterTrouble(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			var said losses
			var faults databasetest.CommitFaults
			h := newHouse(t, engine, said.listening, func(opened *database.Config, _ *Config) { opened.Hooks = faults.Hooks() })
			quiet, busy := h.open(t), h.open(t)
			h.say(t, "alice", quiet, "kept")
			kept := h.positionOf(t, quiet)
			past := databasetest.Remember(t, h.db, "before")
			for range 2 {
				h.say(t, "alice", quiet, "lost")
			}
			intentID := h.channel(t, quiet).GetIntentId()
			past.PutBack(t)
			h.say(t, "alice", busy, "without trouble nothing is compared")
			lost, _ := said.told(t, intentID)
			require.Empty(t, lost)
			faults.FailAfter(1)
			h.say(t, "alice", busy, "its acknowledgement is lost")
			require.Eventually(t, func() bool {
				lost, _ = said.told(t, intentID)
				return len(lost) > 0
			}, 20*time.Second, time.Millisecond)
			require.Equal(t, [][2]int64{{kept + 1, kept + 2}}, lost)
		})
	}
}
