//go:build harnesses

package harnesses

import (
	"fmt"
	"os"
	"testing"
	"text/tabwriter"
	"time"
)

// table is what `make harness` prints.
type table struct{ *tabwriter.Writer }

func newTable() table {
	made := table{tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)}
	_, _ = fmt.Fprintln(made, "harness\tversion\tway\tanswers\tnext turn\tasks\twrong key\twoken\tnext turn")
	return made
}

func (t table) print() { _ = t.Flush() }

// add plays the story with a harness, and adds its row.
func (t table) add(test *testing.T, k kind, way string) {
	var answered, woke time.Duration
	step := func(name string, play func(t *testing.T)) string {
		result := "-" // left out by -run
		test.Run(name, func(t *testing.T) {
			result = "FAILED"
			play(t)
			result = "ok"
		})
		return result
	}
	row := []any{
		k.name, k.installedVersion(test), way,
		step("answers", func(t *testing.T) { answered = answers(t, k, way) }), &answered,
		step("asks", func(t *testing.T) { asks(t, k, way) }),
		step("wrong_key", func(t *testing.T) { wrongKey(t, k, way) }),
		step("woken", func(t *testing.T) { woke = woken(t, k, way) }), &woke,
	}
	for i, cell := range row {
		if took, ok := cell.(*time.Duration); ok {
			row[i] = took.Round(time.Millisecond)
		}
	}
	_, _ = fmt.Fprintf(t, "%v\t%v\t%v\t%v\t%v\t%v\t%v\t%v\t%v\n", row...)
}
