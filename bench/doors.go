package main

import (
	"context"
	"fmt"
)

// doorSend is how to send through a door.
type doorSend struct {
	series series
	work   func(context.Context) (worker, error)
}

// directSends are what the doors are compared with.
var directSends = series{"send, gRPC", "directly"}

// throughDoor names the series of a door.
func throughDoor(how string) series { return series{"send, " + how, "through a door"} }

// doors measures what a send through each door takes, compared with the same over gRPC, and how long after a send a waiting tool
// answers. The text is the same everywhere.
func (p plan) doors(ctx context.Context, engine string) error {
	t, err := p.startServer(ctx, engine, "doors")
	if err != nil {
		return err
	}
	defer t.stop()
	all := &results{figures: make(map[series]map[int][]figure)}
	for range p.rounds {
		channels, err := t.openChannels(ctx, 2)
		if err != nil {
			return err
		}
		sends, err := t.doorSends(ctx, channels[0])
		if err != nil {
			return err
		}
		for _, callers := range doorCallers {
			for _, send := range sends {
				measured, err := p.load(ctx, callers, send.work)
				if err != nil {
					return fmt.Errorf("%s, %d callers: %w", send.series.name, callers, err)
				}
				all.add(send.series, callers, measured)
			}
		}
		waited, err := t.waitWithTool(ctx, channels[1])
		if err != nil {
			return fmt.Errorf("wait: %w", err)
		}
		all.add(waitingTool, 1, waited)
	}
	all.print(engine)
	all.printDoors()
	return nil
}

// doorCallers are how many agents send through a door at a time.
var doorCallers = []int{1, 16}

// waitingTool is the series of the waits.
var waitingTool = series{"send to a waiting tool, MCP", "through a door"}

// doorSends returns the ways to send, each to a channel that was made for it or to the given one. The first two are the API's own.
func (t *target) doorSends(ctx context.Context, channel string) ([]doorSend, error) {
	address, err := t.openDictatable(ctx)
	if err != nil {
		return nil, err
	}
	mesh, err := t.openOnMesh(ctx)
	if err != nil {
		return nil, err
	}
	return []doorSend{
		{directSends, t.grpcSender([]string{channel})},
		{series{"send, REST", "directly"}, t.restSender([]string{channel})},
		{throughDoor("MCP"), t.toolSender("", "send", map[string]any{"channel": channel, "text": text})},
		{throughDoor("C2A"), t.harnessSender(channel)},
		{throughDoor("agent-channel"), t.eventSender(address)},
		{throughDoor("RepoMesh over REST"), t.meshSender(mesh)},
		{throughDoor("RepoMesh over MCP"), t.toolSender("repomesh", "event.log", map[string]any{
			"channel": mesh, "payload": map[string]any{"to": "all", "content": text},
		})},
	}, nil
}

// mostOfGRPC is how many times gRPC's median a send through a door may take.
const mostOfGRPC = 3

// printDoors prints what each door costs.
func (r *results) printDoors() {
	fmt.Printf("p50 of a send as a ratio of gRPC's; the aim is at most %d\n", mostOfGRPC)
	for _, s := range r.order {
		if s == directSends || s == waitingTool {
			continue
		}
		fmt.Printf("  %-26s", s.name)
		for _, callers := range doorCallers {
			direct, _ := r.median(directSends, callers)
			through, _ := r.median(s, callers)
			fmt.Printf("  %d callers: %.2f", callers, float64(through.median)/float64(direct.median))
		}
		fmt.Println()
	}
}
