package server

import (
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

func TestFiguresSumMetricsUp(t *testing.T) {
	registry := prometheus.NewRegistry()
	calls := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "openintent_calls_total"}, []string{"code"})
	open := prometheus.NewGauge(prometheus.GaugeOpts{Name: "openintent_open"})
	sizes := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "openintent_sizes"})
	foreign := prometheus.NewCounter(prometheus.CounterOpts{Name: "go_things_total"})
	registry.MustRegister(calls, open, sizes, foreign)
	var passed time.Duration
	f := newFigures(registry, slog.New(slog.DiscardHandler))
	f.elapsed = func() time.Duration { return passed }
	read := func() map[string]*openintentv1.ServerFigure {
		figures, err := f.read()
		require.NoError(t, err)
		byName := make(map[string]*openintentv1.ServerFigure)
		for _, figure := range figures {
			byName[figure.GetName()] = figure
		}
		return byName
	}
	calls.WithLabelValues("OK").Add(20)
	calls.WithLabelValues("NOT_FOUND").Add(10)
	open.Set(7)
	sizes.Observe(5)
	sizes.Observe(6)
	foreign.Inc()
	passed = 10 * time.Second
	figures := read()
	require.Len(t, figures, 4)
	require.InDelta(t, 30, figures["openintent_calls_total"].GetValue(), 0)
	require.InDelta(t, 3, figures["openintent_calls_total"].GetPerSecond(), 0.001)
	require.InDelta(t, 7, figures["openintent_open"].GetValue(), 0)
	require.Nil(t, figures["openintent_open"].PerSecond, "it falls as well")
	require.InDelta(t, 2, figures["openintent_sizes_count"].GetValue(), 0)
	require.InDelta(t, 11, figures["openintent_sizes_sum"].GetValue(), 0)
	require.InDelta(t, 1.1, figures["openintent_sizes_sum"].GetPerSecond(), 0.001)

	for range 20 {
		require.NoError(t, f.look(t.Context()))
		passed += 10 * time.Second
	}
	require.Len(t, f.looks, figuresKept)
	require.Zero(t, read()["openintent_calls_total"].GetPerSecond(), "nothing has come for a minute")
	calls.WithLabelValues("OK").Add(60)
	require.InDelta(t, 1, read()["openintent_calls_total"].GetPerSecond(), 0.001)
}
