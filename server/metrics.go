package server

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"google.golang.org/grpc/codes"
)

// metrics are what /metrics reports. REST and gRPC calls are counted alike, by the method that they reach.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	inFlight prometheus.Gauge
	streams  prometheus.Gauge
	batches  prometheus.Histogram
	atOnce   prometheus.Counter
	notices  *prometheus.CounterVec
	refused  *prometheus.CounterVec
	doors    *prometheus.CounterVec
	// behindLog counts commits, see intents.Config.ObserveLead.
	behindLog prometheus.Counter
	// lost counts entries of logs that the database has lost, see messaging.Config.ObserveLoss.
	lost prometheus.Counter
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "openintent_requests_total",
			Help: "Finished calls by method and canonical code, over gRPC and REST.",
		}, []string{"method", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "openintent_request_duration_seconds",
			Help: "Duration of calls that are not streams; the duration of an ask includes its wait.",
			Buckets: []float64{
				.00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 600,
			},
		}, []string{"method"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "openintent_requests_in_flight",
			Help: "Running calls that are not streams.",
		}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "openintent_streams_open",
			Help: "Open streams.",
		}),
		atOnce: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "openintent_write_batches_at_once_total",
			Help: "Transactions of the writer that took one round trip, because nothing had changed since its last one.",
		}),
		batches: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "openintent_write_batch_messages",
			Help:    "Messages decided in one commit of the writer.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512},
		}),
		notices: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "openintent_notifications_total",
			Help: "Notifications between replicas, by direction: sent or received.",
		}, []string{"direction"}),
		behindLog: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "openintent_clock_behind_log_total",
			Help: "Commits to intents whose newest time lies more than a second ahead of the clock, which was set back.",
		}),
	}
	m.lost = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "openintent_lost_entries_total",
		Help: "Entries of intents' logs that were stored and that the database no longer has, as far as this server knew of them.",
	})
	m.refused = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "openintent_write_refused_total",
		Help: "Messages that were refused before the writer's queue, by reason: a quota, or too many waiting messages.",
	}, []string{"reason"})
	m.doors = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "openintent_door_requests_total",
		Help: "Answered requests of doors, by door and HTTP status. What a door then calls counts among the calls.",
	}, []string{"door", "status"})
	m.registry.MustRegister(m.refused, m.doors, m.requests, m.duration, m.inFlight, m.streams, m.batches, m.atOnce, m.notices,
		m.behindLog, m.lost,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *metrics) begin(streaming bool) {
	if streaming {
		m.streams.Inc()
	} else {
		m.inFlight.Inc()
	}
}

func (m *metrics) end(call *call, code codes.Code, took time.Duration) {
	m.requests.WithLabelValues(call.name, codeName(code)).Inc()
	if call.streaming {
		m.streams.Dec()
		return
	}
	m.inFlight.Dec()
	m.duration.WithLabelValues(call.name).Observe(took.Seconds())
}

func (m *metrics) batchCommitted(size int, atOnce bool) {
	m.batches.Observe(float64(size))
	if atOnce {
		m.atOnce.Inc()
	}
}

func (m *metrics) messageRefused(reason string) { m.refused.WithLabelValues(reason).Inc() }

func (m *metrics) entriesLost(entries int64) { m.lost.Add(float64(entries)) }

// watchQueue reports the state of the writer's queue whenever somebody asks for metrics.
func (m *metrics) watchQueue(waiting func() (messages, intentsAside int)) {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "openintent_write_queue_messages",
			Help: "Messages that wait to be stored.",
		}, func() float64 { messages, _ := waiting(); return float64(messages) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "openintent_write_intents_aside",
			Help: "Intents whose messages wait apart, because another server holds their locks.",
		}, func() float64 { _, aside := waiting(); return float64(aside) }),
	)
}

// watchReads reports how many callers' reads wait for their turns whenever somebody asks for metrics.
func (m *metrics) watchReads(waiting func() (reads, heavy int)) {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "openintent_reads_waiting",
			Help: "Callers' reads that wait for their turn: of messages, inboxes, threads, streams and single things.",
		}, func() float64 { reads, _ := waiting(); return float64(reads) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "openintent_large_reads_waiting",
			Help: "Callers' large reads that wait for their turn: other lists, searches and verifications.",
		}, func() float64 { _, heavy := waiting(); return float64(heavy) }),
	)
}

// watchSearch reports the state of the search index whenever somebody asks for metrics.
func (m *metrics) watchSearch(progress func() (behind, indexed int64)) {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "openintent_search_behind_entries",
			Help: "Entries of logs that are searched which the search index lacked when this server last looked; 0 at servers that do not fill it.",
		}, func() float64 { behind, _ := progress(); return float64(behind) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "openintent_search_indexed_total",
			Help: "Messages that this server has put into the search index; an edited message counts again.",
		}, func() float64 { _, indexed := progress(); return float64(indexed) }),
	)
}

func (m *metrics) notified(sent, received int) {
	m.notices.WithLabelValues("sent").Add(float64(sent))
	m.notices.WithLabelValues("received").Add(float64(received))
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}
