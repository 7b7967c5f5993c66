package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	openintent "openintent/sdk/go"
)

// patience is how long a question of the team waits for its answer.
const patience = 10 * time.Minute

// text is what agents say to each other.
type text struct {
	Text string `json:"text"`
}

// plan asks the builders for one build after the other, and tells everybody what came of it.
func (p *play) plan(ctx context.Context) error {
	for number := 1; ; number++ {
		version := fmt.Sprintf("4.%d", number)
		p.says("planner asks the builders for a build of %s", version)
		built, err := p.releases.AskWith(ctx, openintent.Question{
			To: "role:" + builder, Timeout: patience,
			Payload: map[string]any{"text": "Who builds " + version + "?", "version": version, "branch": "release/" + version},
			Conversation: openintent.Conversation{
				Subject: "Build " + version, Collect: openintent.CollectOne, Obligation: &openintent.Obligation{Blocks: openintent.BlocksDegraded},
			},
		})
		if err != nil {
			return err
		}
		_, err = p.client.Discharge(ctx, p.releases.ID, built.CorrelationID, version+" is built")
		if err != nil {
			return err
		}
		p.says("%s has built %s", built.Sender, version)
		if err := p.rest(ctx, 1); err != nil {
			return err
		}
		if _, err := p.releases.Broadcast(ctx, map[string]any{
			"text": version + " is on the canary.", "version": version, "servers": 3, "error_rate": 0.002 * float64(number%4), "healthy": true,
		}); err != nil {
			return err
		}
		if err := p.rest(ctx, 4); err != nil {
			return err
		}
	}
}

// askPerson asks a person whether a release may go out, and does what it says. One question waits at a time.
func (p *play) askPerson(ctx context.Context) error {
	for number := 1; ; number++ {
		version := fmt.Sprintf("4.%d", number)
		p.says("planner asks %s whether %s may go out to everybody", Person, version)
		answer, err := p.releases.AskWith(ctx, openintent.Question{
			To: Person, Timeout: patience, Payload: text{"May " + version + " go out to everybody? The canary is healthy."},
			Conversation: openintent.Conversation{Subject: "Release " + version + "?", Priority: openintent.PriorityHigh},
		})
		said := ""
		switch {
		case err == nil:
			said = Person + " answered, so " + version + " goes out."
			p.says("%s answered", answer.Sender)
		case errors.Is(err, openintent.ErrMessageTimeout):
			said = "Nobody decided about " + version + ", so it stays on the canary."
		case errors.Is(err, openintent.ErrFailedPrecondition):
			said = Person + " said no, so " + version + " stays on the canary."
		default:
			return err
		}
		if _, err := p.releases.Broadcast(ctx, text{said}); err != nil {
			return err
		}
		if err := p.rest(ctx, 5); err != nil {
			return err
		}
	}
}
