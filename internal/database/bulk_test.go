package database_test

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
)

func itoa(n int) string { return strconv.Itoa(n) }

// columnsOf makes n rows of things; every third of the values that may be NULL is NULL.
func columnsOf(n int) []database.Column {
	ids, owners, names := make([]int64, n), make([]string, n), make([]*string, n)
	sizes, bodies, big := make([]*int64, n), make([][]byte, n), make([]bool, n)
	for i := range n {
		ids[i], owners[i], big[i] = int64(i), "owner-"+itoa(i%7), i%2 == 0
		if i%3 != 0 {
			names[i] = ptr("näme ' \" \\ {" + itoa(i))
			sizes[i] = ptr(int64(i) << 33)
			bodies[i] = bytes.Repeat([]byte{0, byte(i), 255}, i%4)
		}
	}
	return []database.Column{
		{Name: "id", Values: ids}, {Name: "owner", Values: owners}, {Name: "name", Values: names},
		{Name: "size", Values: sizes}, {Name: "body", Values: bodies}, {Name: "big", Values: big},
	}
}

func TestBulkInsert(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		for _, n := range []int{0, 1, 2, 3, 100, 5000} {
			t.Run(itoa(n), func(t *testing.T) {
				columns := columnsOf(n)
				require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
					require.NoError(t, tx.Pipeline(database.Statement{SQL: "DELETE FROM things"}))
					statements := tx.Insert("things", columns...)
					if n == 0 {
						require.Empty(t, statements)
					}
					if tx.Engine() == database.PostgreSQL {
						require.LessOrEqual(t, len(statements), 1)
						if n == 1 || n == 2 {
							require.NotContains(t, statements[0].SQL, "unnest", "unpacking arrays costs more than the rows")
						}
					}
					return tx.Pipeline(statements...)
				}))
				var things []thing
				require.NoError(t, db.Read(t.Context(), func(tx *database.Tx) error {
					return tx.Gorm().Order("id").Find(&things).Error
				}))
				require.Len(t, things, n)
				var nulls int
				require.NoError(t, db.ReadStatement(t.Context(), func(tx *database.Tx) error {
					return tx.Pipeline(scanOne("SELECT count(*) FROM things WHERE body IS NULL", &nulls))
				}))
				require.Equal(t, (n+2)/3, nulls, "empty bytes are not NULL")
				for i, got := range things {
					want := thing{
						ID: columns[0].Values.([]int64)[i], Owner: columns[1].Values.([]string)[i],
						Name: columns[2].Values.([]*string)[i], Size: columns[3].Values.([]*int64)[i],
						Body: columns[4].Values.([][]byte)[i], Big: ptr(columns[5].Values.([]bool)[i]),
					}
					require.True(t, bytes.Equal(want.Body, got.Body))
					want.Body, got.Body = nil, nil
					require.Equal(t, want, got)
				}
			})
		}
	})
}

func TestBulkInsertIsAtomic(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		columns := columnsOf(300)
		columns[0].Values.([]int64)[299] = 0
		err := db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(tx.Insert("things", columns...)...)
		})
		require.True(t, database.IsData(err))
		require.Zero(t, count(t, db, "things"))
	})
}

func TestInsertIgnore(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		insert := func(n int) (inserted int64) {
			require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
				statements := tx.InsertIgnore("things", columnsOf(n)...)
				affected := make([]int64, len(statements))
				for i := range statements {
					statements[i].Affected = &affected[i]
				}
				err := tx.Pipeline(statements...)
				inserted = 0
				for _, n := range affected {
					inserted += n
				}
				return err
			}))
			return inserted
		}
		require.EqualValues(t, 10, insert(10))
		require.EqualValues(t, 85, insert(95))
		require.Zero(t, insert(95))
		require.EqualValues(t, 95, count(t, db, "things"))
	})
}

