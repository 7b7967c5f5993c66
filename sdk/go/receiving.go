package openintent

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// leastOutstanding and mostOutstanding bound how many messages are received ahead of the handlers.
	leastOutstanding = 100
	mostOutstanding  = 1000
	// handledMemory is how many handled messages are remembered, so that repetitions are left out.
	handledMemory = 10_000
	// streamFirst is how long the stream comes first, before the rest of the inbox is read.
	streamFirst = time.Second
)

// receiver is one run of an agent: a stream of deliveries, the running handlers, and the acknowledgement of finished
// deliveries.
type receiver struct {
	agent  *Agent
	client *Client
	log    *agentLog

	// life ends after the handlers do: streams, answers and acknowledgements continue while the agent drains.
	life   context.Context
	end    context.CancelFunc
	failed chan error

	subscription atomic.Value // a subscribed; its id is "" while it is not known
	pending      chan *job    // from the stream, in its order
	slots        chan struct{}
	working      sync.WaitGroup
	helping      sync.WaitGroup // what runs beside the handlers
	done         *acknowledger
	reports      *reporter    // nil unless the agent uses attention
	tookOver     atomic.Bool  // since the last heartbeat
	active       atomic.Bool  // this process is the one that receives, as far as it knows
	began        bool         // it has had a subscription; only connect uses it
	starting     starting     // only work changes it
	aside        atomic.Int64 // how many jobs wait for another turn

	mutex   sync.Mutex
	known   map[string]*job // being handled, or waiting for it, by message id
	handled *recent
	found   expected
}

// job is a message to handle or a digest, with the deliveries that brought it.
type job struct {
	id      string // the message's or, for a digest, its own
	message *Message
	digest  *Digest // nil for a message
	numbers []delivered
	// next is the job of the same delivery that comes after this one; nil for the last.
	next *job
	// expected is set while the subscription has the message, which was found in the inbox, and has not delivered it.
	expected bool
	// turns and failures count how often the claim that the message needs was not free, and how often its handlers failed.
	turns, failures int
}

// takeOver marks, among the jobs, the moment when this process became the one that receives for the agent.
var takeOver = new(job)

// takeRest marks the moment to take up what the subscription did not bring although it is newer.
var takeRest = new(job)

func newReceiver(a *Agent) *receiver {
	return &receiver{
		agent: a, client: a.client, log: newAgentLog(a),
		failed: make(chan error, 1), pending: make(chan *job, mostOutstanding),
		slots: make(chan struct{}, a.options.Concurrency),
		known: make(map[string]*job), handled: newRecent(handledMemory),
	}
}

// run receives until the context ends or something fails permanently, and then leaves.
func (r *receiver) run(ctx context.Context) error {
	r.life, r.end = context.WithCancel(context.WithoutCancel(ctx))
	err := ended(ctx, r.work(ctx))
	if final(err) || errors.Is(err, ErrUnavailable) {
		r.log.givesUp(err)
	}
	stillRunning := r.leave()
	r.end()
	r.helping.Wait()
	r.log.left(stillRunning)
	return err
}

// work begins everything that a run consists of, and hands messages to their handlers until the context ends or
// something fails permanently.
func (r *receiver) work(ctx context.Context) error {
	r.starting = starting{under: true, begun: time.Now(), timeout: r.agent.options.ConnectTimeout}
	interval := defaultHeartbeat
	if !r.agent.options.WithoutRegistering {
		var err error
		if interval, err = r.register(ctx); err != nil {
			return err
		}
	}
	stream, err := r.connect(ctx)
	if err != nil {
		return err
	}
	r.starting = starting{}
	r.client.outage.over()
	r.done = newAcknowledger(r)
	r.helping.Go(func() { r.done.run(r.life) })
	if r.agent.usesAttention() {
		r.reports = newReporter(r)
		r.helping.Go(func() { r.reports.run(r.life) })
	}
	r.helping.Go(func() { r.receive(stream) })
	if !r.agent.options.WithoutRegistering {
		r.helping.Go(func() { r.heartbeats(ctx, interval) })
	}
	if r.agent.options.Ready != nil {
		r.agent.options.Ready()
	}
	return r.dispatch(ctx)
}

