package concerns

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// placed draws a place out of few, so that many are equal.
func placed(t *rapid.T, kind int64) place {
	return place{
		since: rapid.Int64Range(0, 3).Draw(t, "since"), kind: kind, major: rapid.Int64Range(0, 2).Draw(t, "major"),
		minor: rapid.Int64Range(0, 2).Draw(t, "minor"), text: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "text"),
	}
}

// laneOf gives places a few at a time, some of them as rows that are no candidates.
func laneOf(kind int64, places []place, isCandidate func(place) bool, each int) *lane {
	return &lane{kind: kind, read: func(after place, _ int) (database.Statement, func() portion) {
		return database.Statement{SQL: "SELECT 1"}, func() portion {
			from, _ := slices.BinarySearchFunc(places, after, func(p, after place) int {
				if p.compare(after) > 0 {
					return 1
				}
				return -1
			})
			rest := places[from:]
			found := portion{ended: len(rest) <= each, through: after}
			for _, p := range rest[:min(each, len(rest))] {
				found.rows++
				if found.through = p; isCandidate(p) {
					found.candidates = append(found.candidates, candidate{place: p})
				}
			}
			return found
		}
	}}
}

// However the lanes are read, and wherever pages end, what comes is what all lanes have: in order, and each place once.
func TestLanesAreMerged(t *testing.T) {
	db := databasetest.Open(t, database.Config{URL: databasetest.URL(t, database.SQLite)})
	rapid.Check(t, func(r *rapid.T) {
		var wanted []place
		isCandidate := func(p place) bool { return (p.since+p.major+p.minor)%3 != 0 }
		var makers []func() *lane
		for range rapid.IntRange(0, 5).Draw(r, "lanes") {
			kind := rapid.Int64Range(1, 3).Draw(r, "kind")
			places := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) place { return placed(t, kind) }), 0, 12).Draw(r, "places")
			slices.SortFunc(places, place.compare)
			places = slices.Compact(places)
			each := rapid.IntRange(1, 5).Draw(r, "each")
			makers = append(makers, func() *lane { return laneOf(kind, places, isCandidate, each) })
			for _, p := range places {
				if isCandidate(p) {
					wanted = append(wanted, p)
				}
			}
		}
		slices.SortFunc(wanted, place.compare)
		wanted = slices.Compact(wanted)

		var got []place
		require.NoError(r, db.Read(t.Context(), func(tx *database.Tx) error {
			for after, pages := (place{}), 0; ; pages++ {
				require.Less(r, pages, 200, "each page leads on")
				var lanes []*lane
				for _, one := range makers {
					lanes = append(lanes, one())
				}
				m := newMerge(lanes, after, bounds{rapid.IntRange(1, 6).Draw(r, "rows"), rapid.IntRange(1, 6).Draw(r, "taken")})
				for {
					some, err := m.take(tx, rapid.IntRange(1, 4).Draw(r, "most"))
					require.NoError(r, err)
					if len(some) == 0 {
						break
					}
					for _, c := range some {
						got = append(got, c.place)
					}
				}
				if m.ended() {
					return nil
				}
				after = m.through()
			}
		}))
		require.Equal(r, wanted, got)
	})
}

// A page ends once it has read enough, though it has found nothing. What it leads on to has the rest.
func TestAPageThatFindsNothingEnds(t *testing.T) {
	db := databasetest.Open(t, database.Config{URL: databasetest.URL(t, database.SQLite)})
	var places []place
	for i := range int64(1_000) {
		places = append(places, place{since: i, kind: 1})
	}
	last := places[len(places)-1]
	require.NoError(t, db.Read(t.Context(), func(tx *database.Tx) error {
		m := newMerge([]*lane{laneOf(1, places, func(p place) bool { return p == last }, 10)}, place{}, bounds{100, 5})
		found, err := m.take(tx, 5)
		require.NoError(t, err)
		require.Empty(t, found)
		require.False(t, m.ended())
		require.Equal(t, 100, m.rows)
		require.Equal(t, places[99], m.through())
		return nil
	}))
}

// Two lanes have the same place, and a page ends with it. What the lane that was read less far has after it comes on the next page.
func TestAPageThatEndsWithWhatTwoLanesHaveLosesNothing(t *testing.T) {
	db := databasetest.Open(t, database.Config{URL: databasetest.URL(t, database.SQLite)})
	first, second, third, fourth := place{since: 1, kind: 1}, place{since: 2, kind: 1}, place{since: 3, kind: 1}, place{since: 4, kind: 1}
	isCandidate := func(p place) bool { return p != third }
	lanes := func() []*lane {
		return []*lane{
			laneOf(1, []place{first, third, fourth}, isCandidate, 2),
			laneOf(1, []place{first, second, fourth}, isCandidate, 1),
		}
	}
	require.NoError(t, db.Read(t.Context(), func(tx *database.Tx) error {
		m := newMerge(lanes(), place{}, bounds{100, 1})
		found, err := m.take(tx, 1)
		require.NoError(t, err)
		require.Equal(t, []candidate{{place: first}}, found)
		require.False(t, m.ended())
		require.Equal(t, first, m.through())

		m = newMerge(lanes(), first, bounds{100, 1})
		found, err = m.take(tx, 1)
		require.NoError(t, err)
		require.Equal(t, []candidate{{place: second}}, found)
		return nil
	}))
}

func TestAPlaceAmongThoseOfAKind(t *testing.T) {
	p := place{since: 5, kind: 2, major: 3, minor: 4, text: "m", more: "n"}
	require.Equal(t, p, p.among(2))
	for kind, comes := range map[int64]bool{1: false, 3: true} {
		other := place{since: 5, kind: kind, major: 9, minor: 9, text: "\U0001f600", more: "z"}
		require.Equal(t, comes, other.compare(p) > 0)
		require.Equal(t, comes, other.compare(p.among(kind)) > 0)
		later := place{since: 6, kind: kind}
		require.Positive(t, later.compare(p.among(kind)))
		earlier := place{since: 4, kind: kind, major: 9}
		require.Negative(t, earlier.compare(p.among(kind)))
	}
}
