package database_test

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

func TestPipelineRunsInOrder(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			var seen []int64
			var inserted, updated, returned, deleted int64
			require.NoError(t, tx.Pipeline(
				database.Statement{SQL: "INSERT INTO things (id, owner) VALUES (?, ?), (?, ?)",
					Args: []any{int64(1), "o", int64(2), "o"}, Affected: &inserted},
				database.Statement{SQL: "UPDATE things SET size = id * 10 WHERE owner = ?", Args: []any{"o"}, Affected: &updated},
				database.Statement{SQL: "SELECT size FROM things ORDER BY id", Affected: &returned,
					Scan: func(row database.Row) error {
						var size int64
						err := row.Scan(&size)
						seen = append(seen, size)
						return err
					}},
				database.Statement{SQL: "SELECT id FROM things"},
				database.Statement{SQL: "DELETE FROM things WHERE size = ? RETURNING id", Args: []any{int64(20)},
					Affected: &deleted, Scan: func(row database.Row) error {
						var id int64
						require.NoError(t, row.Scan(&id))
						require.EqualValues(t, 2, id)
						return nil
					}},
			))
			require.Equal(t, []int64{10, 20}, seen)
			require.Equal(t, []int64{2, 2, 2, 1}, []int64{inserted, updated, returned, deleted})

			var things []thing
			require.NoError(t, tx.Gorm().Find(&things).Error)
			require.Len(t, things, 1, "gorm sees the effects of the pipeline")
			require.NoError(t, tx.Gorm().Create(&thing{ID: 5, Owner: "o"}).Error)
			var n int64
			require.NoError(t, tx.Pipeline(scanOne("SELECT count(*) FROM things", &n)))
			require.EqualValues(t, 2, n, "the pipeline sees the effects of gorm")
			return tx.Pipeline()
		}))
		require.EqualValues(t, 2, count(t, db, "things"))
	})
}

func TestReadValues(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			require.NoError(t, insertThing(tx, 1))
			require.NoError(t, insertThing(tx, 2))
			owner, absent, size, ids := "", "as it was", ptr(int64(7)), []int64{0}
			require.NoError(t, tx.Pipeline(
				database.ReadValue(&owner, "SELECT owner FROM things WHERE id = ?", int64(1)),
				database.ReadValue(&absent, "SELECT owner FROM things WHERE id = ?", int64(9)),
				database.ReadValue(&size, "SELECT NULL FROM things WHERE id = ?", int64(1)),
				database.ReadValues(&ids, "SELECT id FROM things ORDER BY id"),
			))
			require.Equal(t, "o", owner)
			require.Equal(t, "as it was", absent)
			require.Nil(t, size)
			require.Equal(t, []int64{0, 1, 2}, ids)
			return nil
		}))
	})
}

func TestPipelineStopsAtTheFirstFailure(t *testing.T) {
	errScan := errors.New("scan refused")
	bad := map[string]database.Statement{
		"duplicate": {SQL: "INSERT INTO things (id, owner) VALUES (1, 'o')"},
		"nonsense":  {SQL: "nonsense"},
		"scan":      {SQL: "SELECT 1", Scan: func(database.Row) error { return errScan }},
	}
	each(t, nil, func(t *testing.T, db *database.DB) {
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, 1) }))
		for name, statement := range bad {
			t.Run(name, func(t *testing.T) {
				reached := false
				err := db.Write(t.Context(), func(tx *database.Tx) error {
					return tx.Pipeline(
						database.Statement{SQL: "INSERT INTO things (id, owner) VALUES (2, 'o')"},
						statement,
						database.Statement{SQL: "SELECT 1", Scan: func(database.Row) error { reached = true; return nil }},
					)
				})
				require.Error(t, err)
				require.Equal(t, name == "duplicate", database.IsData(err))
				require.Equal(t, name == "scan", errors.Is(err, errScan))
				require.False(t, reached)
				require.EqualValues(t, 1, count(t, db, "things"))
			})
		}
	})
}

func TestScanDestinations(t *testing.T) {
	type word string
	each(t, nil, func(t *testing.T, db *database.DB) {
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(tx.Insert("things",
				database.Column{Name: "id", Values: []int64{1, 2}},
				database.Column{Name: "owner", Values: []string{"a", "b"}},
				database.Column{Name: "name", Values: []*string{ptr("n"), nil}},
				database.Column{Name: "size", Values: []*int64{ptr(int64(7)), nil}},
				database.Column{Name: "body", Values: [][]byte{{0, 1, 255}, nil}},
				database.Column{Name: "big", Values: []bool{true, false}},
			)...)
		}))
		row := 0
		err := db.ReadStatement(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{
				SQL:  "SELECT owner, name, name, size, size, body, big, EXISTS (SELECT 1), id = ? FROM things ORDER BY id",
				Args: []any{int64(1)}, Scan: func(r database.Row) error {
					var (
						owner            word
						name             *string
						nullName         sql.NullString
						size             *int64
						nullSize         sql.NullInt64
						body             []byte
						big, exists, one bool
					)
					require.NoError(t, r.Scan(&owner, &name, &nullName, &size, &nullSize, &body, &big, &exists, &one))
					row++
					require.True(t, exists)
					if row == 1 {
						require.Equal(t, word("a"), owner)
						require.Equal(t, ptr("n"), name)
						require.Equal(t, sql.NullString{String: "n", Valid: true}, nullName)
						require.Equal(t, ptr(int64(7)), size)
						require.Equal(t, sql.NullInt64{Int64: 7, Valid: true}, nullSize)
						require.Equal(t, []byte{0, 1, 255}, body)
						require.True(t, big && one)
						return nil
					}
					require.Nil(t, name)
					require.False(t, nullName.Valid || nullSize.Valid || big || one)
					require.Nil(t, size)
					require.Nil(t, body)
					return nil
				},
			})
		})
		require.NoError(t, err)
		require.Equal(t, 2, row)
	})
}

