package conversation

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging"
	"openintent/messaging/claim"
	"openintent/messaging/message"
)

// ClaimMessage claims a message for the caller, or renews the caller's claim.
func (s *Service) ClaimMessage(ctx context.Context, req *openintentv1.ClaimMessageRequest) (*openintentv1.Claim, error) {
	by, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	if err := caller.CheckText("idempotency_key", req.GetIdempotencyKey()); err != nil {
		return nil, err
	}
	if err := by.Quota.Take(0); err != nil { // each claim adds to the log, as a message does
		return nil, err
	}
	lasting := claim.DefaultTime
	if req.TtlSeconds != nil {
		lasting = time.Duration(req.GetTtlSeconds()) * time.Second
	}
	attempt := claim.Attempt{Agent: by.Agent, Fence: req.GetFence(), Key: req.GetIdempotencyKey()}
	var got *claim.Claim
	err = s.messaging.HoldMessage(ctx, by, by.Agent, req.GetChannelId(), req.GetMessageId(), message.Answerable, func(seen *messaging.Sighting) error {
		if err := seen.RequireOpen(); err != nil {
			return err
		}
		of := claimsOn(seen)
		if err := claim.Admit(of.situation, seen.Viewer); err != nil {
			return err
		}
		got, err = of.take(attempt, lasting)
		return err
	})
	if err != nil {
		return nil, err
	}
	return claimToWire(got), nil
}

// ReleaseClaim ends a claim of the caller.
func (s *Service) ReleaseClaim(ctx context.Context, req *openintentv1.ReleaseClaimRequest) (*openintentv1.Claim, error) {
	by, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	var released *claim.Claim
	err = s.messaging.HoldMessage(ctx, by, by.Agent, req.GetChannelId(), req.GetMessageId(), message.Answerable, func(seen *messaging.Sighting) error {
		if err := seen.RequireOpen(); err != nil {
			return err
		}
		of := claimsOn(seen)
		claims, err := of.settled()
		if err != nil {
			return err
		}
		for _, c := range claims {
			if c.AgentID == by.Agent && c.Fence == req.GetFence() && c.Ended == "" {
				released = c
				return of.end(c, claim.EndedByRelease)
			}
		}
		return claim.ErrLost
	})
	if err != nil {
		return nil, err
	}
	return claimToWire(released), nil
}

func claimToWire(c *claim.Claim) *openintentv1.Claim {
	return &openintentv1.Claim{
		MessageId: c.MessageID, Holder: c.AgentID, Fence: c.Fence, ExpiresAt: timestamppb.New(c.ExpiresAt),
	}
}

// claims are the claims on one message, under the lock of its intent.
type claims struct {
	*messaging.Sighting
	situation claim.Situation
}

func claimsOn(seen *messaging.Sighting) claims {
	situation := seen.Snapshot.SituationOf(seen.Message)
	situation.Now = seen.Head().Now()
	return claims{seen, situation}
}

// settled reads the claims, and stores and announces what has ended of them. It returns those that stand or keep their place.
func (c claims) settled() (kept []*claim.Claim, err error) {
	position := c.Message.Position
	found, err := claim.Of(c.Tx, c.Message.IntentNo, position)
	if err != nil {
		return nil, err
	}
	for _, one := range found[position] {
		if one.Ended == "" {
			if why := c.situation.EndingOf(one); why != "" {
				if err := c.end(one, why); err != nil {
					return nil, err
				}
				if !c.situation.Keeps(why) {
					continue
				}
			}
		}
		kept = append(kept, one)
	}
	return kept, nil
}

// end stores that a claim has ended, and announces it.
func (c claims) end(one *claim.Claim, why claim.Ending) error {
	var err error
	if c.situation.Keeps(why) {
		one.End(c.situation, why)
		err = claim.Save(c.Tx, one)
	} else {
		err = c.Tx.Pipeline(claim.Deletion(one))
	}
	if err != nil {
		return err
	}
	return c.Annotate(message.AnnotationClaimEnd, one.AgentID, message.AnnotationDetails{
		Reason: string(why), For: []string{one.AgentID},
	})
}

// take makes or renews a claim, or refuses to.
func (c claims) take(attempt claim.Attempt, lasting time.Duration) (*claim.Claim, error) {
	kept, err := c.settled()
	if err != nil {
		return nil, err
	}
	free, err := c.freePlaces(attempt.Agent)
	if err != nil {
		return nil, err
	}
	outcome, err := attempt.Decide(kept, free)
	switch {
	case err != nil:
		return nil, err
	case outcome.Repeated != nil:
		return outcome.Repeated, nil
	case outcome.Renewed != nil:
		outcome.Renewed.Extend(c.Message, c.situation.Now, lasting)
		outcome.Renewed.Judged(c.situation.Access, c.Head().Epoch, c.situation.Now)
		return outcome.Renewed, claim.Save(c.Tx, outcome.Renewed)
	case outcome.Replaced != nil:
		if err := c.Tx.Pipeline(claim.Deletion(outcome.Replaced)); err != nil {
			return nil, err
		}
	}
	return c.grant(attempt, lasting)
}

// freePlaces returns how many places of the message no answer takes up. It refuses an agent that has answered a request, and a request
// that has the exact number of answers that it takes.
func (c claims) freePlaces(agent string) (int, error) {
	if c.Message.Type != message.TypeRequest {
		return 1, nil
	}
	by, statement := claim.PrepareAnswerers(c.Message.IntentNo, c.Message.Position)
	if err := c.Tx.Pipeline(statement); err != nil {
		return 0, err
	}
	wanted := c.Message.ExactAnswers()
	answers := claim.Answers{Wanted: wanted, Closed: !c.Message.Open, By: by}
	switch _, answered := by[agent]; {
	case answered, wanted > 0 && answers.Full():
		return 0, claim.ErrAnswered
	case wanted == 0:
		return 1, nil
	}
	return wanted - len(by), nil
}

// grant stores and announces a new claim.
func (c claims) grant(attempt claim.Attempt, lasting time.Duration) (*claim.Claim, error) {
	held, err := claim.CountHeld(c.Tx, c.Message.IntentNo, attempt.Agent)
	if err != nil {
		return nil, err
	}
	if held >= claim.MaxHeld {
		return nil, claim.ErrTooMany
	}
	made := &claim.Claim{
		IntentNo: c.Message.IntentNo, ChannelNo: c.Message.ChannelNo, MessagePosition: c.Message.Position, MessageID: c.Message.ID,
		AgentID: attempt.Agent, Fence: database.Micros(c.Head().Tick()), Key: attempt.Key,
	}
	made.Extend(c.Message, c.situation.Now, lasting)
	made.Judged(c.situation.Access, c.Head().Epoch, c.situation.Now)
	if err := claim.Insert(c.Tx, made); err != nil {
		return nil, err
	}
	return made, c.Annotate(message.AnnotationClaim, made.AgentID, message.AnnotationDetails{
		ExpiresAt: made.ExpiresAt, For: []string{made.AgentID},
	})
}
