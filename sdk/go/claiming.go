package openintent

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"
)

// This file says how an agent handles a request that takes an exact number of answers and that addresses a role. It claims the request
// before it calls a handler. While others hold the claims, and after its own handlers have failed, the job is put aside for another turn.

const (
	// firstTurn is how long a job waits for its second turn; later waits double up to longestTurn.
	firstTurn   = time.Second
	longestTurn = 10 * time.Second
	// afterFailure is how long a job waits at first after its handlers failed. It is longer than firstTurn, so that other agents
	// take the request first.
	afterFailure = 3 * time.Second
	// claimedAttempts is how often an agent calls the handlers of such a request before it answers with their failure.
	claimedAttempts = 3
	// mostAside bounds how many jobs wait for another turn. Further ones are left to the agents that hold the claims.
	mostAside = 1000
)

// reasonLeaving is the reason of the refusal of a claim to an agent that leaves.
const reasonLeaving = "AGENT_LEAVING"

// needsClaim reports whether only a claim's holder may answer a request.
func needsClaim(message *Message) bool {
	return message.MessageType == Request && message.Collect.exact() > 0 && strings.HasPrefix(message.To, "role:")
}

// doClaimed claims a request and handles it. Claiming it under a key of its own lets a process that takes over have the claim.
func (r *receiver) doClaimed(this *job) {
	claim, err := this.message.Claim(r.life, ClaimOptions{IdempotencyKey: "sdk-claim-" + this.message.ID})
	var refused *Error
	switch {
	case err == nil:
		r.handleClaimed(this, claim)
	case r.life.Err() != nil || errors.As(err, &refused) && refused.Reason == reasonLeaving:
		r.finish(this, false)
	case errors.Is(err, ErrFailedPrecondition), errors.Is(err, ErrNotFound), final(err): // it is answered, or over
		r.finish(this, true)
	default:
		this.turns++
		r.putAside(this, turn(firstTurn, this.turns))
	}
}

// handleClaimed calls the handlers and sends their answer with the claim's fence. The handlers' context ends when the claim is lost.
func (r *receiver) handleClaimed(this *job, claim *Claim) {
	message := this.message
	ctx, end := r.client.handlingSpan(r.life, message)
	working, stop := context.WithCancelCause(ctx)
	unbound := context.AfterFunc(claim.Context(), func() { stop(context.Cause(claim.Context())) })
	answer, err := r.call(working, message)
	unbound()
	stop(nil)
	defer func() { end(err) }()
	lost := claim.Context().Err() != nil
	if err != nil {
		this.failures++
	}
	switch {
	case r.life.Err() != nil:
		r.finish(this, false)
	case lost:
		this.turns++
		r.putAside(this, turn(firstTurn, this.turns))
	case err != nil && this.failures < claimedAttempts && r.staysOpen(message, turn(afterFailure, this.failures)):
		r.giveUp(ctx, message, claim)
		message.Attempt++
		r.putAside(this, turn(afterFailure, this.failures))
	default:
		done := r.conclude(ctx, message, answer, err)
		if claim.answered.Load() {
			claim.letGo()
		} else {
			r.release(ctx, claim)
		}
		if done {
			r.reports.outcome(r.agent, message, answer, err)
		}
		r.finish(this, done)
	}
}

// staysOpen reports whether a request can still be answered after a wait.
func (r *receiver) staysOpen(message *Message, wait time.Duration) bool {
	return message.ExpiresAt.IsZero() || time.Until(message.ExpiresAt) > wait
}

// giveUp releases the claim of handlers that failed, and tells the sender.
func (r *receiver) giveUp(ctx context.Context, message *Message, claim *Claim) {
	if _, err := message.Dispose(ctx, DispositionFailed, DispositionOptions{}); err != nil && r.life.Err() == nil {
		r.log.warn("could not tell that it failed on message "+message.ID, err)
	}
	r.release(ctx, claim)
}

func (r *receiver) release(ctx context.Context, claim *Claim) {
	if err := claim.Release(ctx); err != nil && r.life.Err() == nil {
		r.log.warn("could not release its claim on message "+claim.MessageID, err)
	}
}

// putAside acknowledges a job's deliveries and begins the job again after a wait, if this process is still the one that receives for
// the agent then. Otherwise the process that is finds the request in the inbox.
func (r *receiver) putAside(this *job, wait time.Duration) {
	if r.aside.Add(1) > mostAside {
		r.aside.Add(-1)
		r.finish(this, true)
		return
	}
	r.acknowledge(this)
	time.AfterFunc(wait, func() {
		r.aside.Add(-1)
		if r.active.Load() {
			r.enqueue(this)
		} else {
			r.finish(this, false)
		}
	})
}

// turn returns how long a job waits for a turn: the first wait, doubled with each turn up to longestTurn, and of that between the half
// and the whole.
func turn(first time.Duration, turns int) time.Duration {
	whole := min(first<<min(turns-1, 10), longestTurn)
	return whole/2 + rand.N(whole/2)
}
