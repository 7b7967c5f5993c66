package main

import (
	"context"
	"strconv"
	"time"

	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	doGrow = "send as it grows"
	doList = "list 100 after a cursor"

	// growing is how many callers send simultaneously while something grows.
	growing = 16
	// listed is how many messages a list returns.
	listed = 100
)

// These are the things that grow, by factors of ten up to a bound, as the rows name them.
const (
	growChannels = "channels"
	growMembers  = "members"
	growAgents   = "agents"
	growEvents   = "retained events"
	growHistory  = "messages"
)

var growths = []string{growChannels, growMembers, growAgents, growEvents, growHistory}

// tens returns the sizes at which something is measured as it grows.
func tens(from, to int) (sizes []int) {
	for n := from; n <= to; n *= 10 {
		sizes = append(sizes, n)
	}
	return sizes
}

// growth measures whether a message costs the same when there is more of everything else.
func (c *comparison) growth(ctx context.Context) error {
	var open closers
	defer open.close()
	servers := make([]grower, len(c.engines))
	for i, engine := range c.engines {
		t, processes, err := c.ownServer(ctx, engine, "growth", &open)
		if err != nil {
			return err
		}
		servers[i] = grower{comparison: c, target: t, engine: engine, processes: processes}
		if err := servers[i].prepare(ctx); err != nil {
			return err
		}
	}
	for range c.rounds {
		for _, size := range servers[0].sizes() {
			for i := range servers {
				if err := c.take(ctx, []int{size}, servers[i].contests[size]); err != nil {
					return err
				}
			}
		}
	}
	if err := c.listPublished(ctx); err != nil {
		return err
	}
	for i := range servers {
		if err := servers[i].history(ctx); err != nil {
			return err
		}
	}
	return nil
}

// grower is a server on which things grow.
type grower struct {
	*comparison
	*target
	engine    string
	processes func() []int
	// contests are grouped by the size at which they are measured; the size takes the place of the number of callers.
	contests map[int][]contest
}

// largest bounds what grows; shorter runs have less of everything.
func (c *comparison) largest() int { return max(10, min(10_000, c.messages/10)) }

// growthFigures returns about how many figures a round of growth takes.
func (c *comparison) growthFigures() int {
	of := 3*len(tens(1, c.largest())) + len(tens(1, c.messages/10)) + 4*len(tens(shortHistory, c.messages))
	return of*len(c.engines) + 1
}

// filling returns about how long it takes to make everything as large as it must be.
func (c *comparison) filling() time.Duration {
	messages := c.messages + len(tens(1, c.messages/10))*c.messages/100
	return time.Duration(len(c.engines)) * (time.Duration(messages)*25*time.Microsecond + time.Duration(c.largest())*2*time.Millisecond)
}

func (g *grower) sizes() []int { return tens(1, max(g.largest(), g.messages/10)) }

func (g *grower) add(what string, size int, begin func(context.Context) (worker, error)) {
	if g.contests == nil {
		g.contests = make(map[int][]contest)
	}
	g.contests[size] = append(g.contests[size], contest{
		row: row{doGrow, g.engine, what}, processes: g.processes,
		measure: func(ctx context.Context, _ int) (figure, error) { return g.load(ctx, growing, begin) },
	})
}

// speakInEach sends a message to each channel: the first message on a channel costs more than the later ones.
func (g *grower) speakInEach(ctx context.Context, channels []string) error {
	send, err := g.grpcSender(channels)(ctx)
	if err != nil {
		return err
	}
	return inParallel(len(channels), func(i int) error { return send(ctx, i) })
}

// prepare makes everything as large as it will be measured.
func (g *grower) prepare(ctx context.Context) error {
	channels := make([]string, g.largest())
	agents := make([]string, g.largest())
	err := inParallel(len(channels), func(i int) (err error) {
		if channels[i], err = g.openChannel(ctx, keeping()); err != nil {
			return err
		}
		agents[i] = "bench-agent-" + strconv.Itoa(i)
		_, err = openintentv1.NewAgentServiceClient(g.conn).RegisterAgent(as(ctx, agents[i]), &openintentv1.RegisterAgentRequest{})
		return err
	})
	if err != nil {
		return err
	}
	if err := g.speakInEach(ctx, channels); err != nil {
		return err
	}
	for _, size := range tens(1, g.largest()) {
		g.add(growChannels, size, g.grpcSender(channels[:size]))
		request := keeping()
		request.Members = append([]string{asker}, agents[:size-1]...)
		request.MemberPolicy = openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT.Enum()
		crowded, err := g.openChannel(ctx, request)
		if err != nil {
			return err
		}
		g.add(growMembers, size, g.grpcSender([]string{crowded}))
		g.add(growAgents, size, g.sendingTo(channels[0], agents[:size]))
	}
	for _, size := range tens(1, g.messages/10) {
		// The messages that the channel does not keep are evicted, so only the events remain.
		audited, err := g.openChannel(ctx, &openintentv1.CreateChannelRequest{
			Options: &openintentv1.ChannelOptions{MaxMessages: proto.Int64(listed), Audit: proto.Bool(true)},
		})
		if err != nil {
			return err
		}
		if _, err := g.fill(ctx, audited, size); err != nil {
			return err
		}
		g.add(growEvents, size, g.grpcSender([]string{audited}))
	}
	return nil
}

// keeping describes a channel that keeps every message.
func keeping() *openintentv1.CreateChannelRequest {
	return &openintentv1.CreateChannelRequest{Options: &openintentv1.ChannelOptions{MaxMessages: proto.Int64(keepAll)}}
}

// sendingTo sends to agents in turn.
func (t *target) sendingTo(channel string, agents []string) func(context.Context) (worker, error) {
	client := openintentv1.NewMessageServiceClient(t.conn)
	return func(context.Context) (worker, error) {
		return func(ctx context.Context, n int) error {
			_, err := client.SendMessage(as(ctx, asker), &openintentv1.SendMessageRequest{
				ChannelId: channel, To: &agents[n%len(agents)], Payload: payload(),
			})
			return err
		}, nil
	}
}
