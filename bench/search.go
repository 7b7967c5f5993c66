package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
)

// searchMode is the first argument of a run that measures searches. It works on a database that it keeps, because filling one takes
// minutes: bench search -database sqlite:FILE -fill, and then -queries, and -load.
const searchMode = "search"

// childSearch switches the child's search off if it is set.
const childSearch = "OPENINTENT_BENCH_WITHOUT_SEARCH"

const (
	// vocabulary is how many different words the messages have. Word n occurs about n times less often than word 1, which is in about
	// half of the messages. A message has messageWords words.
	vocabulary   = 50_000
	messageWords = 16
	// readers share the messages: each may see a tenth. The messages lie in searchChannels channels.
	readers        = 10
	searchChannels = 20
	// rareEach is how far apart messages with the same rare word are, and phraseEach those with the phrase.
	rareEach, phraseEach = 50_000, 1_000
)

// searching is a run that measures searches.
type searching struct {
	database, other string
	messages        int
	fill, queries   bool
	load, greedy    int
	seconds, pairs  int
	callers         int
	searched        int
	without         bool
}

func search(arguments []string) error {
	var s searching
	flags := flag.NewFlagSet(searchMode, flag.ContinueOnError)
	flags.StringVar(&s.database, "database", "", "the database, which is kept")
	flags.IntVar(&s.messages, "messages", 1_000_000, "how many messages to fill it with")
	flags.BoolVar(&s.fill, "fill", false, "fill the database and wait for the index")
	flags.BoolVar(&s.queries, "queries", false, "measure queries")
	flags.IntVar(&s.load, "load", 0, "send so many messages a second, and measure how soon they are found")
	flags.IntVar(&s.greedy, "greedy", 0, "meanwhile let so many callers search without end")
	flags.IntVar(&s.callers, "callers", 0, "send from so many callers, each of which waits for its answer, as fast as they can, in place of streams")
	flags.IntVar(&s.searched, "searched", 0, "in pairs, let somebody search so many of the 20 intents")
	flags.IntVar(&s.seconds, "seconds", 10, "how long to send")
	flags.IntVar(&s.pairs, "pairs", 0, "measure so many pairs of such loads, one with search and one without on another database")
	flags.StringVar(&s.other, "other", "", "the other database of the pairs, which is kept")
	flags.BoolVar(&s.without, "without", false, "switch search off")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	ctx := context.Background()
	if s.pairs > 0 {
		return s.measurePairs(ctx)
	}
	t, err := s.start(ctx)
	if err != nil {
		return err
	}
	defer t.stop()
	for _, step := range []struct {
		wanted bool
		run    func(context.Context, *target) error
	}{{s.fill, s.fillDatabase}, {s.queries, s.measureQueries}, {s.load > 0, s.printLoad}} {
		if step.wanted {
			if err := step.run(ctx, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// start starts a server on the run's database.
func (s searching) start(ctx context.Context) (*target, error) {
	if s.without {
		return startReplica(ctx, s.database, childSearch+"=1")
	}
	return startReplica(ctx, s.database)
}

// searchText is the text of a message.
func searchText(random *rand.Rand, zipf *rand.Zipf, n int) string {
	var text strings.Builder
	for range messageWords {
		text.WriteString("w" + strconv.FormatUint(zipf.Uint64()+1, 10) + " ")
	}
	if n%phraseEach == 0 {
		text.WriteString("green parrot ")
	} else if random.IntN(50) == 0 {
		text.WriteString("parrot green ")
	}
	text.WriteString("rare" + strconv.Itoa(n%rareEach))
	return text.String()
}

// fillDatabase sends the messages and waits until the index has them.
func (s searching) fillDatabase(ctx context.Context, t *target) error {
	channels, err := t.openSearched(ctx)
	if err != nil {
		return err
	}
	stream, err := openintentv1.NewMessageServiceClient(t.conn).SendMessages(as(ctx, asker))
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 5, vocabulary-1)
	started := time.Now()
	window := make(chan struct{}, 2000)
	sent := make(chan error, 1)
	go func() {
		for n := range s.messages {
			window <- struct{}{}
			if err := stream.Send(&openintentv1.SendMessageRequest{
				ChannelId: channels[n%searchChannels], To: proto.String(reader(n % readers)),
				MessageType: openintentv1.MessageType_MESSAGE_TYPE_NOTIFY.Enum(), Kind: proto.String("kind" + strconv.Itoa(n%7)),
				Payload: &structpb.Struct{Fields: map[string]*structpb.Value{"text": structpb.NewStringValue(searchText(random, zipf, n))}},
			}); err != nil {
				sent <- err
				return
			}
		}
		sent <- stream.CloseSend()
	}()
	for {
		answer, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if answer.GetRefusal() != nil {
			return fmt.Errorf("refused: %v", answer.GetRefusal())
		}
		<-window
	}
	if err := <-sent; err != nil {
		return err
	}
	fmt.Printf("sent %d messages in %s\n", s.messages, time.Since(started).Round(time.Second))
	asked := time.Now()
	if err := t.awaitIndex(ctx, channels, asked, 30*time.Minute); err != nil {
		return err
	}
	fmt.Printf("the index is complete after %s\n", time.Since(started).Round(time.Second))
	return nil
}

// openSearched opens the channels. Each reader says something to the sender first, so that the sender is no stranger whose unread messages
// are bounded.
func (t *target) openSearched(ctx context.Context) ([]string, error) {
	channels, err := t.openChannels(ctx, searchChannels)
	for n := 0; n < readers && err == nil; n++ {
		_, err = openintentv1.NewMessageServiceClient(t.conn).SendMessage(as(ctx, reader(n)), &openintentv1.SendMessageRequest{
			ChannelId: channels[0], To: proto.String(asker), MessageType: openintentv1.MessageType_MESSAGE_TYPE_NOTIFY.Enum(), Payload: textOf("hello"),
		})
	}
	return channels, err
}

func reader(n int) string { return "reader-" + strconv.Itoa(n) }

// awaitIndex searches some channels until the index has everything that was stored there before a time.
func (t *target) awaitIndex(ctx context.Context, channels []string, stored time.Time, most time.Duration) error {
	for deadline := time.Now().Add(most); len(channels) > 0; <-time.After(20 * time.Millisecond) {
		page, err := t.search(as(ctx, asker), &openintentv1.SearchMessagesRequest{Q: "nothinghasthisword", ChannelId: &channels[0]})
		switch {
		case err != nil:
			return err
		case page.CompleteFrom == nil && page.GetCompleteThrough().AsTime().After(stored):
			channels = channels[1:]
		case time.Now().After(deadline):
			return errors.New("the index is not complete in time")
		}
	}
	return nil
}

// awaitFilled waits until the index has everything that was stored until now, though nobody searches it.
func (t *target) awaitFilled(ctx context.Context, most time.Duration) error {
	for began := time.Now(); time.Since(began) < most; <-time.After(time.Second) {
		page, err := t.search(as(ctx, reader(0)), &openintentv1.SearchMessagesRequest{Q: "nothinghasthisword"})
		if err != nil || page.GetCompleteThrough().AsTime().After(began) {
			return err
		}
	}
	return errors.New("the index is not filled in time")
}

func (t *target) search(
	ctx context.Context, request *openintentv1.SearchMessagesRequest,
) (*openintentv1.SearchMessagesResponse, error) {
	return openintentv1.NewSearchServiceClient(t.conn).SearchMessages(ctx, request)
}

// measureQueries measures the mix: each kind of query with and without filters, for an agent that may see a tenth.
func (s searching) measureQueries(ctx context.Context, t *target) error {
	newest, err := t.search(as(ctx, reader(0)), &openintentv1.SearchMessagesRequest{Q: "w1", Limit: proto.Int32(1)})
	if err != nil || len(newest.GetMessages()) == 0 {
		return fmt.Errorf("the database is not filled: %w", err)
	}
	last := newest.GetMessages()[0].GetMessage()
	if err := t.awaitIndex(ctx, []string{last.GetChannelId()}, time.Now(), 10*time.Minute); err != nil {
		return err
	}
	mix := []struct {
		name  string
		words func(n int) string
	}{
		{"rare word", func(n int) string { return "rare" + strconv.Itoa(n*1709%rareEach) }},
		{"common word", func(n int) string { return "w" + strconv.Itoa(n%5+1) }},
		{"middling word", func(n int) string { return "w" + strconv.Itoa(300+n*37) }},
		{"two common words", func(n int) string { return "w1 w" + strconv.Itoa(n%20+2) }},
		{"common and rare", func(n int) string { return "w2 rare" + strconv.Itoa(n*907%rareEach) }},
		{"phrase", func(int) string { return `"green parrot"` }},
		{"two words, never together", func(n int) string { return "w40001 w" + strconv.Itoa(49_000+n) }},
	}
	filters := []struct {
		name string
		set  func(*openintentv1.SearchMessagesRequest)
	}{
		{"no filter", func(*openintentv1.SearchMessagesRequest) {}},
		{"channel", func(r *openintentv1.SearchMessagesRequest) { r.ChannelId = proto.String(last.GetChannelId()) }},
		{"kind", func(r *openintentv1.SearchMessagesRequest) { r.Kind = proto.String("kind3") }},
		{"before", func(r *openintentv1.SearchMessagesRequest) {
			r.Before = timestamppb.New(last.GetCreatedAt().AsTime().Add(-time.Minute))
		}},
	}
	var all []time.Duration
	for _, kind := range mix {
		for _, filter := range filters {
			var took []time.Duration
			found, bounded := 0, 0
			for n := range 10 {
				request := &openintentv1.SearchMessagesRequest{Q: kind.words(n)}
				filter.set(request)
				began := time.Now()
				page, err := t.search(as(ctx, reader(n%readers)), request)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", kind.name, filter.name, err)
				}
				took = append(took, time.Since(began))
				found += len(page.GetMessages())
				if page.GetBounded() {
					bounded++
				}
			}
			all = append(all, took...)
			slices.Sort(took)
			fmt.Printf("%-26s %-10s median %7.1f ms  worst %7.1f ms  found %5.1f  bounded %d of 10\n",
				kind.name, filter.name, inMilliseconds(took[len(took)/2]), inMilliseconds(took[len(took)-1]), float64(found)/10, bounded)
		}
	}
	slices.Sort(all)
	fmt.Printf("all: median %.1f ms, 95th %.1f ms, worst %.1f ms\n",
		inMilliseconds(all[len(all)/2]), inMilliseconds(all[len(all)*95/100]), inMilliseconds(all[len(all)-1]))
	return nil
}

func inMilliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
