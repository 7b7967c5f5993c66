package database_test

import (
	"bytes"
	"database/sql"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// A package with its own SQLite would add a second SQLite to the program, written in C under the race detector.
func TestOneSQLiteIsLinked(t *testing.T) {
	drivers := slices.DeleteFunc(sql.Drivers(), func(name string) bool { return !strings.Contains(name, "sqlite") })
	require.Equal(t, []string{"sqlite"}, drivers)
}

// Both engines give the same results for everything that rooms do with gorm.
func TestGormIsAlikeOnBothEngines(t *testing.T) {
	numbers := func(t *testing.T, query *gorm.DB) (ids []int64) {
		t.Helper()
		require.NoError(t, query.Model(&thing{}).Order("id").Pluck("id", &ids).Error)
		return ids
	}
	cases := map[string]func(t *testing.T, tx *gorm.DB){
		"limit":            func(t *testing.T, tx *gorm.DB) { require.Equal(t, []int64{1, 2}, numbers(t, tx.Limit(2))) },
		"limit of nothing": func(t *testing.T, tx *gorm.DB) { require.Empty(t, numbers(t, tx.Limit(0))) },
		"no limit":         func(t *testing.T, tx *gorm.DB) { require.Len(t, numbers(t, tx.Limit(-1)), 3) },
		"offset":           func(t *testing.T, tx *gorm.DB) { require.Equal(t, []int64{2, 3}, numbers(t, tx.Offset(1))) },
		"limit and offset": func(t *testing.T, tx *gorm.DB) { require.Equal(t, []int64{2}, numbers(t, tx.Limit(1).Offset(1))) },
		"a list of values": func(t *testing.T, tx *gorm.DB) { require.Len(t, numbers(t, tx.Where("id IN ?", []int64{1, 3})), 2) },
		"a row of values": func(t *testing.T, tx *gorm.DB) {
			require.Len(t, numbers(t, tx.Where("(id, owner) > (?, ?)", 1, "a")), 2)
		},
		"columns by name": func(t *testing.T, tx *gorm.DB) {
			require.Len(t, numbers(t, tx.Where(map[string]any{"things.owner": "a"})), 2)
		},
		"distinct":          testDistinct,
		"one row":           testTake,
		"a duplicate":       testDoNothing,
		"returning":         testReturning,
		"changes":           testUpdates,
		"deletion":          testDelete,
		"a name with marks": testQuotes,
		"a lock": func(t *testing.T, tx *gorm.DB) {
			require.Len(t, numbers(t, tx.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate,
				Options: clause.LockingOptionsSkipLocked}).Limit(2)), 2)
		},
	}
	each(t, nil, func(t *testing.T, db *database.DB) {
		for name, run := range cases {
			t.Run(name, func(t *testing.T) {
				require.ErrorIs(t, db.Write(t.Context(), func(tx *database.Tx) error {
					things := []thing{{ID: 1, Owner: "a"}, {ID: 2, Owner: "a", Name: ptr("two")}, {ID: 3, Owner: "b", Size: ptr(int64(3))}}
					require.NoError(t, tx.Gorm().Create(things).Error)
					run(t, tx.Gorm())
					return databasetest.ErrInjected
				}), databasetest.ErrInjected)
			})
		}
	})
}

func testDistinct(t *testing.T, tx *gorm.DB) {
	var owners []string
	require.NoError(t, tx.Model(&thing{}).Distinct().Order("owner").Pluck("owner", &owners).Error)
	require.Equal(t, []string{"a", "b"}, owners)
}

func testTake(t *testing.T, tx *gorm.DB) {
	var found thing
	require.NoError(t, tx.Select("owner", "name").Where("id = ?", 2).Take(&found).Error)
	require.Equal(t, thing{Owner: "a", Name: ptr("two")}, found)
	require.ErrorIs(t, tx.Where("id = ?", 9).Take(&thing{}).Error, gorm.ErrRecordNotFound)
}

func testDoNothing(t *testing.T, tx *gorm.DB) {
	result := tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&thing{ID: 1, Owner: "c"})
	require.NoError(t, result.Error)
	require.Zero(t, result.RowsAffected)
	result = tx.Clauses(clause.OnConflict{DoNothing: true}).Create(&thing{ID: 4, Owner: "c"})
	require.NoError(t, result.Error)
	require.EqualValues(t, 1, result.RowsAffected)
}

