package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"
)

// series is one row of figures: what is done and where.
type series struct{ name, where string }

// results hold every round's figure by series and number of callers.
type results struct {
	order   []series
	figures map[series]map[int][]figure
}

func (r *results) add(s series, callers int, f figure) {
	if r.figures[s] == nil {
		r.figures[s] = make(map[int][]figure)
		r.order = append(r.order, s)
	}
	r.figures[s][callers] = append(r.figures[s][callers], f)
}

// median returns the medians over the rounds, for each figure separately.
func (r *results) median(s series, callers int) (figure, bool) {
	figures := r.figures[s][callers]
	if len(figures) == 0 {
		return figure{}, false
	}
	return figure{
		perSecond: middle(figures, func(f figure) float64 { return f.perSecond }),
		median:    middle(figures, func(f figure) time.Duration { return f.median }),
		slow:      middle(figures, func(f figure) time.Duration { return f.slow }),
		batch:     middle(figures, func(f figure) float64 { return f.batch }),
	}, true
}

func middle[T float64 | time.Duration](figures []figure, of func(figure) T) T {
	values := make([]T, len(figures))
	for i, f := range figures {
		values[i] = of(f)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

func (r *results) print(engine string) {
	fmt.Printf("\n%s, every acknowledged message synced\n", engine)
	table := tabwriter.NewWriter(os.Stdout, 2, 8, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(table, "\twhere\tcallers or streams\tper second\tp50 ms\tp99 ms\tmessages a commit\t")
	for _, s := range r.order {
		for _, callers := range slices.Sorted(maps.Keys(r.figures[s])) {
			f, _ := r.median(s, callers)
			batch := ""
			if f.batch > 0 {
				batch = strconv.FormatFloat(f.batch, 'f', 1, 64)
			}
			_, _ = fmt.Fprintf(table, "%s\t%s\t%d\t%.0f\t%.2f\t%.2f\t%s\t\n",
				s.name, s.where, callers, f.perSecond, milliseconds(f.median), milliseconds(f.slow), batch)
		}
	}
	_ = table.Flush()
	r.printAims()
}

// printAims prints the ratios that the design must reach.
func (r *results) printAims() {
	grouped, ok := r.median(unarySends, 64)
	single, measured := r.median(series{"one transaction a message", "one channel"}, 64)
	if ok && measured {
		fmt.Printf("64 callers on one channel: %.1f times one transaction a message\n", grouped.perSecond/single.perSecond)
	}
	if pipelined, measured := r.median(pipelinedSends, pipelines); ok && measured {
		fmt.Printf("pipelined on %d streams, %d unanswered messages on each: %.1f times 64 callers on one channel\n",
			pipelines, pipelineWindow, pipelined.perSecond/grouped.perSecond)
	}
	ask, ok := r.median(series{"ask", "one channel"}, 1)
	bare, measured := r.median(series{"ask, nothing stored", "one channel"}, 1)
	commit, committed := r.median(series{"single-row commit", "-"}, 1)
	if ok && measured && committed {
		floor := bare.median + 2*commit.median
		fmt.Printf("ask with one caller: %.2f ms, %.2f times its floor of %.2f ms (%.2f ms of calls, two commits of %.2f ms)\n",
			milliseconds(ask.median), float64(ask.median)/float64(floor), milliseconds(floor),
			milliseconds(bare.median), milliseconds(commit.median))
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
