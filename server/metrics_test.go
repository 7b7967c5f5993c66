package server

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"google.golang.org/grpc/codes"
)

// everyMetric returns the names of all metrics of a server, each with the labels that it has.
func everyMetric(t *testing.T) map[string][]string {
	m := newMetrics()
	m.watchQueue(func() (int, int) { return 0, 0 })
	m.watchReads(func() (int, int) { return 0, 0 })
	m.watchSearch(func() (int64, int64) { return 0, 0 })
	m.end(&call{name: "a"}, codes.OK, time.Second)
	m.notified(1, 1)
	m.messageRefused("a")
	m.doors.WithLabelValues("a", "200").Inc()
	gathered, err := m.registry.Gather()
	require.NoError(t, err)
	known := map[string][]string{"up": {}} // which Prometheus makes itself
	for _, family := range gathered {
		labels := []string{}
		for _, label := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, label.GetName())
		}
		names := []string{family.GetName()}
		if family.GetMetric()[0].GetHistogram() != nil {
			known[family.GetName()+"_bucket"] = append(slices.Clone(labels), "le")
			names = []string{family.GetName() + "_sum", family.GetName() + "_count"}
		}
		for _, name := range names {
			known[name] = labels
		}
	}
	return known
}

var (
	metricName = regexp.MustCompile(`\b((?:openintent|go|process|promhttp)_[a-z_]+|up)\b`)
	matched    = regexp.MustCompile(`\b([a-z_]+)\{([^}]*)\}`)
	labelOf    = regexp.MustCompile(`([a-z_]+)[=!]`)
	grouping   = regexp.MustCompile(`\bby \(([^)]*)\)`)
)

// unknownIn returns the metrics and labels of a query that no server has. job and instance are Prometheus's own.
func unknownIn(query string, known map[string][]string) (unknown []string) {
	labels := []string{"job", "instance"}
	for _, name := range metricName.FindAllString(query, -1) {
		if known[name] == nil {
			unknown = append(unknown, name)
		}
		labels = append(labels, known[name]...)
	}
	for _, selection := range matched.FindAllStringSubmatch(query, -1) {
		for _, label := range labelOf.FindAllStringSubmatch(selection[2], -1) {
			if !slices.Contains(append(slices.Clone(known[selection[1]]), "job", "instance"), label[1]) {
				unknown = append(unknown, selection[1]+" by "+label[1])
			}
		}
	}
	for _, group := range grouping.FindAllStringSubmatch(query, -1) {
		for _, label := range strings.Split(group[1], ", ") {
			if !slices.Contains(labels, label) {
				unknown = append(unknown, label)
			}
		}
	}
	return unknown
}

// Every metric of the dashboard and the alerts is one of the server's, with the labels by which they ask.
func TestTheDashboardAndTheAlertsAskForMetricsThatAreThere(t *testing.T) {
	known := everyMetric(t)
	queries := append(dashboardQueries(t), alertQueries(t)...)
	require.Greater(t, len(queries), 30)
	for _, query := range queries {
		require.Empty(t, unknownIn(query, known), query)
	}
	require.Equal(t, []string{"openintent_stream_open"}, unknownIn(`sum(openintent_stream_open{job="a"})`, known))
	require.Equal(t, []string{"openintent_requests_total by status", "verb"},
		unknownIn(`sum by (verb) (rate(openintent_requests_total{job="a",status="500"}[1m]))`, known))
}

func dashboardQueries(t *testing.T) (queries []string) {
	text, err := os.ReadFile("../deploy/grafana/openintent.json")
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct {
			Title, Description string
			Targets            []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	for _, panel := range dashboard.Panels {
		require.NotEmpty(t, panel.Description, panel.Title)
		for _, target := range panel.Targets {
			queries = append(queries, target.Expr)
		}
	}
	return queries
}

func alertQueries(t *testing.T) (queries []string) {
	text, err := os.ReadFile("../deploy/prometheus/alerts.yaml")
	require.NoError(t, err)
	var alerts struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	require.NoError(t, yaml.Unmarshal(text, &alerts))
	tests, err := os.ReadFile("../deploy/prometheus/alerts_test.yaml")
	require.NoError(t, err)
	for _, rule := range alerts.Groups[0].Rules {
		tested := regexp.MustCompile("alertname: "+rule.Alert+`\b`).FindAllString(string(tests), -1)
		require.Len(t, tested, 2, "a test in which it is silent, and one in which it fires")
		queries = append(queries, rule.Expr)
	}
	return queries
}