func ptr[T any](value T) *T { return &value }

// A repeated statement, with other arguments or after failures, behaves as it did at first.
func TestStatementsAreReused(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		for range 3 {
			for id := range int64(20) {
				require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, id) }))
				require.True(t, database.IsData(db.Write(t.Context(), func(tx *database.Tx) error {
					return insertThing(tx, id)
				})))
			}
			require.EqualValues(t, 20, count(t, db, "things"))
			require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
				return tx.Pipeline(database.Statement{SQL: "DELETE FROM things"})
			}))
		}
	})
}

// This test uses more different statements than a connection keeps prepared, and repeats one of them again and again.
func TestManyDifferentStatements(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			for i := range 1000 {
				var n int64
				text := "SELECT count(*)" + string([]rune{' ', '+', ' '}) + itoa(i) + " FROM things"
				require.NoError(t, tx.Pipeline(scanOne(text, &n)))
				require.EqualValues(t, i+i/10, n)
				if i%10 == 9 {
					require.NoError(t, insertThing(tx, int64(i)))
				}
			}
			return nil
		}))
	})
}

func TestQuestionMarksBecomeNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT 1":                           "SELECT 1",
		"SELECT ?, ?":                        "SELECT $1, $2",
		"SELECT '?', ?":                      "SELECT '?', $1",
		"SELECT 'it''s ?', ?":                "SELECT 'it''s ?', $1",
		`SELECT "a?b", ?`:                    `SELECT "a?b", $1`,
		"SELECT ? -- why?\n, ?":              "SELECT $1 -- why?\n, $2",
		"SELECT ? /* why? */, ?":             "SELECT $1 /* why? */, $2",
		"SELECT '? unfinished":               "SELECT '? unfinished",
		"?-- to the end?":                    "$1-- to the end?",
		"SELECT ?,?,?,?,?,?,?,?,?,?,?":       "SELECT $1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11",
		"SELECT ?::bigint[] FROM \"tab?le\"": "SELECT $1::bigint[] FROM \"tab?le\"",
	} {
		require.Equal(t, want, database.Numbered(text))
	}
	each(t, nil, func(t *testing.T, db *database.DB) {
		require.NoError(t, db.ReadStatement(t.Context(), func(tx *database.Tx) error {
			var text string
			require.NoError(t, tx.Pipeline(scanOne("SELECT '?' || /* ? */ CAST(? AS text)", &text, "é?")))
			require.Equal(t, "?é?", text)
			return nil
		}))
	})
}

func TestClockOfATransaction(t *testing.T) {
	clock := databasetest.NewClock()
	each(t, func(cfg *database.Config) { cfg.Clock = clock.Now }, func(t *testing.T, db *database.DB) {
		clock.Set(time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.FixedZone("east", 3600)))
		want := time.Date(2026, 3, 1, 11, 0, 0, 123456000, time.UTC)
		require.Equal(t, want, db.Now())
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			var now time.Time
			require.Equal(t, want, tx.Now())
			require.NoError(t, tx.Pipeline(tx.Clock(&now)))
			require.Equal(t, want, now)
			clock.Advance(time.Second)
			require.Equal(t, want.Add(time.Second), tx.Now())
			now = time.Time{}
			require.NoError(t, tx.Pipeline(tx.Clock(&now), database.Statement{SQL: "SELECT 1"}))
			require.Equal(t, want.Add(time.Second), now)
			return nil
		}))
	})
}

// A reader that is held up after its snapshot must not judge the past by the present: it would find that a deadline has
// passed and not see what met it.
func TestAReaderDecidesByTheTimeBeforeItsSnapshot(t *testing.T) {
	clock := databasetest.NewClock()
	each(t, func(cfg *database.Config) { cfg.Clock = clock.Now }, func(t *testing.T, db *database.DB) {
		for name, read := range map[string]func(fn func(tx *database.Tx) error) error{
			"Read":          func(fn func(tx *database.Tx) error) error { return db.Read(t.Context(), fn) },
			"ReadStatement": func(fn func(tx *database.Tx) error) error { return db.ReadStatement(t.Context(), fn) },
			"ReadHeavy":     func(fn func(tx *database.Tx) error) error { return db.ReadHeavy(t.Context(), me, fn) },
			"ReadFor":       func(fn func(tx *database.Tx) error) error { return db.ReadFor(t.Context(), me, fn) },
		} {
			before := db.Now()
			require.NoError(t, read(func(tx *database.Tx) error {
				clock.Advance(time.Second)
				var inPipeline time.Time
				require.NoError(t, tx.Pipeline(database.Statement{SQL: "SELECT 1"}, tx.Clock(&inPipeline)))
				require.Equal(t, before, tx.Now(), name)
				require.Equal(t, before, inPipeline, name)
				return nil
			}))
		}
	})
}

func TestProductionClock(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		near := func(now time.Time) {
			t.Helper()
			require.Equal(t, time.UTC, now.Location())
			require.Zero(t, now.Nanosecond()%1000)
			require.WithinDuration(t, time.Now(), now, patience)
		}
		near(db.Now())
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			first := tx.Now()
			near(first)
			var second time.Time
			require.NoError(t, tx.Pipeline(tx.Clock(&second)))
			near(second)
			require.False(t, second.Before(first), "the clock advances within a transaction")
			return nil
		}))
		require.NoError(t, db.Read(t.Context(), func(tx *database.Tx) error {
			near(tx.Now())
			return nil
		}))
	})
}
