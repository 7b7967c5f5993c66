package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/server"
)

const (
	// followedChannels is how many channels idle streams follow, each in a different intent.
	followedChannels = 100
	// idleFor is how long the streams are left alone while their processor time is measured: in that time every
	// stream looks again by itself.
	idleFor = 5 * time.Second
)

// place is what idle streams follow.
type place struct{ intentID, channelID string }

// opener opens idle streams on a server, numbered from a first one on.
type opener func(ctx context.Context, t *target, places []place, first, n int) error

// memory measures what idle streams cost their server, which is a new process each time: the additional memory and
// processor time since before the first stream, divided by the number of streams. It is measured once, not in rounds.
func (p plan) memory(ctx context.Context, engine string) error {
	fmt.Printf("\n%s, each idle stream of an agent of its own, on %d channels\n", engine, followedChannels)
	table := tabwriter.NewWriter(os.Stdout, 2, 8, 2, ' ', tabwriter.AlignRight)
	defer func() { _ = table.Flush() }()
	_, _ = fmt.Fprintln(table, "\tstreams\theap and stacks, KiB a stream\tresident\tgoroutines\tprocessor\t")
	for _, contestant := range []struct {
		name string
		open opener
		echo bool
	}{
		{name: "gRPC, nothing stored", open: openGRPC(func(place, int) *openintentv1.SubscribeRequest {
			return onChannel(fanOutChannel)
		}), echo: true},
		{name: "gRPC, channel", open: openGRPC(func(at place, _ int) *openintentv1.SubscribeRequest {
			return onChannel(at.channelID)
		})},
		{name: "gRPC, intent", open: openGRPC(func(at place, _ int) *openintentv1.SubscribeRequest {
			return &openintentv1.SubscribeRequest{Scope: &openintentv1.SubscribeRequest_IntentId{IntentId: at.intentID}}
		})},
		{name: "gRPC, agent", open: openGRPC(func(_ place, n int) *openintentv1.SubscribeRequest {
			return onAgent(n)
		})},
		{name: "SSE, channel", open: openEvents},
	} {
		start := func() (*target, error) { return p.startServer(ctx, engine, "memory") }
		if contestant.echo {
			start = func() (*target, error) { return startEcho(ctx) }
		}
		lines, err := p.idleStreams(ctx, start, contestant.open, contestant.echo)
		if err != nil {
			return fmt.Errorf("%s: %w", contestant.name, err)
		}
		for _, line := range lines {
			_, _ = fmt.Fprintf(table, "%s\t%s\t\n", contestant.name, line)
		}
	}
	return nil
}

// idleStreams opens more and more streams on a fresh server and returns a line of figures for each number of streams.
func (p plan) idleStreams(ctx context.Context, start func() (*target, error), open opener, echo bool) ([]string, error) {
	t, err := start()
	if err != nil {
		return nil, err
	}
	defer t.stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	places := make([]place, 1)
	if !echo {
		if places, err = t.openPlaces(ctx, followedChannels); err != nil {
			return nil, err
		}
	}
	before, err := t.settled()
	if err != nil {
		return nil, err
	}
	var lines []string
	opened := 0
	for _, streams := range p.idle {
		if err := open(ctx, t, places, opened, streams-opened); err != nil {
			return nil, err
		}
		opened = streams
		now, err := t.settled()
		if err != nil {
			return nil, err
		}
		wait(ctx, idleFor)
		later, err := t.consumption()
		if err != nil {
			return nil, err
		}
		each := func(bytes int64) float64 { return float64(bytes) / 1024 / float64(streams) }
		lines = append(lines, fmt.Sprintf("%d\t%.1f\t%.1f\t%.1f\t%.1f %%", streams,
			each(now.InUse-before.InUse), each(now.Resident-before.Resident),
			float64(now.Goroutines-before.Goroutines)/float64(streams),
			100*float64(later.Before-now.After)/float64(idleFor)))
	}
	return lines, nil
}

func wait(ctx context.Context, duration time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, duration)
	defer cancel()
	<-ctx.Done()
}

func openGRPC(request func(at place, n int) *openintentv1.SubscribeRequest) opener {
	return func(ctx context.Context, t *target, places []place, first, n int) error {
		_, err := t.follow(ctx, first, n, func(n int) *openintentv1.SubscribeRequest {
			return request(places[n%len(places)], n)
		})
		return err
	}
}

// openEvents opens streams of server-sent events, each on a separate connection, and waits until each has begun.
func openEvents(ctx context.Context, t *target, places []place, first, n int) error {
	client := &http.Client{Transport: &http.Transport{}}
	return inParallel(n, func(i int) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet,
			t.base+"/v1/subscribe/channels/"+places[(first+i)%len(places)].channelID, http.NoBody)
		if err != nil {
			return err
		}
		request.Header.Set("X-API-Key", server.DevelopmentKey)
		request.Header.Set("X-Agent-ID", follower(first+i))
		response, err := client.Do(request) //nolint:bodyclose // it ends with the context
		if err != nil {
			return err
		}
		line, err := bufio.NewReader(response.Body).ReadString('\n')
		if err == nil && !strings.HasPrefix(line, "id: ") {
			err = fmt.Errorf("a stream began with %q", line)
		}
		return err
	})
}

// openPlaces opens channels, each in a new intent.
func (t *target) openPlaces(ctx context.Context, n int) ([]place, error) {
	places := make([]place, n)
	channels, err := t.openChannels(ctx, n)
	if err != nil {
		return nil, err
	}
	client := openintentv1.NewChannelServiceClient(t.conn)
	for i, id := range channels {
		channel, err := client.GetChannel(as(ctx, asker), &openintentv1.GetChannelRequest{ChannelId: id})
		if err != nil {
			return nil, err
		}
		places[i] = place{intentID: channel.GetIntentId(), channelID: id}
	}
	return places, nil
}
