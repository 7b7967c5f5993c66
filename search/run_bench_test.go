package search

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database/databasetest"
)

// BenchmarkABusyRun measures what a run of the index costs a server that has something else to do, while nobody searches: the time, and the
// processor time of this process, without that of PostgreSQL. There are four runs a second.
func BenchmarkABusyRun(b *testing.B) {
	for _, engine := range databasetest.Engines() {
		b.Run(engine.String(), func(b *testing.B) {
			h := newHouse(b, engine, time.Now)
			h.sayInMany(b, 20, 2_000)
			before := processorTime(b)
			for b.Loop() {
				h.indexer.concluded = -1
				require.NoError(b, h.Index(context.Background()))
			}
			b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/float64(b.N), "processor-ns/op")
		})
	}
}
