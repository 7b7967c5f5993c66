package main

import (
	"slices"
	"time"
)

// row is one line of the results: what is done, by which contestant, and where or with how much.
type row struct{ what, contestant, where string }

// measurement is a figure with the processor time that the contestant's servers used for each unit.
type measurement struct {
	figure
	processor time.Duration
}

// figures hold the measurements of every round.
type figures struct {
	order []row
	rows  map[row]map[int][]measurement
}

func newFigures() *figures { return &figures{rows: make(map[row]map[int][]measurement)} }

func (f *figures) add(r row, callers int, m measurement) {
	if f.rows[r] == nil {
		f.rows[r] = make(map[int][]measurement)
		f.order = append(f.order, r)
	}
	f.rows[r][callers] = append(f.rows[r][callers], m)
}

// callers returns the numbers of callers with which a row was measured, in ascending order.
func (f *figures) callers(r row) (callers []int) {
	for n := range f.rows[r] {
		callers = append(callers, n)
	}
	slices.Sort(callers)
	return callers
}

// values returns the results of all rounds, in ascending order.
func (f *figures) values(r row, callers int, of func(measurement) float64) []float64 {
	values := make([]float64, 0, len(f.rows[r][callers]))
	for _, m := range f.rows[r][callers] {
		values = append(values, of(m))
	}
	slices.Sort(values)
	return values
}

// median returns the median over the rounds; false when there are no rounds.
func (f *figures) median(r row, callers int, of func(measurement) float64) (float64, bool) {
	values := f.values(r, callers, of)
	if len(values) == 0 {
		return 0, false
	}
	return values[len(values)/2], true
}

func rate(m measurement) float64             { return m.perSecond }
func medianSeconds(m measurement) float64    { return m.median.Seconds() }
func slowSeconds(m measurement) float64      { return m.slow.Seconds() }
func processorSeconds(m measurement) float64 { return m.processor.Seconds() }

// ratio divides the figures of each round and returns the median ratio: a disturbance of the machine in one round
// affects both.
func (f *figures) ratio(a row, callersOfA int, b row, callersOfB int, of func(measurement) float64) (float64, bool) {
	above, below := f.rows[a][callersOfA], f.rows[b][callersOfB]
	ratios := make([]float64, 0, len(above))
	for i := range min(len(above), len(below)) {
		if divisor := of(below[i]); divisor > 0 {
			ratios = append(ratios, of(above[i])/divisor)
		}
	}
	if len(ratios) == 0 {
		return 0, false
	}
	slices.Sort(ratios)
	return ratios[len(ratios)/2], true
}
