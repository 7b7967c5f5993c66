package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// These are a plot's measures, in the units of SVG.
const (
	plotWidth, plotHeight                    = 640, 320
	plotLeft, plotRight, plotTop, plotBottom = 70, 210, 40, 50
)

var plotColors = []string{"#1f6fb4", "#d1661e", "#3a8f3a", "#8a4fb0", "#b03a5b", "#4f9fb0", "#8c7a2b", "#555555"}

// curve is one line of a plot: what it has at each size.
type curve struct {
	name   string
	sizes  []int
	values []float64
}

// plotGrowth writes a plot for each thing that grew and returns the files' names.
func (c *comparison) plotGrowth() (names []string, err error) {
	for _, what := range growths {
		var curves []curve
		for _, engine := range c.engines {
			r := row{doGrow, engine, what}
			curves = append(curves,
				c.curve(r, "time, "+engine, func(m measurement) float64 { return 1 / m.perSecond }),
				c.curve(r, "processor, "+engine, processorSeconds))
		}
		if len(curves) == 0 || len(curves[0].sizes) == 0 {
			continue
		}
		name := "growth-" + strings.ReplaceAll(what, " ", "-") + ".svg"
		picture := plot("Cost of a message by number of "+what, what, "µs a message", curves)
		err := os.WriteFile(filepath.Join(c.output, name), []byte(picture), 0o644) //nolint:gosec // results are for everybody
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

func (c *comparison) curve(r row, name string, of func(measurement) float64) curve {
	drawn := curve{name: name, sizes: c.figures.callers(r)}
	for _, size := range drawn.sizes {
		seconds, _ := c.figures.median(r, size, of)
		drawn.values = append(drawn.values, 1e6*seconds)
	}
	return drawn
}

// plot draws curves over sizes that grow by factors of ten.
func plot(title, what, unit string, curves []curve) string {
	highest, smallest, largest := 0.0, curves[0].sizes[0], curves[0].sizes[0]
	for _, drawn := range curves {
		for i, size := range drawn.sizes {
			smallest, largest = min(smallest, size), max(largest, size)
			highest = max(highest, drawn.values[i])
		}
	}
	highest = niceAbove(highest)
	across, down := float64(plotWidth-plotLeft-plotRight), float64(plotHeight-plotTop-plotBottom)
	x := func(size int) float64 {
		if largest == smallest {
			return plotLeft
		}
		return plotLeft + across*math.Log10(float64(size)/float64(smallest))/math.Log10(float64(largest)/float64(smallest))
	}
	y := func(value float64) float64 { return plotTop + down*(1-value/highest) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n",
		plotWidth, plotHeight)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&b, `<text x="%d" y="20" font-size="14">%s</text>`+"\n", plotLeft, title)
	for i := range 5 {
		value := highest * float64(i) / 4
		fmt.Fprintf(&b, `<line x1="%d" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#ddd"/>`+"\n", plotLeft, y(value), plotLeft+across, y(value))
		fmt.Fprintf(&b, `<text x="%d" y="%.1f" text-anchor="end">%g</text>`+"\n", plotLeft-6, y(value)+4, value)
	}
	fmt.Fprintf(&b, `<text x="14" y="%.1f" transform="rotate(-90 14 %.1f)" text-anchor="middle">%s</text>`+"\n",
		plotTop+down/2, plotTop+down/2, unit)
	for _, size := range tens(smallest, largest) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%d</text>`+"\n", x(size), plotHeight-plotBottom+18, size)
	}
	fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", plotLeft+across/2, plotHeight-12, what)
	for i, drawn := range curves {
		color := plotColors[i%len(plotColors)]
		points := make([]string, len(drawn.sizes))
		for k, size := range drawn.sizes {
			points[k] = fmt.Sprintf("%.1f,%.1f", x(size), y(drawn.values[k]))
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x(size), y(drawn.values[k]), color)
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(points, " "), color)
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" fill="%s">%s</text>`+"\n", plotLeft+across+14, plotTop+12+18*i, color, drawn.name)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// niceAbove returns a round number at or above a value, a quarter of which is round too.
func niceAbove(value float64) float64 {
	if value <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(value)))
	for _, factor := range []float64{1, 2, 4, 8} {
		if factor*unit >= value {
			return factor * unit
		}
	}
	return 10 * unit
}
