package pages

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
)

type request struct {
	limit  int32
	cursor string
}

func (r request) GetLimit() int32   { return r.limit }
func (r request) GetCursor() string { return r.cursor }

func TestACursorNamesAPlaceInItsList(t *testing.T) {
	var number int64
	var name string
	cursor := Cursor("fruits", int64(9_007_199_254_740_993), `a<"\u00e9/`)
	require.NoError(t, Parse("fruits", cursor, &number, &name))
	require.EqualValues(t, 9_007_199_254_740_993, number)
	require.Equal(t, `a<"\u00e9/`, name)
	for _, wrong := range []string{
		"", "x", "!", cursor + "x", Cursor("trees", int64(1), "a"), Cursor("fruits", int64(1)), Cursor("fruits", int64(1), "a", "b"), Cursor("fruits", "a", "b"),
		Cursor("fruits", 1.5, "b"), Cursor("fruits", int64(1), "a\x00"), Cursor("fruits", int64(1), nil),
		encoding.EncodeToString([]byte("{}")),
	} {
		var refusal *fault.Fault
		require.ErrorAs(t, Parse("fruits", wrong, &number, &name), &refusal, wrong)
		require.Equal(t, "INVALID_FIELD", refusal.Reason)
		require.Equal(t, "cursor", refusal.Fields[0].Path)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Cursor("fruits", int64(1), "a"))
	f.Add("W10")
	f.Fuzz(func(t *testing.T, cursor string) {
		var number int64
		var name string
		err := Parse("fruits", cursor, &number, &name)
		if err != nil {
			var refusal *fault.Fault
			require.ErrorAs(t, err, &refusal)
			return
		}
		var again int64
		require.NoError(t, Parse("fruits", Cursor("fruits", number, name), &again, &name))
		require.Equal(t, number, again)
	})
}

func TestAPageEndsAtItsLimitAndAtItsBytes(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		const list = " FROM (SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4) AS rows ORDER BY n"
		for _, c := range []struct {
			limit int32
			size  string
			rows  int
			more  bool
		}{
			{limit: 4, size: "n", rows: 4}, {limit: 3, size: "n", rows: 3, more: true}, {size: "n", rows: 4},
			{size: "1048576", rows: 3, more: true}, {size: "4194304", rows: 1, more: true},
			{size: "CASE WHEN n = 2 THEN 4194304 ELSE 1 END", rows: 1, more: true},
		} {
			page, err := Begin("rows", request{limit: c.limit}, MaxEntries)
			require.NoError(t, err)
			require.NoError(t, db.Read(t.Context(), func(tx *database.Tx) error {
				rows, err := page.Fit(tx, c.size, list)
				require.Equal(t, c.rows, rows, c)
				return err
			}))
			require.Equal(t, c.more, page.More(), c)
		}
	})
}

// A page that takes some rows at a time is bounded as one that takes all of them at once.
func TestAPageIsFilledInPieces(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		type piece struct {
			rows       int
			more, full bool
		}
		for _, c := range []struct {
			limit int32
			size  string
			want  []piece
		}{
			{limit: 10, size: "n", want: []piece{{2, true, false}, {2, false, false}, {0, false, false}}},
			{limit: 3, size: "n", want: []piece{{2, true, false}, {1, true, true}}},
			{limit: 10, size: "2097152", want: []piece{{1, true, true}}},
			{limit: 10, size: "1572864", want: []piece{{2, true, true}}},
		} {
			page, err := Begin("rows", request{limit: c.limit}, MaxEntries)
			require.NoError(t, err)
			page.InPieces(2)
			after := 0
			for _, want := range c.want {
				require.NoError(t, db.Read(t.Context(), func(tx *database.Tx) error {
					rows, err := page.Fit(tx, c.size,
						" FROM (SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4) AS rows WHERE n > ? ORDER BY n", after)
					require.Equal(t, want, piece{rows, page.More(), page.Full()}, "%+v after %d", c, after)
					after += rows
					return err
				}))
			}
		}
		// The list's condition may leave out everything after a piece.
		page := Of("rows", 10)
		page.InPieces(1)
		for n, more := range []bool{true, false} {
			require.NoError(t, db.Read(t.Context(), func(tx *database.Tx) error {
				_, err := page.Fit(tx, "n", " FROM (SELECT 1 AS n UNION ALL SELECT 2) AS rows WHERE n > ?", 2*n)
				return err
			}))
			require.Equal(t, more, page.More())
		}
		// The bytes of one piece count for the page when the next piece is read.
		page = Of("rows", 10)
		for _, want := range []int{1, 0} {
			require.NoError(t, db.Read(t.Context(), func(tx *database.Tx) error {
				rows, err := page.Fit(tx, "2097152", " FROM (SELECT 1 AS n) AS rows")
				require.Equal(t, want, rows)
				return err
			}))
		}
		require.True(t, page.Full())
	})
}

func TestARequestIsKeptToABoundedPage(t *testing.T) {
	for limit, want := range map[int32]int{0: 50, 1: 1, MaxEntries: MaxEntries, MaxEntries + 1: MaxEntries, 1 << 30: MaxEntries} {
		page, err := Begin("rows", request{limit: limit}, 50)
		require.NoError(t, err)
		require.Equal(t, want, page.Limit())
	}
}

func TestAnOffsetBesideACursorIsRefused(t *testing.T) {
	first, err := Begin("rows", request{}, 50)
	require.NoError(t, err)
	require.NoError(t, first.MaySkip(5))
	var number int64
	next, err := Begin("rows", request{cursor: Cursor("rows", int64(7))}, 50, &number)
	require.NoError(t, err)
	require.EqualValues(t, 7, number)
	require.NoError(t, next.Skip(0))
	for _, refused := range []error{next.MaySkip(1), next.Skip(1)} {
		require.Equal(t, "offset", fault.From(refused).Fields[0].Path)
	}
}

func TestTheAnswerIsBoundedToo(t *testing.T) {
	large := wrapperspb.String(strings.Repeat("x", MaxBytes/2))
	key := func(i int) []any { return []any{int64(i)} }
	entries, next := Close(Of("texts", 10), []*wrapperspb.StringValue{large, large, large}, key)
	require.Len(t, entries, 1)
	require.Equal(t, Cursor("texts", int64(0)), *next)
	alone := wrapperspb.String(strings.Repeat("x", MaxBytes))
	entries, next = Close(Of("texts", 10), []*wrapperspb.StringValue{alone, alone}, key)
	require.Len(t, entries, 1, "one that is too large by itself comes alone")
	require.NotNil(t, next)
	entries, next = Close(Of("texts", 1), []*wrapperspb.StringValue{{Value: "a"}, {Value: "b"}}, key)
	require.Len(t, entries, 1)
	require.NotNil(t, next)
	entries, next = Close(Of("texts", 2), []*wrapperspb.StringValue{{Value: "a"}, {Value: "b"}}, key)
	require.Len(t, entries, 2)
	require.Nil(t, next)
}
