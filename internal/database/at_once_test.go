package database_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

func thingNamed(id int64, owner, name string) database.Statement {
	return database.Statement{SQL: "INSERT INTO things (id, owner, name, size) VALUES (?, ?, ?, 1)", Args: []any{id, owner, name}}
}

func TestWriteAtOnce(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		committed := 0
		require.NoError(t, db.Lane().WriteAtOnce(t.Context(), func(tx *database.Tx) error {
			require.WithinDuration(t, db.Now(), tx.Now(), patience, "the database's clock is not read")
			tx.SendWithCommit(thingNamed(1, "o", "a"), thingNamed(2, "o", "b"))
			tx.AfterCommit(func() { committed++ })
			return nil
		}))
		require.EqualValues(t, 2, count(t, db, "things"))
		require.Equal(t, 1, committed)

		var n int64
		require.ErrorIs(t, db.Lane().WriteAtOnce(t.Context(), func(tx *database.Tx) error {
			tx.SendWithCommit(thingNamed(3, "o", "c"))
			return tx.Pipeline(scanOne("SELECT count(*) FROM things", &n))
		}), database.ErrNotAtOnce)
		require.ErrorIs(t, db.Lane().WriteAtOnce(t.Context(), func(tx *database.Tx) error {
			return tx.Gorm().Raw("SELECT count(*) FROM things").Scan(&n).Error
		}), database.ErrNotAtOnce)
		require.True(t, database.IsData(db.Lane().WriteAtOnce(t.Context(), func(tx *database.Tx) error {
			tx.AfterCommit(func() { committed++ })
			tx.SendWithCommit(thingNamed(4, "o", "d"), thingNamed(1, "o", "e"))
			return nil
		})))
		require.EqualValues(t, 2, count(t, db, "things"))
		require.Equal(t, 1, committed, "no function runs after a rollback")
	})
}

// sizes reads the sizes of the things in the order of their ids.
func sizes(t *testing.T, db *database.DB) (all []int64) {
	t.Helper()
	require.NoError(t, db.ReadStatement(t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{SQL: "SELECT size FROM things ORDER BY id", Scan: func(row database.Row) error {
			var size int64
			err := row.Scan(&size)
			all = append(all, size)
			return err
		}})
	}))
	return all
}

func TestUpdateExpected(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(thingNamed(1, "o", "a"), thingNamed(2, "o", "b"), thingNamed(3, "p", "c"))
		}))
		update := func(ids, expected, set []int64, owners []string) error {
			return db.Lane().WriteAtOnce(t.Context(), func(tx *database.Tx) error {
				tx.SendWithCommit(tx.UpdateExpected("things",
					[]database.Column{{Name: "id", Values: ids}},
					[]database.Column{{Name: "size", Values: expected}, {Name: "owner", Values: owners}},
					[]database.Column{{Name: "owner", Values: owners}, {Name: "size", Values: set}})...)
				return nil
			})
		}
		require.NoError(t, update([]int64{1, 3}, []int64{1, 1}, []int64{10, 30}, []string{"o", "p"}))
		require.Equal(t, []int64{10, 1, 30}, sizes(t, db))
		require.NoError(t, update(nil, nil, nil, nil))
		for name, err := range map[string]error{
			"a number":          update([]int64{2, 3}, []int64{1, 31}, []int64{2, 3}, []string{"o", "p"}),
			"a text":            update([]int64{2}, []int64{1}, []int64{2}, []string{"x"}),
			"one that is gone":  update([]int64{3, 4}, []int64{30, 1}, []int64{3, 4}, []string{"p", "p"}),
			"one that was NULL": updateNull(t, db),
		} {
			require.True(t, database.IsData(err), "%s: %v", name, err)
			require.Equal(t, []int64{10, 1, 30}, sizes(t, db), "nothing is stored")
		}
	})
}

// updateNull expects a size where there is none.
func updateNull(t *testing.T, db *database.DB) error {
	t.Helper()
	return db.Write(t.Context(), func(tx *database.Tx) error {
		if err := tx.Pipeline(database.Statement{SQL: "UPDATE things SET size = NULL WHERE id = 2"}); err != nil {
			return err
		}
		return tx.Pipeline(tx.UpdateExpected("things",
			[]database.Column{{Name: "id", Values: []int64{2}}},
			[]database.Column{{Name: "size", Values: []int64{1}}},
			[]database.Column{{Name: "owner", Values: []string{"x"}}})...)
	})
}