// Rows that are further than what is given stay as they are.
func TestAdvance(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		advance := func(from, to, mark int64) {
			a, b, n := []int64{}, []string{}, []int64{}
			for row := from; row < to; row++ {
				a, b, n = append(a, row), append(b, "b"), append(n, mark+row)
			}
			require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
				keys := []database.Column{{Name: "a", Values: a}, {Name: "b", Values: b}}
				tx.SendWithCommit(tx.Advance("pairs", keys, database.Column{Name: "n", Values: n})...)
				return nil
			}))
		}
		sum := func() (total int64) {
			require.NoError(t, db.ReadStatement(t.Context(), func(tx *database.Tx) error {
				return tx.Pipeline(database.ReadValue(&total, "SELECT COALESCE(SUM(n), 0) FROM pairs"))
			}))
			return total
		}
		advance(0, 0, 0)
		require.Zero(t, sum())
		advance(0, 300, 1000)
		require.EqualValues(t, 300*1000+300*299/2, sum())
		advance(0, 1, 1000)
		advance(0, 300, 500)
		require.EqualValues(t, 300*1000+300*299/2, sum(), "they are further")
		advance(299, 301, 2000)
		require.EqualValues(t, 301*1000+301*300/2+2*1000, sum())
	})
}

func TestBulkUpdate(t *testing.T) {
	const rows = 6000
	each(t, nil, func(t *testing.T, db *database.DB) {
		a, b, n := make([]int64, rows), make([]string, rows), make([]int64, rows)
		for i := range rows {
			a[i], b[i] = int64(i/10), "b"+itoa(i%10)
		}
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(tx.Insert("pairs", database.Column{Name: "a", Values: a},
				database.Column{Name: "b", Values: b}, database.Column{Name: "n", Values: n})...)
		}))
		for _, changed := range []int{0, 1, 2, 100, 5000} {
			t.Run(itoa(changed), func(t *testing.T) {
				set := make([]*int64, changed)
				for i := range set {
					if i%5 != 0 {
						set[i] = ptr(int64(i + changed))
					}
				}
				var affected int64
				require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
					affected = 0
					statements := tx.Update("pairs",
						[]database.Column{{Name: "a", Values: a[:changed]}, {Name: "b", Values: b[:changed]}},
						[]database.Column{{Name: "n", Values: set}})
					for _, statement := range statements {
						var some int64
						statement.Affected = &some
						require.NoError(t, tx.Pipeline(statement))
						affected += some
					}
					return nil
				}))
				require.EqualValues(t, changed, affected)
				i := 0
				require.NoError(t, db.ReadStatement(t.Context(), func(tx *database.Tx) error {
					return tx.Pipeline(database.Statement{
						SQL: "SELECT n FROM pairs ORDER BY a, b", Scan: func(row database.Row) error {
							var got *int64
							require.NoError(t, row.Scan(&got))
							if i < changed {
								require.Equal(t, set[i], got)
							}
							i++
							return nil
						},
					})
				}))
				require.Equal(t, rows, i)
			})
		}
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(tx.Update("pairs",
				[]database.Column{{Name: "a", Values: []int64{-1}}, {Name: "b", Values: []string{"absent"}}},
				[]database.Column{{Name: "n", Values: []int64{1}}})...)
		}), "a key that the table does not have changes nothing")
	})
}

// Statements with the same columns differ by which of them are keys, and by their suffixes.
func TestBulkStatementsOfTheSameColumns(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		a, b, n := database.Column{Name: "a", Values: []int64{1, 1}}, database.Column{Name: "b", Values: []string{"x", "y"}},
			database.Column{Name: "n", Values: []int64{5, 6}}
		run := func(statements func(tx *database.Tx) []database.Statement) error {
			return db.Write(t.Context(), func(tx *database.Tx) error { return tx.Pipeline(statements(tx)...) })
		}
		numbers := func() (found []int64) {
			require.NoError(t, db.ReadStatement(t.Context(), func(tx *database.Tx) error {
				return tx.Pipeline(database.ReadValues(&found, "SELECT n FROM pairs ORDER BY b"))
			}))
			return found
		}
		require.NoError(t, run(func(tx *database.Tx) []database.Statement { return tx.Insert("pairs", a, b, n) }))
		require.True(t, database.IsData(run(func(tx *database.Tx) []database.Statement { return tx.Insert("pairs", a, b, n) })))
		require.NoError(t, run(func(tx *database.Tx) []database.Statement { return tx.InsertIgnore("pairs", a, b, n) }))

		one := func(c database.Column, values any) database.Column {
			return database.Column{Name: c.Name, Values: values}
		}
		a1, by, n7 := one(a, []int64{1}), one(b, []string{"y"}), one(n, []int64{7})
		require.NoError(t, run(func(tx *database.Tx) []database.Statement {
			return tx.Update("pairs", []database.Column{a1, by}, []database.Column{n7})
		}))
		require.Equal(t, []int64{5, 7}, numbers())
		require.True(t, database.IsData(run(func(tx *database.Tx) []database.Statement {
			return tx.Update("pairs", []database.Column{a1}, []database.Column{by, n7})
		})), "it would make two rows the same")
	})
}