// ended returns nil when the context has ended, because that is how an agent is stopped, and the error otherwise.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// persistently makes a call with as many attempts as necessary. Only the context's end, a failure that a retry
// cannot fix, or the end of the time to connect for the first time ends it.
func persistently[T any](ctx context.Context, r *receiver, call func(context.Context) (T, error)) (T, error) {
	for waits := r.client.newWaits(); ; {
		result, err := call(ctx)
		if err == nil {
			return result, nil
		}
		err = FromError(err)
		if ctx.Err() != nil || final(err) || r.client.closed() {
			return result, err
		}
		wait := waits.next(err)
		if ending := r.starting.ends(r.client, err, wait); ending != nil {
			return result, ending
		}
		r.log.failed(err)
		if err := pause(ctx, wait); err != nil {
			return result, err
		}
	}
}

// final reports whether no retry can fix an error.
func final(err error) bool {
	return errors.Is(err, ErrUnauthenticated) || errors.Is(err, ErrPermissionDenied) || errors.Is(err, ErrInvalidArgument)
}

type deliveries = grpc.ServerStreamingClient[openintentv1.SubscriptionDelivery]

// connect opens the stream of the subscription, and creates the subscription if necessary. The context bounds only
// the attempts: the stream continues for as long as the receiver lives.
func (r *receiver) connect(ctx context.Context) (deliveries, error) {
	return persistently(ctx, r, func(ctx context.Context) (deliveries, error) {
		if r.subscriptionID() == "" {
			made, err := r.subscribe(ctx)
			if err != nil {
				return nil, err
			}
			r.subscription.Store(subscribed{made.GetId(), timeOf(made.GetCreatedAt())})
			r.began = true
		}
		stream, err := r.open(ctx)
		if err = FromError(err); errors.Is(err, ErrNotFound) || errors.Is(err, ErrFailedPrecondition) {
			r.subscription.Store(subscribed{}) // the subscription is gone, or ended with the agent's deregistration
		}
		return stream, err
	})
}

// subscribed is the subscription over which an agent receives.
type subscribed struct {
	id string
	at time.Time
}

func (r *receiver) subscribed() subscribed {
	made, _ := r.subscription.Load().(subscribed)
	return made
}

func (r *receiver) subscriptionID() string { return r.subscribed().id }

// outstanding returns how many deliveries may be unacknowledged: those being handled, and more that wait for a place
// or for their acknowledgement.
func (r *receiver) outstanding() int32 {
	return int32(min(max(4*r.agent.options.Concurrency, leastOutstanding), mostOutstanding))
}

// open opens the stream and returns once the server has accepted it.
func (r *receiver) open(ctx context.Context) (deliveries, error) {
	opened, cancel := context.WithCancel(r.life)
	unbound := context.AfterFunc(ctx, cancel)
	outstanding, announce := r.outstanding(), true
	stream, err := r.client.raw.Subscriptions.StreamDeliveries(opened, &openintentv1.StreamDeliveriesRequest{
		SubscriptionId: r.subscriptionID(), MaxOutstanding: &outstanding, AnnounceActive: &announce, Probes: true,
	})
	if err == nil {
		err = accepted(stream)
	}
	if !unbound() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	context.AfterFunc(stream.Context(), cancel)
	return stream, nil
}

// accepted waits until the server has accepted a stream, or returns its refusal.
func accepted(stream deliveries) error {
	header, err := stream.Header()
	if err != nil {
		return err
	}
	if _, ok := beginningOf(header); ok {
		return nil
	}
	if _, err := stream.Recv(); err != nil {
		return err
	}
	return errNoBeginning
}

