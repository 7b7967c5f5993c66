package intents

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// keptFor is how long these tests keep events.
const keptFor = time.Hour

// keeping returns another replica of the room that keeps events for an hour, and removes a few in each transaction.
func (h *house) keeping(piece int) *house {
	replica := &house{db: h.db, clock: h.clock, Service: New(Config{DB: h.db, EventRetention: keptFor})}
	replica.removal.piece = piece
	return replica
}

// logMany appends events at once.
func (h *house) logMany(t require.TestingT, no int64, many int) {
	require.NoError(t, h.inWrite(func(tx *database.Tx) error {
		heads, err := Lock(tx, no)
		for i := 0; err == nil && i < many; i++ {
			_, err = heads[0].Log(EventDraft{Type: "comment", Actor: "ann"})
		}
		return err
	}))
}

// sweepAll removes all that is due, and moves the clock past the sweeper's rest.
func (h *house) sweepAll(t require.TestingT) {
	h.clock.Advance(removalPause + time.Microsecond)
	for range 1000 {
		require.NoError(t, h.SweepEvents(context.Background()))
		if h.removal.resting(h.db.Now()) {
			return
		}
	}
	require.Fail(t, "the sweep does not end")
}

// list returns what is left of a log, oldest first, and what a list says of what was removed.
func (h *house) list(t require.TestingT, id string) (sequences []int64, removed *openintentv1.EventCheckpoint) {
	page, err := h.ListEvents(asOperator(), &openintentv1.ListEventsRequest{IntentId: id, Order: pointer("asc"), Limit: pointer(int32(1000))})
	require.NoError(t, err)
	for _, event := range page.GetEvents() {
		sequences = append(sequences, event.GetSequence())
	}
	return sequences, page.GetCheckpoint()
}

func TestOldEventsAreRemovedAndTheRestVerifies(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		no := h.numberOf(t, id)
		h.logMany(t, no, 9)
		tenth := h.log(t, id)[9]
		before := h.clock.Advance(keptFor)
		h.logMany(t, no, 5)
		sweeper := h.keeping(4)
		sweeper.sweepAll(t)

		left, removed := h.list(t, id)
		require.Equal(t, []int64{11, 12, 13, 14, 15}, left)
		require.EqualValues(t, 10, removed.GetSequence())
		require.EqualValues(t, 10, removed.GetPosition())
		require.Equal(t, tenth.GetEventHash(), removed.GetEventHash())
		require.Equal(t, tenth.GetCreatedAt().AsTime(), removed.GetCreatedAt().AsTime())
		require.Equal(t, before.Add(removalPause+time.Microsecond), removed.GetRemovedAt().AsTime())
		require.Nil(t, removed.FirstBreak)
		for order, want := range map[string][]int64{"asc": {14, 15}, "desc": {12, 11}} {
			page, err := h.ListEvents(as("bob"), &openintentv1.ListEventsRequest{IntentId: id, Order: &order, Offset: pointer(int32(3))})
			require.NoError(t, err)
			require.Equal(t, want, sequencesOf(page.GetEvents()), "an offset counts what is left")
		}
		outcome := h.verify(t, id)
		require.True(t, outcome.GetValid(), outcome)
		require.EqualValues(t, 5, outcome.GetEventCount())
		require.EqualValues(t, 11, outcome.GetFirstSequence())
		require.Equal(t, removed.String(), outcome.GetCheckpoint().String())
		_, err := h.GetEvent(as("bob"), &openintentv1.GetEventRequest{IntentId: id, EventId: tenth.GetId()})
		require.Error(t, err)

		h.clock.Advance(2 * keptFor)
		sweeper.sweepAll(t)
		left, _ = h.list(t, id)
		require.Equal(t, []int64{15}, left, "the newest event stays")
		h.logMany(t, no, 1)
		outcome = h.verify(t, id)
		require.True(t, outcome.GetValid(), outcome)
		require.EqualValues(t, 16, outcome.GetLastSequence())
	})
}

// An event is old once it is older than the retention, not as old.
func TestAnEventThatIsAsOldAsTheRetentionStays(t *testing.T) {
	oldest := time.Unix(1000, 0)
	events := []*Event{
		{Sequence: 1, CreatedAt: oldest.Add(-time.Microsecond)}, {Sequence: 2, CreatedAt: oldest}, {Sequence: 3, CreatedAt: oldest.Add(time.Hour)},
	}
	require.EqualValues(t, 1, checkpoint{}.over(events, oldest).sequence)
	require.EqualValues(t, 2, checkpoint{}.over(events, oldest.Add(time.Microsecond)).sequence)
}

func TestEventsStayUnlessARetentionIsSet(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		h.logMany(t, h.numberOf(t, id), 3)
		h.clock.Advance(1000 * keptFor)
		require.NoError(t, h.SweepEvents(t.Context()))
		left, removed := h.list(t, id)
		require.Len(t, left, 4)
		require.Nil(t, removed)
		require.Nil(t, h.verify(t, id).GetCheckpoint())
	})
}

