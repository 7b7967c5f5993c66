package demo

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// Person is the name under which the team asks its person.
const Person = "you"

// Options say where and how fast the team plays.
type Options struct {
	// Server is the server's gRPC address, and Key the operator's key.
	Server, Key string
	// Pace is the time between two acts; two seconds if it is 0.
	Pace time.Duration
	// Say is told in one sentence what the team does.
	Say func(sentence string)
}

// These are the agents.
const (
	planner     = "planner"
	reviewer    = "reviewer"
	nightShift  = "night-shift"
	builderAnna = "builder-anna"
	builderBen  = "builder-ben"
	// builder is a role.
	builder = "builder"
)

// play is what all agents know.
type play struct {
	Options
	client *openintent.Client
	// releases is where the planner speaks with everybody, and reviews where changes are handed over.
	releases, reviews *openintent.Channel
}

// Play lets the team play until the context ends.
func Play(ctx context.Context, options Options) error {
	if options.Pace == 0 {
		options.Pace = 2 * time.Second
	}
	client, err := openintent.Dial(openintent.Options{
		Server: options.Server, APIKey: options.Key, AgentID: planner, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	p := &play{Options: options, client: client}
	if err := p.open(ctx); err != nil {
		return unlessOver(ctx, err)
	}
	playing, ctx := errgroup.WithContext(ctx)
	for _, agent := range []*openintent.Agent{p.builder(builderAnna), p.builder(builderBen), p.reviewer()} {
		playing.Go(func() error { return agent.Run(ctx) })
	}
	playing.Go(func() error { return unlessOver(ctx, p.plan(ctx)) })
	playing.Go(func() error { return unlessOver(ctx, p.askPerson(ctx)) })
	playing.Go(func() error { return unlessOver(ctx, p.loseNightShift(ctx)) })
	return playing.Wait()
}

// open makes the intent and its channels.
func (p *play) open(ctx context.Context) error {
	intent, err := p.client.CreateIntent(ctx, openintent.IntentOptions{
		Title: "Release the shop, again and again", Status: openintent.IntentActive,
		Description: "A team of scripted agents builds, reviews and releases a shop. A person decides when a release goes out.",
		State:       map[string]any{"service": "shop", "environment": "production", "rollout": "canary"},
	})
	if err != nil {
		return err
	}
	if err := p.share(ctx, intent.ID); err != nil {
		return err
	}
	if p.releases, err = p.client.Open(ctx, intent.ID, "releases", openintent.ChannelOptions{}); err != nil {
		return err
	}
	p.reviews, err = p.client.Open(ctx, intent.ID, "reviews", openintent.ChannelOptions{})
	return err
}

// share lets the team work on the intent, and the person administer it: so what is wrong in it is the person's concern.
func (p *play) share(ctx context.Context, intentID string) error {
	access := &openintentv1.SetAccessControlRequest{
		IntentId: intentID, DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_OPEN,
		Entries: []*openintentv1.AccessEntryInput{{PrincipalId: Person, Permission: openintentv1.Permission_PERMISSION_ADMIN}},
	}
	for _, agent := range []string{planner, reviewer, nightShift, builderAnna, builderBen} {
		access.Entries = append(access.Entries, &openintentv1.AccessEntryInput{
			PrincipalId: agent, Permission: openintentv1.Permission_PERMISSION_WRITE,
		})
	}
	_, err := p.client.Raw().Access.SetAccessControl(ctx, access)
	return openintent.FromError(err)
}

// agent makes an agent of the team, which is silent but for what it says to others.
func (p *play) agent(id, role string) *openintent.Agent {
	return p.client.Agent(openintent.AgentOptions{
		ID: id, Role: role, Attention: true, Log: slog.New(slog.DiscardHandler), Drain: time.Millisecond, // whoever ends the play does not want to wait
	})
}

// as returns a channel for another agent of the team.
func (p *play) as(ctx context.Context, agent string, channel *openintent.Channel) (*openintent.Channel, error) {
	return p.client.As(agent).GetChannel(ctx, channel.ID)
}

// says tells whoever started the play what happens.
func (p *play) says(format string, arguments ...any) {
	if p.Say != nil {
		p.Say(fmt.Sprintf(format, arguments...))
	}
}

// rest waits for some acts' time.
func (p *play) rest(ctx context.Context, acts int) error {
	timer := time.NewTimer(time.Duration(acts) * p.Pace)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// unlessOver returns an error, or nil if the play is over: then calls end in many ways.
func unlessOver(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the end of the play is no failure
	}
	return err
}