// receive takes the deliveries of the stream, and reopens a lost stream, until the receiver's life ends.
func (r *receiver) receive(stream deliveries) {
	for waits := r.client.newWaits(); ; {
		delivery, err := stream.Recv()
		if err == nil {
			waits.again()
			r.take(delivery)
			continue
		}
		r.active.Store(false)
		if err = FromError(err); r.life.Err() != nil {
			return
		}
		if !final(err) {
			r.log.lost(err)
			if pause(r.life, waits.next(err)) != nil {
				return
			}
			stream, err = r.connect(r.life)
		}
		if err != nil {
			select {
			case r.failed <- err:
			default:
			}
			return
		}
	}
}

// take hands a delivery to the handlers, unless it is not for them or is a repetition. The number 0 means that this
// process now handles the following deliveries, and the inbox, or that it stands by.
func (r *receiver) take(delivery *openintentv1.SubscriptionDelivery) {
	if delivery.GetProbeId() != "" {
		go r.confirm(delivery.GetProbeId())
		return
	}
	if delivery.GetNumber() == 0 {
		r.log.announced(delivery.GetStandingBy())
		r.active.Store(!delivery.GetStandingBy())
		if delivery.GetStandingBy() {
			return
		}
		r.tookOver.Store(true)
		r.enqueue(takeOver)
		return
	}
	if first := r.beginAll(delivery); first != nil {
		r.enqueue(first)
	}
}

// confirm answers a probe, which asks whether this process reads its stream. Whoever probes finds out by themselves if that fails.
func (r *receiver) confirm(probeID string) {
	_, _ = r.client.raw.Reach.ConfirmProbe(r.life, &openintentv1.ConfirmProbeRequest{AgentId: r.agent.options.ID, ProbeId: probeID})
}

func (r *receiver) enqueue(this *job) {
	select {
	case r.pending <- this:
	case <-r.life.Done():
	}
}

// begin makes a job from a message, with its delivery or, for one from the inbox, without. It returns nil when the message is being
// handled, or has been.
func (r *receiver) begin(message *Message, came delivered) *job {
	expected := came.number == 0 && message.CreatedAt.After(r.subscribed().at)
	return r.admit(&job{id: message.ID, message: message, expected: expected}, came)
}

// admit returns the job, or nil when one of its id is under way or has ended.
func (r *receiver) admit(this *job, came delivered) *job {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	before, known := r.known[this.id]
	handled := r.handled.has(this.id)
	switch {
	case known:
		this = before
	case !handled:
		r.known[this.id] = this
	}
	switch {
	case came.number == 0:
	case handled:
		r.found.came(this.id)
		r.ended(came)
	default:
		this.expected = false
		this.numbers = append(this.numbers, came)
	}
	if known || handled {
		return nil
	}
	return this
}

// finish acknowledges a job. It forgets a job that was not done, so that the message is handled when it arrives
// again.
func (r *receiver) finish(this *job, done bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	delete(r.known, this.id)
	if !done {
		return
	}
	r.handled.add(this.id)
	if this.expected && len(r.agent.matching(this.message)) > 0 {
		r.found.expect(this.id)
	}
	for _, came := range this.numbers {
		r.ended(came)
	}
}

// acknowledge acknowledges a job that goes on: the deliveries that have brought it so far are finished.
func (r *receiver) acknowledge(this *job) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, came := range this.numbers {
		r.ended(came)
	}
	this.numbers, this.expected = nil, false
}

// leave waits for the running handlers, and until their answers and acknowledgements are sent. It returns how many
// handlers have taken longer.
func (r *receiver) leave() (stillRunning int) {
	r.log.leaving(len(r.slots))
	if r.done == nil { // it has never been connected
		return 0
	}
	if !r.agent.options.WithoutRegistering && !r.log.gaveUp {
		r.working.Go(func() { r.sayFarewell(r.life) })
	}
	drained := make(chan struct{})
	go func() {
		r.working.Wait()
		close(drained)
	}()
	timer := time.NewTimer(r.agent.options.Drain)
	defer timer.Stop()
	select {
	case <-drained:
		r.awaitDeliveries()
		r.done.flush(farewellPatience)
		r.reports.flush(farewellPatience)
	case <-timer.C:
	}
	return len(r.slots)
}