func TestRefuseChanged(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(thingNamed(1, "o", "a"), thingNamed(2, "p", "b"),
				database.Statement{SQL: "UPDATE things SET name = NULL WHERE id = 2"})
		}))
		refuse := func(ids []int64, owners, names []*string) error {
			return db.Lane().WriteAtOnce(t.Context(), func(tx *database.Tx) error {
				tx.SendWithCommit(tx.RefuseChanged("things",
					[]database.Column{{Name: "id", Values: ids}},
					[]database.Column{{Name: "owner", Values: owners}, {Name: "name", Values: names}})...)
				tx.SendWithCommit(database.Statement{SQL: "UPDATE things SET size = size + 1 WHERE id = 1"})
				return nil
			})
		}
		require.NoError(t, refuse([]int64{1, 2, 3}, []*string{ptr("o"), ptr("p"), nil}, []*string{ptr("a"), nil, nil}))
		require.NoError(t, refuse(nil, nil, nil))
		require.Equal(t, []int64{3, 1}, sizes(t, db))
		for name, err := range map[string]error{
			"another text":           refuse([]int64{1, 2}, []*string{ptr("o"), ptr("q")}, []*string{ptr("a"), nil}),
			"a text instead of NULL": refuse([]int64{2}, []*string{ptr("p")}, []*string{ptr("b")}),
			"NULL instead of a text": refuse([]int64{1}, []*string{ptr("o")}, []*string{nil}),
			"a row expected absent":  refuse([]int64{1}, []*string{nil}, []*string{nil}),
			"a row that is gone":     refuse([]int64{1, 3}, []*string{ptr("o"), ptr("p")}, []*string{ptr("a"), nil}),
		} {
			require.True(t, database.IsData(err), "%s: %v", name, err)
			require.Equal(t, []int64{3, 1}, sizes(t, db), "nothing is stored")
		}
	})
}

func TestNoWaitFailsOnALockedRow(t *testing.T) {
	db := openScratch(t, database.Config{URL: databasetest.BlankURL(t, database.PostgreSQL)})
	require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, 1) }))
	lock := func(tx *database.Tx, clause string) database.Statement {
		return database.Statement{SQL: "SELECT id FROM things" + clause}
	}
	require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
		require.NoError(t, tx.Pipeline(lock(tx, tx.ForUpdate())))
		err := db.Lane().WriteAtOnce(t.Context(), func(tx *database.Tx) error {
			tx.SendWithCommit(lock(tx, tx.ForUpdateNoWait()))
			return nil
		})
		require.True(t, database.IsUnavailable(err), "%v", err)
		err = db.Lane().WriteAtOnce(t.Context(), func(tx *database.Tx) error {
			tx.SendWithCommit(tx.UpdateExpected("things",
				[]database.Column{{Name: "id", Values: []int64{1}}},
				[]database.Column{{Name: "size", Values: []int64{1}}},
				[]database.Column{{Name: "size", Values: []int64{2}}})[0])
			return nil
		})
		require.True(t, database.IsConflict(err), "%v", err)
		require.ErrorContains(t, err, "could not obtain lock", "it has not waited until the lock timed out")
		own := errors.New("the closure's own")
		err = db.Lane().Write(t.Context(), func(tx *database.Tx) error {
			_ = tx.Pipeline(lock(tx, tx.ForUpdateNoWait()))
			return own
		})
		require.ErrorIs(t, err, own)
		require.True(t, database.IsConflict(err), "the caller sees the conflict behind it, too: %v", err)
		runs := 0
		require.ErrorIs(t, db.Write(t.Context(), func(tx *database.Tx) error {
			runs++
			_ = tx.Pipeline(lock(tx, tx.ForUpdateNoWait()))
			return own
		}), own)
		require.Greater(t, runs, 1, "Write sees it, and tries again")
		return nil
	}))
}
