package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// loadStreams is how many streams send, and loadWindow how many unanswered messages each has at most.
	loadStreams = 4
	loadWindow  = 500
	// bodies is how many different messages are made before the load begins.
	bodies = 20_000
	// probeEach is how often a message is sent whose finding is timed, and lookEach how often somebody looks for those.
	probeEach = 50 * time.Millisecond
	lookEach  = 20 * time.Millisecond
)

// loaded is what a load found.
type loaded struct {
	elapsed time.Duration
	// took is how long each message waited for its answer, found how long after it was sent each probe was found, and looks how long
	// each look for probes took; ascending.
	took, found, looks []time.Duration
	// client, server and database are the processor time that each used.
	client, server, database time.Duration
	// searches and refusals are what the greedy got.
	searches, refusals int64
}

func (s searching) printLoad(ctx context.Context, t *target) error {
	l, err := s.measureLoad(ctx, t)
	if err != nil {
		return err
	}
	fmt.Printf("%.0f sends/s: median %.1f ms, 99th %.1f ms, worst %.1f ms\n", l.perSecond(), at(l.took, 50), at(l.took, 99), at(l.took, 100))
	fmt.Printf("processors in use: client %.2f, server %.2f, database %.2f; %.1f µs of server and database for each send\n",
		l.share(l.client), l.share(l.server), l.share(l.database), l.each())
	if len(l.found) > 0 {
		fmt.Printf("found after: median %.0f ms, 99th %.0f ms, worst %.0f ms of %d; a look: median %.1f ms, 99th %.1f ms, worst %.1f ms\n",
			at(l.found, 50), at(l.found, 99), at(l.found, 100), len(l.found), at(l.looks, 50), at(l.looks, 99), at(l.looks, 100))
	}
	if s.greedy > 0 {
		fmt.Printf("the greedy got %.0f answers/s and %.0f refusals/s\n",
			float64(l.searches)/l.elapsed.Seconds(), float64(l.refusals)/l.elapsed.Seconds())
	}
	return nil
}

// at returns what so many percent of some durations do not exceed, in milliseconds.
func at(sorted []time.Duration, percent int) float64 {
	return inMilliseconds(sorted[min(len(sorted)*percent/100, len(sorted)-1)])
}

func (l *loaded) perSecond() float64 { return float64(len(l.took)) / l.elapsed.Seconds() }
func (l *loaded) share(processor time.Duration) float64 {
	return processor.Seconds() / l.elapsed.Seconds()
}
func (l *loaded) each() float64 {
	return float64((l.server + l.database).Microseconds()) / float64(len(l.took))
}

// measureLoad sends at a rate on a few streams. Meanwhile it measures how soon messages are found that are sent beside them, and what
// client, server and database use of the processors.
func (s searching) measureLoad(ctx context.Context, t *target) (*loaded, error) {
	channels, err := t.openSearched(ctx)
	if err != nil {
		return nil, err
	}
	searched := channels
	if s.pairs > 0 {
		searched = channels[:s.searched]
	}
	if s.without {
		searched = nil
	}
	if err := t.awaitIndex(ctx, searched, time.Now(), time.Minute); err != nil {
		return nil, err
	}
	used, err := s.uses(ctx, t)
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(3, 4))
	zipf := rand.NewZipf(random, 1.1, 5, vocabulary-1)
	texts := make([]*structpb.Struct, bodies)
	for n := range texts {
		texts[n] = textOf(searchText(random, zipf, n))
	}
	client, server, stored, err := used()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	ends := began.Add(time.Duration(s.seconds) * time.Second)
	var sending, working sync.WaitGroup
	senders, send := loadStreams, s.sendAtRate
	if s.callers > 0 {
		senders, send = s.callers, s.sendOneByOne
	}
	took, failures := make([][]time.Duration, senders), make([]error, senders+1)
	for i := range senders {
		sending.Go(func() { took[i], failures[i] = send(ctx, t, i, channels, texts, ends) })
	}
	l := &loaded{}
	var searches, refusals atomic.Int64
	for range s.greedy {
		working.Go(func() {
			for time.Now().Before(ends) {
				_, err := t.search(as(ctx, reader(1)), &openintentv1.SearchMessagesRequest{Q: `w1 w2 "green parrot"`})
				if err != nil {
					refusals.Add(1)
				} else {
					searches.Add(1)
				}
			}
		})
	}
	if !s.without && s.pairs == 0 {
		working.Go(func() { failures[senders] = l.probe(ctx, t, channels, ends) })
	}
	sending.Wait()
	l.elapsed = time.Since(began)
	working.Wait()
	if err := t.awaitIndex(ctx, searched, time.Now(), time.Minute); err != nil {
		return nil, err
	}
	for _, failure := range failures {
		if failure != nil {
			return nil, failure
		}
	}
	l.took = slices.Sorted(slices.Values(slices.Concat(took...)))
	l.searches, l.refusals = searches.Load(), refusals.Load()
	slices.Sort(l.found)
	slices.Sort(l.looks)
	clientThen, serverThen, storedThen, err := used()
	l.client, l.server, l.database = clientThen-client, serverThen-server, storedThen-stored
	return l, err
}

