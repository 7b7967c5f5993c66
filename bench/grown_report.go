package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// grownFigures are what was measured, by row and engine: on the empty database and on the filled one.
type grownFigures struct {
	rows   []string
	values map[string]map[string]*[2]time.Duration
}

func (f *grownFigures) add(name, engine string, filled bool, took time.Duration) {
	if f.values[name] == nil {
		if f.values == nil {
			f.values = make(map[string]map[string]*[2]time.Duration)
		}
		f.rows = append(f.rows, name)
		f.values[name] = make(map[string]*[2]time.Duration)
	}
	if f.values[name][engine] == nil {
		f.values[name][engine] = new([2]time.Duration)
	}
	if filled {
		f.values[name][engine][1] = took
		return
	}
	f.values[name][engine][0] = took
}

// ratio returns how many times the figure of the empty database that of the filled one is; 0 if one is missing.
func (f *grownFigures) ratio(name, engine string) float64 {
	if both := f.values[name][engine]; both != nil && both[0] > 0 {
		return float64(both[1]) / float64(both[0])
	}
	return 0
}

// table returns the figures in milliseconds, as Markdown.
func (f *grownFigures) table(engines []string) string {
	var text strings.Builder
	text.WriteString("| ms |")
	for _, engine := range engines {
		fmt.Fprintf(&text, " %s, empty | filled | ratio |", engine)
	}
	text.WriteString("\n|---|" + strings.Repeat("---|---|---|", len(engines)) + "\n")
	for _, name := range f.rows {
		fmt.Fprintf(&text, "| %s |", name)
		for _, engine := range engines {
			if both := f.values[name][engine]; both != nil {
				fmt.Fprintf(&text, " %.3g | %.3g | %.2f |", milliseconds(both[0]), milliseconds(both[1]), f.ratio(name, engine))
			} else {
				text.WriteString(" | | |")
			}
		}
		text.WriteString("\n")
	}
	return text.String()
}

// report prints the table, and writes it with a plot for each engine.
func (g *grownRun) report(ctx context.Context) error {
	table := g.found.table(g.engines)
	fmt.Print(table)
	var page strings.Builder
	fmt.Fprintf(&page, "# Growth\n\n`bench growth -size %s`: %d messages and %d intents. Medians, in milliseconds; \"empty\" has %d messages and %d intents.\n\n",
		g.size.name, g.size.messages, g.size.intents, grownUnread, busyIntents)
	for _, fact := range describeMachine(ctx, &comparison{plan: g.plan}) {
		fmt.Fprintf(&page, "- %s: %s\n", fact.name, fact.value)
	}
	page.WriteString("\n" + table + "\n")
	for _, sentence := range g.sizes {
		page.WriteString("- " + sentence + "\n")
	}
	for _, engine := range g.engines {
		name := "growth-calls-" + engine + ".svg"
		fmt.Fprintf(&page, "\n![%s](%s)\n", engine, name)
		if err := g.write(name, plot("Cost on "+engine+" by what is stored, empty = 1", "messages", "times the empty one", g.curves(engine))); err != nil {
			return err
		}
	}
	return g.write("GROWTH.md", page.String())
}

func (g *grownRun) write(name, text string) error {
	return os.WriteFile(filepath.Join(g.output, name), []byte(text), 0o644) //nolint:gosec // results are for everybody
}

// curves returns a line for each row, from the empty database to the filled one.
func (g *grownRun) curves(engine string) (curves []curve) {
	for _, name := range g.found.rows {
		if ratio := g.found.ratio(name, engine); ratio > 0 {
			short, _, _ := strings.Cut(name, ",")
			curves = append(curves, curve{name: short, sizes: []int{grownUnread, g.size.messages}, values: []float64{1, ratio}})
		}
	}
	return curves
}
