package torture

import (
	"context"
	"fmt"
	"slices"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
)

// comerNames are agents that come and go. Each has one stream at most.
func comerNames() []string { return numbered("comer", 2) }

const (
	// looking is the longest time between two looks at the reach of the comers.
	looking = 400 * time.Millisecond
	// longStay and longAway bound how long a comer stays, and how long it is away. One time in five it is away so long that every replica must
	// have noticed, if the test lasts long enough for that.
	longStay, longAway = 3 * time.Second, 2 * time.Second
	longEnough         = 4 * goneWithin
)

// comeAndGo lets an agent follow what reaches it with a stream that it opens and ends, and records when it was there.
func (w *world) comeAndGo(ctx context.Context, agent string) {
	f := w.newFollowing(agent, "gRPC stream of an agent that comes and goes", "everything", Once)
	w.startReceiver(ctx, f, func(f *following, ctx context.Context) error {
		w.stayAway(ctx, f)
		staying, leave := context.WithCancel(ctx)
		defer leave()
		if f.cursor != nil && !w.stopped() {
			timer := time.AfterFunc(time.Duration(f.random.Int64N(int64(longStay))), leave)
			defer timer.Stop()
		}
		stay := Stay{Agent: agent, From: time.Since(w.began), To: time.Duration(forever)}
		number := 0
		w.change(func(h *History) {
			number = len(h.Stays)
			h.Stays = append(h.Stays, stay)
		})
		err := f.stream(staying, &openintentv1.SubscribeRequest{
			Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: agent}, AfterPosition: f.cursor,
		})
		w.change(func(h *History) { h.Stays[number].To = time.Since(w.began) })
		if staying.Err() != nil {
			return nil
		}
		return err
	})
}

// stayAway waits as long as a comer is away. It never waits before the first stay, or when senders finish.
func (w *world) stayAway(ctx context.Context, f *following) {
	if f.cursor == nil || w.stopped() {
		return
	}
	away, end := context.WithCancel(ctx)
	defer end()
	go func() {
		select {
		case <-w.stopping:
			end()
		case <-away.Done():
		}
	}()
	if *duration >= longEnough && f.once(5) {
		f.rest(away, goneWithin, goneWithin+10*time.Second)
		return
	}
	f.rest(away, 10*time.Millisecond, longAway)
}

// startLooking asks each replica all the time which comers are live, until the context ends. The calls bypass the lines that are cut.
func (w *world) startLooking(ctx context.Context) {
	for number := range w.replicas {
		c := w.client("", fmt.Sprint("looking at ", number))
		w.senders.Go(func() {
			for !w.stopped() && c.rest(ctx, 10*time.Millisecond, looking) {
				for _, agent := range comerNames() {
					w.look(ctx, number, agent)
				}
			}
		})
	}
}

// look asks a replica for the reach of an agent, records it if the agent is live by its stream, and reports whether it may still be.
func (w *world) look(ctx context.Context, replica int, agent string) (live bool) {
	began := time.Since(w.began)
	attempt, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	reach, err := w.replicas[replica].Operator().Reach.GetReach(attempt, &openintentv1.GetReachRequest{AgentId: agent})
	if err != nil {
		if !transient(err) && ctx.Err() == nil {
			w.problem("a look at the reach of %s failed: %v", agent, err)
		}
		return true
	}
	asked := slices.ContainsFunc(reach.GetPaths(), func(p *openintentv1.ReachPath) bool { return p.GetKind() == "stream" })
	if reach.GetLevel() != openintentv1.ReachLevel_REACH_LEVEL_LIVE || !asked {
		return false
	}
	w.change(func(h *History) {
		h.Sightings = append(h.Sightings, Sighting{replica, agent, began, time.Since(w.began)})
	})
	return true
}

// awaitGone waits until every replica knows that the comers have gone for good. If one does not learn it in time, the history shows it.
func (w *world) awaitGone() {
	ctx, cancel := context.WithTimeout(w.t.Context(), goneWithin+attemptTime)
	defer cancel()
	c := w.client("", "the last look")
	for number := range w.replicas {
		for _, agent := range comerNames() {
			for w.look(ctx, number, agent) && c.rest(ctx, looking/4, looking/2) {
			}
		}
	}
}

// sightings tells how often a comer was called live, and how late at most after it had gone.
func (w *world) sightings() string {
	var latest time.Duration
	for _, sighting := range w.history.Sightings {
		gone := sighting.Began
		for _, stay := range w.history.Stays {
			if stay.Agent == sighting.Agent && stay.From <= sighting.Ended {
				gone = min(gone, max(sighting.Began-stay.To, 0))
			}
		}
		latest = max(latest, gone)
	}
	return fmt.Sprintf("%d stays of agents that come and go; they were called live %d times, at most %s after they had gone",
		len(w.history.Stays), len(w.history.Sightings), latest.Round(time.Millisecond))
}
