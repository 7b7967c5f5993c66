package database_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// documentsAt returns documents whose times lie in bursts, with gaps between them from microseconds to years. Each has the words "all" and
// some of w1 to w50, of which w50 is rare.
func documentsAt(random *rand.Rand, count int) (documents []database.IndexedWords) {
	at := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for range count {
		gap := time.Duration(random.Int64N(200)) * time.Microsecond
		if random.IntN(500) == 0 {
			gap = time.Duration(1) << (20 + random.IntN(36)) // up to two years
		}
		at = at.Add(gap)
		words := []string{"all"}
		for n := 1; n <= 50; n++ {
			if random.IntN(n*n) == 0 {
				words = append(words, "w"+strconv.Itoa(n))
			}
		}
		number := at.UnixMicro() << database.NumberBits
		if last := len(documents) - 1; last >= 0 {
			number = max(number, documents[last].Number+1)
		}
		documents = append(documents, database.IndexedWords{Number: number, Words: words})
	}
	return documents
}

// Both engines find the documents that have all words, the newest first, however common the words are and however the times lie.
func TestWordsFindDocuments(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			random := rand.New(rand.NewPCG(seed, 1))
			db := databasetest.Open(t, database.Config{URL: databasetest.URL(t, engine)})
			documents := documentsAt(random, 6_000)
			store := func(some []database.IndexedWords) {
				require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
					return tx.Pipeline(append(tx.IndexWords(some), tx.MergeWords()...)...)
				}))
			}
			for some := range slices.Chunk(documents, 500) {
				store(some)
			}
			for range 40 {
				words := []string{"all"}
				for range random.IntN(3) {
					words = append(words, "w"+strconv.Itoa(1+random.IntN(50)))
				}
				from, below := documents[random.IntN(len(documents))].Number, documents[random.IntN(len(documents))].Number+random.Int64N(3)
				if random.IntN(2) == 0 {
					from = 0
				}
				requireFound(t, db, documents, database.Distinct(words), from, below, 1+random.IntN(700))
			}
			gone := documents[:3_000]
			require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
				numbers := make([]int64, len(gone))
				for i, d := range gone {
					numbers[i] = d.Number
				}
				return tx.Pipeline(tx.ForgetWords(numbers))
			}))
			last := documents[len(documents)-1]
			requireFound(t, db, documents[3_000:], []string{"all"}, 0, last.Number+1, 512)
			require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
				again := tx.IndexWords([]database.IndexedWords{{Number: last.Number, Words: []string{"another"}}})
				return tx.Pipeline(append([]database.Statement{tx.ForgetWords([]int64{last.Number})}, again...)...)
			}))
			requireFound(t, db, documents[3_000:len(documents)-1], []string{"all"}, 0, last.Number+1, 512)
			require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error { return tx.Pipeline(tx.EmptyWords()...) }))
			requireFound(t, db, nil, []string{"all"}, 0, last.Number+1, 512)
		})
	}
}

// requireFound compares a search with a plain look at all documents.
func requireFound(t *testing.T, db *database.DB, documents []database.IndexedWords, words []string, from, below int64, limit int) {
	t.Helper()
	var wanted []int64
	for _, d := range slices.Backward(documents) {
		has := func(word string) bool { return slices.Contains(d.Words, word) }
		if d.Number >= from && d.Number < below && !slices.ContainsFunc(words, func(word string) bool { return !has(word) }) {
			wanted = append(wanted, d.Number)
		}
	}
	search := &database.WordSearch{Words: words, From: from, Below: below}
	var found []int64
	looks := 0
	require.NoError(t, db.Read(t.Context(), func(tx *database.Tx) error {
		for done := false; !done; looks++ {
			numbers, last, err := search.Next(tx, limit)
			if err != nil {
				return err
			}
			require.LessOrEqual(t, len(numbers), limit)
			found, done = append(found, numbers...), last
		}
		return nil
	}))
	require.Equal(t, wanted, found, "%v from %d below %d", words, from, below)
	require.LessOrEqual(t, looks, 2*len(wanted)/limit+4_000, "looks into the index")
}