// A run looks at a bounded number of intents; the next ones go on, and then the sweeper rests.
func TestTheSweepOfEventsComesToEachIntent(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		sweeper := h.keeping(2)
		sweeper.removal.atOnce = 2
		var ids []string
		for range 3 {
			id := h.newIntent(t).GetId()
			h.logMany(t, h.numberOf(t, id), 2*removalRun)
			ids = append(ids, id)
		}
		h.clock.Advance(2 * keptFor)
		require.NoError(t, sweeper.SweepEvents(t.Context()))
		require.False(t, sweeper.removal.resting(h.db.Now()), "one run is not enough")
		sweeper.sweepAll(t)
		for _, id := range ids {
			left, _ := h.list(t, id)
			require.Len(t, left, 1)
		}
		h.logMany(t, h.numberOf(t, ids[0]), 1)
		h.clock.Set(h.clock.Now().Add(-time.Hour)) // a rest that seems to last an hour is over
		require.False(t, sweeper.removal.resting(h.db.Now()))
	})
}

// What another replica has judged before is not removed a second time, and the checkpoint does not go back.
func TestAPieceThatAnotherReplicaRemovedIsLeftAlone(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		no := h.numberOf(t, id)
		h.logMany(t, no, 20)
		oldest := h.clock.Advance(2 * keptFor)
		slow, quick := h.keeping(4), h.keeping(4)
		before, next, err := slow.judgeEvents(t.Context(), no, oldest)
		require.NoError(t, err)
		require.EqualValues(t, 4, next.sequence)
		quick.sweepAll(t)
		removed, err := slow.settleEvents(t.Context(), no, before, next)
		require.NoError(t, err)
		require.False(t, removed)
		requireValidChain(t, h, id)
		_, checkpoint := h.list(t, id)
		require.EqualValues(t, 20, checkpoint.GetSequence())
	})
}

// A log that does not verify is removed all the same, and the checkpoint says where it was broken first.
func TestTheCheckpointRemembersThatTheChainWasBroken(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		no := h.numberOf(t, id)
		h.logMany(t, no, 20)
		h.execute(t, "UPDATE events SET actor = 'eve' WHERE intent_no = ? AND sequence IN (7, 15)", no)
		h.clock.Advance(2 * keptFor)
		var log bytes.Buffer
		sweeper := h.keeping(3)
		sweeper.logger = slog.New(slog.NewTextHandler(&log, nil))
		sweeper.sweepAll(t)
		_, removed := h.list(t, id)
		require.EqualValues(t, 20, removed.GetSequence())
		require.EqualValues(t, 7, removed.GetFirstBreak())
		require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("did not verify")))
		require.True(t, h.verify(t, id).GetValid(), "what is left verifies")
	})
}

func (h *house) execute(t require.TestingT, sql string, args ...any) {
	require.NoError(t, h.inWrite(func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{SQL: sql, Args: args})
	}))
}

// A verification that has read some pages goes on when those after them are removed meanwhile.
func TestAVerificationGoesOnWhenEventsAreRemovedMeanwhile(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		no := h.numberOf(t, id)
		h.logMany(t, no, 2*verifyPage)
		ctx := asOperator()
		check := newChainCheck()
		complete, err := h.verifyPage(ctx, id, check)
		require.NoError(t, err)
		require.False(t, complete)
		h.clock.Advance(2 * keptFor)
		h.keeping(removalPiece).sweepAll(t)
		complete, err = h.verifyPage(ctx, id, check)
		require.NoError(t, err)
		require.True(t, complete)
		require.Zero(t, check.breakCount, check.breaks)
		require.EqualValues(t, 1, check.count)
		require.EqualValues(t, 2*verifyPage+1, check.first)
	})
}

// removalModel is what the model knows: how many events were logged, and when the newest of them became old.
type removalModel struct {
	h        *house
	replicas []*house
	faults   *databasetest.CommitFaults
	id       string
	no       int64
	times    []time.Time // of the events, by sequence
	hashes   []string
}

func newRemovalModel(t *testing.T, url string) *removalModel {
	clock, faults := databasetest.NewClock(), &databasetest.CommitFaults{}
	db := databasetest.Open(t, database.Config{URL: url, Clock: clock.Now, Hooks: faults.Hooks()})
	m := &removalModel{h: &house{db: db, clock: clock, Service: New(Config{DB: db})}, faults: faults}
	m.replicas = []*house{m.h.keeping(3), m.h.keeping(5)}
	return m
}

func (m *removalModel) begin(t *testing.T) {
	m.id = m.h.newIntent(t).GetId()
	m.no = m.h.numberOf(t, m.id)
	m.times, m.hashes = nil, nil
	m.note(t)
}

// note adds what was logged since to the model.
func (m *removalModel) note(t require.TestingT) {
	after := int64(len(m.times))
	page, err := m.h.ListEvents(asOperator(), &openintentv1.ListEventsRequest{IntentId: m.id, AfterSequence: &after, Limit: pointer(int32(1000))})
	require.NoError(t, err)
	for _, event := range page.GetEvents() {
		m.times, m.hashes = append(m.times, event.GetCreatedAt().AsTime()), append(m.hashes, event.GetEventHash())
	}
}