func textOf(text string) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{"text": structpb.NewStringValue(text)}}
}

// uses returns a function that reads the processor time that client, server and database have used.
func (s searching) uses(ctx context.Context, t *target) (func() (client, server, stored time.Duration, err error), error) {
	processes := func() []int { return nil }
	if strings.HasPrefix(s.database, "postgres") {
		var err error
		if processes, err = postgresProcesses(ctx, s.database); err != nil {
			return nil, err
		}
	}
	return func() (client, server, stored time.Duration, err error) {
		used, err := t.consumption()
		return processor(), used.Before, processorOf(processes()), err
	}, nil
}

// sendAtRate sends one stream's part of the load until a time, and returns how long each message waited for its answer.
func (s searching) sendAtRate(
	ctx context.Context, t *target, stream int, channels []string, texts []*structpb.Struct, ends time.Time,
) (took []time.Duration, err error) {
	calls, err := openintentv1.NewMessageServiceClient(t.conn).SendMessages(as(ctx, asker))
	if err != nil {
		return nil, err
	}
	under := make(chan time.Time, loadWindow)
	go func() {
		defer close(under)
		began, n := time.Now(), stream
		for now := began; now.Before(ends); now = <-time.After(4 * time.Millisecond) {
			for due := int(now.Sub(began).Seconds() * float64(s.load)); n < due && time.Now().Before(ends); n += loadStreams {
				under <- time.Now()
				if calls.Send(sent(n, channels, texts)) != nil {
					return
				}
			}
		}
		_ = calls.CloseSend()
	}()
	for sent := range under {
		answer, err := calls.Recv()
		if err != nil {
			return nil, err
		}
		if answer.GetRefusal() != nil {
			return nil, fmt.Errorf("refused: %v", answer.GetRefusal())
		}
		took = append(took, time.Since(sent))
	}
	return took, nil
}

// sent returns a message of the load.
func sent(n int, channels []string, texts []*structpb.Struct) *openintentv1.SendMessageRequest {
	return &openintentv1.SendMessageRequest{
		ChannelId: channels[n%len(channels)], To: proto.String(reader(n % readers)),
		MessageType: openintentv1.MessageType_MESSAGE_TYPE_NOTIFY.Enum(), Payload: texts[n%bodies],
	}
}

// sendOneByOne sends one caller's messages until a time, each when the one before was answered.
func (s searching) sendOneByOne(
	ctx context.Context, t *target, caller int, channels []string, texts []*structpb.Struct, ends time.Time,
) (took []time.Duration, err error) {
	for n := caller; ; n += s.callers {
		began := time.Now()
		if !began.Before(ends) {
			return took, nil
		}
		if _, err := openintentv1.NewMessageServiceClient(t.conn).SendMessage(as(ctx, asker), sent(n, channels, texts)); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
	}
}