func TestBulkRefusesErrorsOfTheProgram(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			one := database.Column{Name: "id", Values: []int64{1}}
			require.Panics(t, func() { tx.Insert("things") })
			require.Panics(t, func() { tx.Insert("things", one, database.Column{Name: "owner", Values: []string{}}) })
			require.Panics(t, func() { tx.Insert("things", database.Column{Name: "id", Values: []float64{1}}) })
			require.Panics(t, func() { tx.Update("things", nil, []database.Column{one}) })
			require.Panics(t, func() { tx.Update("things", []database.Column{one}, nil) })
			require.Panics(t, func() { tx.In("id", []float64{1}) })
			return nil
		}))
	})
}

func TestIn(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			require.NoError(t, tx.Pipeline(tx.Insert("things",
				database.Column{Name: "id", Values: []int64{math.MinInt64, 0, 1, math.MaxInt64}},
				database.Column{Name: "owner", Values: []string{"a", "b", "q\"'{},\\", "é?"}})...))
			return nil
		}))
		for _, test := range []struct {
			column string
			values any
			want   int
		}{
			{"id", []int64{}, 0},
			{"id", []int64(nil), 0},
			{"id", []int64{1}, 1},
			{"t.id", []int64{math.MinInt64, math.MaxInt64, 7}, 2},
			{"owner", []string{}, 0},
			{"owner", []string(nil), 0},
			{"owner", []string{"a", "A", "q\"'{},\\", "é?"}, 3},
			{"owner", strings.Split(strings.Repeat("x,", 5000)+"b", ","), 1},
		} {
			require.NoError(t, db.Read(t.Context(), func(tx *database.Tx) error {
				in, arg := tx.In(test.column, test.values)
				var piped int
				require.NoError(t, tx.Pipeline(scanOne("SELECT count(*) FROM things AS t WHERE "+in, &piped, arg)))
				require.Equal(t, test.want, piped)

				var raw int
				require.NoError(t, tx.Gorm().Raw("SELECT count(*) FROM things AS t WHERE ? = 1 AND "+in, 1, arg).Scan(&raw).Error)
				require.Equal(t, test.want, raw)

				var found []thing
				require.NoError(t, tx.Gorm().Table("things AS t").Where("big IS NULL").Where(in, arg).Find(&found).Error)
				require.Len(t, found, test.want)
				return nil
			}))
		}
	})
}

func TestInRows(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(tx.Insert("pairs",
				database.Column{Name: "a", Values: []int64{1, 1, 2, 2, math.MaxInt64}},
				database.Column{Name: "b", Values: []string{"x", "y", "x", "q\"'{},\\", "é<"}},
				database.Column{Name: "n", Values: []int64{11, 12, 21, 22, 33}})...)
		}))
		many, xs := make([]int64, 20_000), make([]string, 20_000)
		for i := range many {
			many[i], xs[i] = int64(i), "x"
		}
		for _, test := range []struct {
			a    []int64
			b    []string
			want []int64
		}{
			{nil, nil, nil},
			{[]int64{1}, []string{"x"}, []int64{11}},
			{[]int64{1, 2}, []string{"y", "x"}, []int64{12, 21}},
			{[]int64{2, 2, 3, 1}, []string{"x", "x", "x", "X"}, []int64{21}},
			{[]int64{2, math.MaxInt64}, []string{"q\"'{},\\", "é<"}, []int64{22, 33}},
			{many, xs, []int64{11, 21}},
		} {
			require.NoError(t, db.Read(t.Context(), func(tx *database.Tx) error {
				in, args := tx.InRows(database.Column{Name: "p.a", Values: test.a}, database.Column{Name: "b", Values: test.b})
				var found []int64
				require.NoError(t, tx.Pipeline(database.Statement{
					SQL:  "SELECT n FROM pairs AS p WHERE n > ? AND " + in + " ORDER BY n",
					Args: append([]any{0}, args...),
					Scan: func(row database.Row) error {
						var n int64
						err := row.Scan(&n)
						found = append(found, n)
						return err
					},
				}))
				require.Equal(t, test.want, found)
				return nil
			}))
		}
	})
}