func (m *removalModel) log(t *rapid.T) {
	m.h.logMany(t, m.no, rapid.IntRange(1, 12).Draw(t, "events"))
	m.note(t)
}

func (m *removalModel) pass(t *rapid.T) {
	m.h.clock.Advance(time.Duration(rapid.IntRange(1, 90).Draw(t, "minutes")) * time.Minute)
}

// crash fails a commit of a sweep, before or after it is stored.
func (m *removalModel) crash(t *rapid.T) {
	stored, sweeper := rapid.Bool().Draw(t, "stored"), m.any(t) // a draw may end the run, and must not leave a fault to the next one
	if stored {
		m.faults.FailAfter(1)
	} else {
		m.faults.FailBefore(1)
	}
	_ = sweeper.SweepEvents(context.Background())
	m.faults.FailAfter(0)
	m.faults.FailBefore(0)
}

func (m *removalModel) sweep(t *rapid.T) {
	m.any(t).sweepAll(t)
	oldest := m.h.db.Now().Add(-keptFor)
	left, _ := m.h.list(t, m.id)
	for _, sequence := range left[:len(left)-1] {
		require.False(t, m.times[sequence-1].Before(oldest), "event %d is old and was not removed", sequence)
	}
}

// sweepTogether lets both replicas sweep at the same time.
func (m *removalModel) sweepTogether(t *rapid.T) {
	var sweeps sync.WaitGroup
	for _, replica := range m.replicas {
		sweeps.Go(func() { _ = replica.SweepEvents(context.Background()) })
	}
	sweeps.Wait()
}

func (m *removalModel) any(t *rapid.T) *house {
	return m.replicas[rapid.IntRange(0, len(m.replicas)-1).Draw(t, "replica")]
}

// check holds the log against the model: all that is young is there, what was removed was old, and the rest verifies.
func (m *removalModel) check(t *rapid.T) {
	left, removed := m.h.list(t, m.id)
	first := removed.GetSequence() + 1
	require.NotEmpty(t, left)
	for i, sequence := range left {
		require.Equal(t, first+int64(i), sequence)
	}
	require.EqualValues(t, len(m.times), left[len(left)-1])
	if removed != nil {
		require.Equal(t, m.hashes[first-2], removed.GetEventHash())
		require.True(t, m.times[first-2].Before(m.h.db.Now().Add(-keptFor)), "a young event was removed")
	}
	outcome := m.verify(t)
	require.True(t, outcome.GetValid(), "%v", outcome.GetBreaks())
	require.EqualValues(t, len(left), outcome.GetEventCount())
}

func (m *removalModel) verify(t require.TestingT) *openintentv1.VerifyEventsResponse {
	outcome, err := m.h.VerifyEvents(asOperator(), &openintentv1.VerifyEventsRequest{IntentId: m.id})
	require.NoError(t, err)
	return outcome
}

// tampering are changes of the store, with the intent's number and the sequence of an event that is left.
var tampering = map[string]string{
	"another actor":           "UPDATE events SET actor = 'eve' WHERE intent_no = ? AND sequence = ?",
	"another link":            "UPDATE events SET previous_hash = 'sha256:x' WHERE intent_no = ? AND sequence = ?",
	"an event less":           "DELETE FROM events WHERE intent_no = ? AND sequence = ?",
	"more removed than said":  "DELETE FROM events WHERE intent_no = ? AND sequence <= ?",
	"a forged checkpoint":     "UPDATE event_checkpoints SET hash = 'sha256:x' WHERE intent_no = ? AND sequence < ?",
	"a checkpoint less":       "DELETE FROM event_checkpoints WHERE intent_no = ? AND sequence < ?",
	"a checkpoint further on": "UPDATE event_checkpoints SET sequence = sequence + 1 WHERE intent_no = ? AND sequence < ?",
}

func TestWhateverWasRemovedTheRestVerifies(t *testing.T) {
	databasetest.SearchBriefly(t)
	databasetest.EachURL(t, func(t *testing.T, url string) {
		m := newRemovalModel(t, url)
		rapid.Check(t, func(rt *rapid.T) {
			m.begin(t)
			rt.Repeat(map[string]func(*rapid.T){
				"log": m.log, "pass": m.pass, "crash": m.crash, "sweep": m.sweep, "sweep together": m.sweepTogether, "": m.check,
			})
			left, removed := m.h.list(rt, m.id)
			what := rapid.SampledFrom([]string{
				"another actor", "another link", "an event less", "more removed than said", "a forged checkpoint", "a checkpoint less",
				"a checkpoint further on",
			}).Draw(rt, "tampering")
			if removed == nil && (what[:12] == "a checkpoint" || what == "a forged checkpoint") {
				return // there is none
			}
			m.h.execute(rt, tampering[what], m.no, rapid.SampledFrom(left).Draw(rt, "at"))
			require.False(rt, m.verify(rt).GetValid(), what)
		})
	})
}
