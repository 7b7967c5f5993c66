package soak

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sample is what the process used at one rest.
type sample struct {
	at                      time.Time
	lives                   int64
	heap, goroutines, files float64
}

// quantity is something that may not grow: neither by more than its bound over the measured time, nor by more than a
// fraction of its size.
type quantity struct {
	name  string
	of    func(sample) float64
	bound float64
	part  float64
}

var quantities = []quantity{
	{"heap (bytes)", func(s sample) float64 { return s.heap }, 4 << 20, 0.1},
	{"goroutines", func(s sample) float64 { return s.goroutines }, 10, 0},
	{"open files", func(s sample) float64 { return s.files }, 10, 0},
}

// grown returns by how much a quantity grew over the samples: the median slope between any two of them, so that no
// single sample decides, times the time from the first sample to the last.
func (q quantity) grown(samples []sample) float64 {
	var slopes []float64
	for i, from := range samples {
		for _, to := range samples[i+1:] {
			slopes = append(slopes, (q.of(to)-q.of(from))/to.at.Sub(from.at).Seconds())
		}
	}
	if len(slopes) == 0 {
		return 0
	}
	slices.Sort(slopes)
	return slopes[len(slopes)/2] * samples[len(samples)-1].at.Sub(samples[0].at).Seconds()
}

// judge describes growth beyond the bound, or returns "".
func (q quantity) judge(samples []sample) string {
	allowed := max(q.bound, q.part*q.of(samples[0]))
	grown := q.grown(samples)
	if grown <= allowed {
		return ""
	}
	return fmt.Sprintf("%s grew by %.0f in %s and %d lives, from %.0f to %.0f; at most %.0f is allowed", q.name, grown,
		samples[len(samples)-1].at.Sub(samples[0].at).Round(time.Second), samples[len(samples)-1].lives-samples[0].lives,
		q.of(samples[0]), q.of(samples[len(samples)-1]), allowed)
}

// inventory records who holds memory and where goroutines wait, so that it can be compared with another one.
type inventory struct {
	memory     map[string]int64
	goroutines map[string]int64
}

// profileLines bounds how many places a failure names, and profileDepth bounds how many functions it names for each.
const (
	profileLines = 8
	profileDepth = 12
)

func takeInventory() inventory {
	n, _ := runtime.MemProfile(nil, false)
	records := make([]runtime.MemProfileRecord, n+200)
	n, _ = runtime.MemProfile(records, false)
	found := inventory{memory: make(map[string]int64), goroutines: make(map[string]int64)}
	for _, record := range records[:max(n, 0)] {
		if objects := float64(record.InUseObjects()); objects > 0 {
			bytes := float64(record.InUseBytes())
			// The profile samples allocations; this scales a sample of this many bytes to what it stands for.
			found.memory[placeOf(record.Stack())] += int64(bytes / (1 - math.Exp(-bytes/objects/float64(runtime.MemProfileRate))))
		}
	}
	stacks := make([]runtime.StackRecord, runtime.NumGoroutine()+1000)
	n, _ = runtime.GoroutineProfile(stacks)
	for _, record := range stacks[:n] {
		found.goroutines[placeOf(record.Stack())]++
	}
	return found
}

func placeOf(stack []uintptr) string {
	frames := runtime.CallersFrames(stack)
	var names []string
	for more := len(stack) > 0; more && len(names) < profileDepth; {
		var frame runtime.Frame
		frame, more = frames.Next()
		if !strings.HasPrefix(frame.Function, "runtime.") && !strings.HasPrefix(frame.Function, "internal/runtime") {
			names = append(names, frame.Function)
		}
	}
	return strings.Join(names, " < ")
}

// since returns what there is more of than at an earlier time.
func (i inventory) since(before inventory) string {
	return "memory, in bytes by where it was allocated:\n" + more(i.memory, before.memory) +
		"goroutines by where they are:\n" + more(i.goroutines, before.goroutines)
}

func more(now, before map[string]int64) string {
	type difference struct {
		place string
		by    int64
	}
	var grown []difference
	for place, count := range now {
		if by := count - before[place]; by > 0 {
			grown = append(grown, difference{place, by})
		}
	}
	slices.SortFunc(grown, func(a, b difference) int { return cmp.Compare(b.by, a.by) })
	var text strings.Builder
	for _, d := range grown[:min(len(grown), profileLines)] {
		fmt.Fprintf(&text, "  %+d  %s\n", d.by, d.place)
	}
	return text.String()
}

// openFiles counts the process's open files; it returns 0 where there is no /proc.
func openFiles() float64 {
	entries, _ := os.ReadDir("/proc/self/fd")
	return float64(len(entries))
}

func TestGrowthIsNoticed(t *testing.T) {
	heap := quantities[0]
	course := func(value func(i int) float64) (samples []sample) {
		for i := range 40 {
			samples = append(samples, sample{
				at: time.Unix(int64(90*i), 0), lives: int64(100 * i), heap: value(i),
			})
		}
		return samples
	}
	noise := func(i int) float64 { return float64(i * 7919 % 13 << 18) } // up to 3 MiB, without a trend
	for name, tried := range map[string]struct {
		course func(i int) float64
		grows  bool
	}{
		"steady":            {func(i int) float64 { return 40<<20 + noise(i) }, false},
		"one peak":          {func(i int) float64 { return 40<<20 + noise(i) + map[bool]float64{i == 39: 99 << 20}[true] }, false},
		"slowly":            {func(i int) float64 { return 40<<20 + noise(i) + float64(i)*(200<<10) }, true},
		"below the bound":   {func(i int) float64 { return 40<<20 + noise(i) + float64(i)*(50<<10) }, false},
		"a part of much":    {func(i int) float64 { return 400<<20 + float64(i)*(500<<10) }, false},
		"too large a part":  {func(i int) float64 { return 400<<20 + float64(i)*(2000<<10) }, true},
		"it shrinks":        {func(i int) float64 { return 80<<20 - float64(i)*(500<<10) }, false},
		"only in the start": {func(i int) float64 { return 40<<20 + float64(min(i, 3))*(2<<20) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			told := heap.judge(course(tried.course))
			require.Equal(t, tried.grows, told != "", told)
			if tried.grows {
				require.Contains(t, told, "heap (bytes) grew by")
			}
		})
	}
}

func TestInventoryNamesWhatGrew(t *testing.T) {
	before := takeInventory()
	held := make([][]byte, 64)
	holding := make(chan struct{})
	for i := range held {
		held[i] = hold()
		go waitFor(holding)
	}
	require.Eventually(t, func() bool {
		grown := takeInventory().goroutines
		for place, count := range grown {
			if strings.Contains(place, "soak.waitFor") && count == int64(len(held)) {
				return true
			}
		}
		return false
	}, time.Minute, time.Millisecond)
	runtime.GC() // profiles show what was allocated before the last collection
	runtime.GC()
	told := takeInventory().since(before)
	require.Contains(t, told, "soak.hold")
	require.Contains(t, told, "+64  ")
	require.Contains(t, told, "soak.waitFor")
	close(holding)
	runtime.KeepAlive(held)
}

//go:noinline
func hold() []byte { return make([]byte, 1<<20) }

//go:noinline
func waitFor(end chan struct{}) { <-end }
