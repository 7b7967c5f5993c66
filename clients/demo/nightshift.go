package demo

import (
	"context"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// loseNightShift lets an agent register, take a task and die, and then asks it something. Nothing can wake it, so both wait until somebody
// notices.
func (p *play) loseNightShift(ctx context.Context) error {
	client := p.client.As(nightShift)
	agent, beat, unhealthy, dead := nightShift, int32(1), int32(2), int32(4)
	if _, err := client.Raw().Agents.UpsertAgent(ctx, &openintentv1.RegisterAgentRequest{
		AgentId: &agent, Capabilities: []string{"watching", "rollback"},
		HeartbeatConfig: &openintentv1.HeartbeatConfig{IntervalSeconds: &beat, UnhealthyAfterSeconds: &unhealthy, DeadAfterSeconds: &dead},
	}); err != nil {
		return openintent.FromError(err)
	}
	task, err := client.Raw().Tasks.CreateTask(ctx, &openintentv1.CreateTaskRequest{IntentId: p.releases.IntentID, Name: "Watch the error rate until the morning"})
	if err != nil {
		return openintent.FromError(err)
	}
	if _, err := client.Raw().Tasks.ClaimTask(ctx, &openintentv1.ClaimTaskRequest{TaskId: task.GetId()}); err != nil {
		return openintent.FromError(err)
	}
	if err := p.rest(ctx, 1); err != nil {
		return err
	}
	p.says("night-shift has died; a task and a question of the planner wait for it")
	_, err = p.releases.Send(ctx, openintent.Draft{
		To: nightShift, MessageType: openintent.Request, ExpiresAt: time.Now().Add(24 * time.Hour),
		Payload:      text{"Did the error rate rise during the night? The release waits for your word."},
		Conversation: openintent.Conversation{Subject: "The night's errors", Obligation: &openintent.Obligation{Blocks: openintent.BlocksHalted}},
	})
	return err
}