// probe sends a message with a word of the run's own now and then, to each channel in turn, and looks for those that were not found yet.
// It looks with another key than that of the load. A message counts as sent at the time that the server gave it, which is before its
// commit.
func (l *loaded) probe(ctx context.Context, t *target, channels []string, ends time.Time) error {
	looking := metadata.AppendToOutgoingContext(ctx, "x-api-key", compatibleKey, "x-agent-id", "bench-prober")
	own := "probe" + strconv.FormatInt(time.Now().UnixNano(), 36)
	var mutex sync.Mutex
	missing := make(map[string]time.Time)
	ended := make(chan error, 1)
	go func() {
		for n := 0; time.Now().Before(ends); n++ {
			m, err := openintentv1.NewMessageServiceClient(t.conn).SendMessage(as(ctx, asker),
				&openintentv1.SendMessageRequest{ChannelId: channels[n*7%len(channels)], Payload: textOf(own)})
			if err != nil {
				ended <- err
				return
			}
			mutex.Lock()
			missing[m.GetId()] = m.GetCreatedAt().AsTime()
			mutex.Unlock()
			<-time.After(probeEach)
		}
		ended <- nil
	}()
	for {
		mutex.Lock()
		oldest := time.Now()
		for _, at := range missing {
			if at.Before(oldest) {
				oldest = at
			}
		}
		left := len(missing)
		mutex.Unlock()
		if left == 0 && time.Now().After(ends) {
			return <-ended
		}
		began := time.Now()
		page, err := t.search(looking, &openintentv1.SearchMessagesRequest{
			Q: own, After: timestamppb.New(oldest.Add(-time.Millisecond)), Limit: proto.Int32(100),
		})
		if err != nil {
			return err
		}
		l.looks = append(l.looks, time.Since(began))
		mutex.Lock()
		for _, found := range page.GetMessages() {
			if at, known := missing[found.GetMessage().GetId()]; known {
				l.found = append(l.found, time.Since(at))
				delete(missing, found.GetMessage().GetId())
			}
		}
		mutex.Unlock()
		<-time.After(lookEach)
	}
}

// measurePairs measures loads with search and without in turns, each with a server of its own, and prints what the index costs: the mean
// ratio of the pairs, with a confidence interval of 95 %. Somebody has searched so many of the intents as the run says. A server with search
// ends when its index has everything of these.
func (s searching) measurePairs(ctx context.Context) error {
	var costs, rates []float64
	for pair := range s.pairs {
		var with, without *loaded
		for turn := range 2 {
			one := s
			if one.without = turn != pair%2; one.without {
				one.database = s.other
			}
			t, err := one.start(ctx)
			if err != nil {
				return err
			}
			l, err := one.measureLoad(ctx, t)
			t.stop()
			if err != nil {
				return err
			}
			if one.without {
				without = l
			} else {
				with = l
			}
		}
		costs = append(costs, with.each()/without.each())
		rates = append(rates, with.perSecond()/without.perSecond())
		fmt.Printf("with: %5.0f sends/s, 99th %6.1f ms, %5.1f µs each; without: %5.0f sends/s, 99th %6.1f ms, %5.1f µs each\n",
			with.perSecond(), at(with.took, 99), with.each(), without.perSecond(), at(without.took, 99), without.each())
	}
	fmt.Printf("with search to without: processor time for each send %s, sends a second %s\n", interval(costs), interval(rates))
	return nil
}

// quantiles of Student's distribution, for 95 % and 1, 2, ... degrees of freedom.
var quantiles = []float64{12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20}

// interval returns the mean of some values and how far from it the true one lies at most, with a confidence of 95 %.
func interval(values []float64) string {
	if len(values) < 2 {
		return fmt.Sprintf("%.2f", values)
	}
	mean, squares := 0.0, 0.0
	for _, value := range values {
		mean += value / float64(len(values))
	}
	for _, value := range values {
		squares += (value - mean) * (value - mean)
	}
	freedom := len(values) - 1
	quantile := quantiles[min(freedom, len(quantiles))-1]
	return fmt.Sprintf("%.2f ± %.2f", mean, quantile*math.Sqrt(squares/float64(freedom*len(values))))
}
