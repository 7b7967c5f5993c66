package server

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/loop"
)

const (
	// figureEvery is how often the figures are looked at for their rates, and figuresKept how many looks are kept: those of a minute.
	figureEvery = 10 * time.Second
	figuresKept = 6
	// ownFigures begins the names of the server's own metrics.
	ownFigures = "openintent_"
)

// figures are the server's metrics, each as one number, with how fast they rise.
type figures struct {
	from    prometheus.Gatherer
	elapsed func() time.Duration
	keeping *loop.Loop

	mutex sync.Mutex
	looks []figureLook // the oldest first
}

// figureLook is what the figures that only rise were at a time.
type figureLook struct {
	at     time.Duration
	values map[string]float64
}

// newFigures begins to count at the start, when all figures are 0.
func newFigures(from prometheus.Gatherer, logger *slog.Logger) *figures {
	began := time.Now()
	f := &figures{from: from, looks: []figureLook{{}}, elapsed: func() time.Duration { return time.Since(began) }}
	f.keeping = loop.New("keep figures for their rates", figureEvery, logger, f.look)
	return f
}

// look keeps what the figures are now.
func (f *figures) look(context.Context) error {
	rising, _, err := f.gather()
	if err != nil {
		return err
	}
	look := figureLook{f.elapsed(), make(map[string]float64, len(rising))}
	for _, figure := range rising {
		look.values[figure.GetName()] = figure.GetValue()
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.looks = append(f.looks, look)
	f.looks = f.looks[max(0, len(f.looks)-figuresKept):]
	return nil
}

// read returns the figures by name.
func (f *figures) read() ([]*openintentv1.ServerFigure, error) {
	rising, all, err := f.gather()
	if err != nil {
		return nil, err
	}
	f.mutex.Lock()
	before := f.looks[0]
	f.mutex.Unlock()
	seconds := max(f.elapsed()-before.at, time.Second).Seconds()
	for _, figure := range rising {
		rate := (figure.GetValue() - before.values[figure.GetName()]) / seconds
		figure.PerSecond = &rate
	}
	return all, nil
}

// gather reads the metrics. Those that only rise are among all.
func (f *figures) gather() (rising, all []*openintentv1.ServerFigure, err error) {
	families, err := f.from.Gather()
	for _, family := range families {
		name := family.GetName()
		if !strings.HasPrefix(name, ownFigures) {
			continue
		}
		var value, count float64
		for _, metric := range family.GetMetric() {
			value += metric.GetCounter().GetValue() + metric.GetGauge().GetValue() + metric.GetHistogram().GetSampleSum()
			count += float64(metric.GetHistogram().GetSampleCount())
		}
		figure := &openintentv1.ServerFigure{Name: name, Value: value}
		switch family.GetType() {
		case dto.MetricType_HISTOGRAM:
			figure.Name = name + "_sum"
			counted := &openintentv1.ServerFigure{Name: name + "_count", Value: count}
			rising, all = append(rising, counted, figure), append(all, counted)
		case dto.MetricType_COUNTER:
			rising = append(rising, figure)
		}
		all = append(all, figure)
	}
	return rising, all, err
}
