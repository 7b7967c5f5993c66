package claim

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// stored opens a database with an intent of epoch 1 and a claim on each of the messages 1 to 8, which nobody has judged since epoch 0.
// The claims on 2 and 4 were judged, and that on 6 has ended.
func stored(t *testing.T, engine database.Engine) *database.DB {
	t.Helper()
	db := databasetest.Open(t, database.Config{
		URL: databasetest.URL(t, engine), Clock: func() time.Time { return noon },
	})
	require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
		err := tx.Pipeline(database.Statement{
			SQL: "INSERT INTO intent_heads (intent_no, status, resumed_at, last_position, last_sequence, last_channel, last_at, epoch)" +
				" VALUES (1, 'active', 0, 8, 8, 1, 0, 1)",
		})
		for position := int64(1); position <= 8 && err == nil; position++ {
			c := held("bob", position)
			c.IntentNo, c.ChannelNo, c.MessagePosition, c.DueAt = 1, 1, position, never
			switch position {
			case 2, 4:
				c.Epoch = 1
			case 6:
				c.Ended = EndedByTime
			}
			err = Insert(tx, c)
		}
		return err
	}))
	return db
}

func turn(t *testing.T, db *database.DB, from Round, looked, limit int) (positions []int64, next Round) {
	t.Helper()
	require.NoError(t, db.ReadStatement(t.Context(), func(tx *database.Tx) error {
		suspects, after, err := toJudge(tx, from, looked, limit)
		positions, next = nil, after
		for _, s := range suspects {
			require.Equal(t, Suspect{IntentNo: 1, ChannelNo: 1, MessagePosition: s.MessagePosition}, s)
			positions = append(positions, s.MessagePosition)
		}
		return err
	}))
	return positions, next
}

// A turn looks at some of the claims and finds some of what it has to judge, and the next one goes on there.
func TestRoundsComeToEachClaim(t *testing.T) {
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			db := stored(t, engine)
			rounds := func(looked, limit int) (turns [][]int64) {
				var at Round
				for {
					var found []int64
					found, at = turn(t, db, at, looked, limit)
					turns = append(turns, found)
					if at == (Round{}) {
						return turns
					}
				}
			}
			require.Equal(t, [][]int64{{1, 3, 5, 7, 8}}, rounds(100, 100))
			require.Equal(t, [][]int64{{1, 3}, {5, 7}, {8}}, rounds(100, 2), "a turn finds at most two")
			require.Equal(t, [][]int64{{1, 3}, {5, 7}, {8}}, rounds(3, 100), "a turn looks at three")
			require.Equal(t, [][]int64{{1}, {3}, {5}, {7}, {8}, nil}, rounds(2, 1))
		})
	}
}

// What time may have ended is found in each turn, wherever the round is, and once.
func TestClaimsThatAreDueDoNotWaitForTheRound(t *testing.T) {
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			db := stored(t, engine)
			require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
				return tx.Pipeline(database.Statement{
					SQL: "UPDATE claims SET due_at = ? WHERE message_position IN (1, 6)", Args: []any{database.Micros(noon)},
				})
			}))
			found, next := turn(t, db, Round{}, 3, 100)
			require.Equal(t, []int64{1, 6, 3}, found)
			found, _ = turn(t, db, next, 3, 100)
			require.Equal(t, []int64{1, 6, 5, 7}, found)
			found, _ = turn(t, db, next, 3, 1)
			require.Len(t, found, 2, "one that is due and one that has changed")
		})
	}
}

// The sweep must not look at all claims every second, however many stand or are kept.
func TestASweepFindsItsClaimsByIndex(t *testing.T) {
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			db := stored(t, engine)
			explain, plan := "EXPLAIN QUERY PLAN ", ""
			require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
				if tx.Engine() == database.PostgreSQL { // PostgreSQL would scan a small table
					explain = "EXPLAIN "
					if err := tx.Pipeline(database.Statement{SQL: "SET LOCAL enable_seqscan = off"}); err != nil {
						return err
					}
				}
				statement := judging(Round{}, database.Micros(noon), lookedAt, judged)
				statement.SQL = explain + statement.SQL
				statement.Scan = func(row database.Row) error {
					var line string
					var ignored int
					into := []any{&line}
					if tx.Engine() == database.SQLite {
						into = []any{&ignored, &ignored, &ignored, &line}
					}
					err := row.Scan(into...)
					plan += line + "\n"
					return err
				}
				return tx.Pipeline(statement)
			}))
			require.Equal(t, 1, strings.Count(plan, "claims_due"), plan)
			require.Equal(t, 2, strings.Count(plan, "claims_standing"), plan)
			require.NotRegexp(t, "SCAN claims|Seq Scan on claims", plan)
		})
	}
}