func testReturning(t *testing.T, tx *gorm.DB) {
	var changed []thing
	result := tx.Model(&changed).Clauses(clause.Returning{}).Where("owner = ?", "a").Update("size", 7)
	require.NoError(t, result.Error)
	require.Len(t, changed, 2)
	require.EqualValues(t, 7, *changed[0].Size)
	var deleted []thing
	require.NoError(t, tx.Clauses(clause.Returning{}).Where("id = ?", 3).Delete(&deleted).Error)
	require.Equal(t, []thing{{ID: 3, Owner: "b", Size: ptr(int64(3))}}, deleted)
}

func testUpdates(t *testing.T, tx *gorm.DB) {
	result := tx.Model(&thing{ID: 1}).Updates(map[string]any{"name": "one", "body": []byte{0, 1}, "big": true})
	require.NoError(t, result.Error)
	require.EqualValues(t, 1, result.RowsAffected)
	require.NoError(t, tx.Model(&thing{ID: 3}).Select("*").Updates(&thing{ID: 3, Owner: "c"}).Error)
	var all []thing
	require.NoError(t, tx.Order("id").Find(&all).Error)
	require.Equal(t, []thing{{ID: 1, Owner: "a", Name: ptr("one"), Body: []byte{0, 1}, Big: ptr(true)},
		{ID: 2, Owner: "a", Name: ptr("two")}, {ID: 3, Owner: "c"}}, all)
}

func testDelete(t *testing.T, tx *gorm.DB) {
	result := tx.Where("owner = ?", "a").Delete(&thing{})
	require.NoError(t, result.Error)
	require.EqualValues(t, 2, result.RowsAffected)
	require.ErrorIs(t, tx.Delete(&thing{}).Error, gorm.ErrMissingWhereClause)
}

func testQuotes(t *testing.T, tx *gorm.DB) {
	const table, column = `a"table`, `a "column" ?`
	require.NoError(t, tx.Exec("CREATE TEMPORARY TABLE ? (? integer)", clause.Table{Name: table}, clause.Column{Name: column}).Error)
	require.NoError(t, tx.Table(table).Create(map[string]any{column: 5}).Error)
	var found int
	require.NoError(t, tx.Raw("SELECT ? FROM ?", clause.Column{Name: column}, clause.Table{Name: table}).Scan(&found).Error)
	require.Equal(t, 5, found)
}

// If rows of one INSERT leave their number to SQLite, each gets the next number.
func TestGormReadsTheNumbersThatSQLiteGives(t *testing.T) {
	type thing struct {
		ID    int64
		Owner string
	}
	db := openScratch(t, database.Config{URL: databasetest.BlankURL(t, database.SQLite)})
	require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
		one, more := thing{Owner: "a"}, []thing{{Owner: "a"}, {ID: 9, Owner: "a"}, {Owner: "a"}}
		require.NoError(t, tx.Gorm().Create(&one).Error)
		require.EqualValues(t, 1, one.ID)
		require.NoError(t, tx.Gorm().Create(&more).Error)
		require.Equal(t, []thing{{2, "a"}, {9, "a"}, {10, "a"}}, more)
		return nil
	}))
}

// The log has gorm's statements, but never their values.
func TestGormLogsNoValues(t *testing.T) {
	var log bytes.Buffer
	each(t, func(cfg *database.Config) {
		cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}, func(t *testing.T, db *database.DB) {
		log.Reset()
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Gorm().Create(&thing{ID: 1, Owner: "secret"}).Error
		}))
		require.Contains(t, log.String(), `INSERT INTO \"things\"`)
		require.NotContains(t, log.String(), "secret")
	})
}

func TestGormMayNotChangeTheSchema(t *testing.T) {
	db := openScratch(t, database.Config{URL: databasetest.BlankURL(t, database.SQLite)})
	require.Panics(t, func() {
		_ = db.Write(t.Context(), func(tx *database.Tx) error { return tx.Gorm().AutoMigrate(&thing{}) })
	})
	require.NoError(t, db.Ping(t.Context()))
}
