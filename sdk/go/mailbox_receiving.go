package openintent

import (
	"context"
	"errors"
	"slices"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// mailboxAttempts is how often the server sends what a process holds, once in acknowledgeSeconds, before it puts that aside.
	mailboxAttempts = 100
	// manyFinished is how many deliveries that are not for the mailbox are acknowledged together.
	manyFinished = 100
	// mailboxPage is how many requests of the inbox one call lists.
	mailboxPage = 100
)

// subscribe returns the id of the mailbox's subscription, and makes it when it is missing or has ended. What the server has put aside after too
// many attempts is delivered again.
func (m *Mailbox) subscribe(ctx context.Context) (string, error) {
	made, err := m.createSubscription(ctx)
	if !errors.Is(FromError(err), ErrAlreadyExists) {
		return made.GetId(), err
	}
	listed, err := EveryPage(ctx, func(ctx context.Context, cursor *string) ([]*openintentv1.Subscription, *string, error) {
		page, err := m.client.raw.Subscriptions.ListSubscriptions(ctx, &openintentv1.ListSubscriptionsRequest{SubscriberId: &m.agent, Cursor: cursor})
		if err != nil {
			return nil, nil, err
		}
		return page.GetSubscriptions(), page.NextCursor, nil
	})
	if err != nil {
		return "", err
	}
	at := slices.IndexFunc(listed, func(s *openintentv1.Subscription) bool { return s.GetName() == m.name() })
	if at >= 0 {
		there := listed[at]
		switch {
		case there.GetActive() && there.GetDeadLetterCount() == 0:
			return there.GetId(), nil
		case there.GetActive():
			_, err = m.client.raw.Subscriptions.RedriveDeadLetters(ctx, &openintentv1.RedriveDeadLettersRequest{SubscriptionId: there.GetId()})
			return there.GetId(), err
		}
		_, err = m.client.raw.Subscriptions.DeleteSubscription(ctx, &openintentv1.DeleteSubscriptionRequest{SubscriptionId: there.GetId()})
		if err != nil && !errors.Is(FromError(err), ErrNotFound) {
			return "", err
		}
	}
	made, err = m.createSubscription(ctx)
	return made.GetId(), err
}

func (m *Mailbox) createSubscription(ctx context.Context) (*openintentv1.Subscription, error) {
	name, seconds, attempts := m.name(), int32(acknowledgeSeconds), int32(mailboxAttempts)
	return m.client.raw.Subscriptions.CreateSubscription(ctx, &openintentv1.CreateSubscriptionRequest{
		Name: &name, SubscriberId: &m.agent, EventTypes: []string{"channel_message"},
		AcknowledgeSeconds: &seconds, MaxAttempts: &attempts, Include: []string{includeAttention},
	})
}

// receive takes in what comes, on a new stream whenever one is lost, until the mailbox closes.
func (m *Mailbox) receive() {
	for waits := m.client.newWaits(); ; {
		err := FromError(m.follow(waits))
		if m.life.Err() != nil {
			return
		}
		if final(err) || m.client.closed() {
			m.mutex.Lock()
			m.failure = err
			m.mutex.Unlock()
			m.beReady.Do(func() { close(m.ready) })
			signal(m.changed)
			return
		}
		if pause(m.life, waits.next(err)) != nil {
			return
		}
	}
}

// follow takes in what one stream brings, until it ends.
func (m *Mailbox) follow(waits *waits) error {
	ctx, cancel := context.WithCancel(m.life)
	defer cancel()
	outstanding, announce := int32(mostOutstanding), true
	stream, err := m.client.raw.Subscriptions.StreamDeliveries(ctx, &openintentv1.StreamDeliveriesRequest{
		SubscriptionId: m.subscriptionID(), MaxOutstanding: &outstanding, AnnounceActive: &announce, AnnounceCaughtUp: true, Probes: true,
	})
	if err == nil {
		err = accepted(stream)
	}
	for err == nil {
		waits.again()
		var delivery *openintentv1.SubscriptionDelivery
		if delivery, err = stream.Recv(); err == nil {
			err = m.takeIn(ctx, delivery)
		}
	}
	if err = FromError(err); errors.Is(err, ErrNotFound) || errors.Is(err, ErrFailedPrecondition) {
		// The subscription is gone, or has ended with the agent's deregistration.
		var id string
		if id, err = m.subscribe(m.life); err == nil {
			m.subscribed(id)
		}
	}
	return err
}

func (m *Mailbox) subscriptionID() string {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.subscription
}

func (m *Mailbox) subscribed(id string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.subscription = id
}

// takeIn takes in one delivery.
func (m *Mailbox) takeIn(ctx context.Context, delivery *openintentv1.SubscriptionDelivery) error {
	switch {
	case delivery.GetProbeId() != "":
		// Whoever probes finds out by themselves if that fails.
		_, _ = m.client.raw.Reach.ConfirmProbe(ctx, &openintentv1.ConfirmProbeRequest{AgentId: m.agent, ProbeId: delivery.GetProbeId()})
	case delivery.GetStandingBy():
		m.mutex.Lock()
		m.mail.standBy()
		m.mutex.Unlock()
		m.beReady.Do(func() { close(m.ready) })
	case delivery.GetCaughtUp():
		if err := m.takeInbox(ctx); err != nil {
			return err
		}
		m.beReady.Do(func() { close(m.ready) })
	case delivery.GetMessage() != nil:
		m.arrive(m.letterOf(delivery.GetMessage(), delivery.GetAttention(), delivery.GetIntentId(), delivery.GetChannelName(),
			delivery.GetPosition(), int(delivery.GetAttempt())), delivery.GetNumber())
	case delivery.GetNumber() != 0:
		m.mutex.Lock()
		m.mail.passOver(delivery.GetNumber())
		m.mutex.Unlock()
	}
	m.mutex.Lock()
	many := len(m.mail.finished) >= manyFinished
	m.mutex.Unlock()
	if many {
		return m.acknowledge(ctx)
	}
	return nil
}

// takeInbox takes in the requests that the subscription does not bring, because they were sent before it was made, or before the agent took a
// role or gained access.
func (m *Mailbox) takeInbox(ctx context.Context) error {
	found, limit := 0, int32(mailboxPage)
	for cursor := (*string)(nil); found < mostOutstanding; {
		page, err := repeated(ctx, m.client, func(ctx context.Context) (*openintentv1.Inbox, error) {
			return m.client.raw.Messages.GetInbox(ctx, &openintentv1.GetInboxRequest{
				AgentId: m.agent, Limit: &limit, Cursor: cursor, Include: []string{includeAttention},
			})
		})
		if err != nil {
			return err
		}
		for _, item := range page.GetItems() {
			if item.GetMessage().GetMessageType() == openintentv1.MessageType_MESSAGE_TYPE_REQUEST && !item.GetRead() {
				found++
				m.arrive(m.letterOf(item.GetMessage(), item.GetAttention(), item.GetIntentId(), item.GetChannelName(), 0, 1), 0)
			}
		}
		if cursor = page.NextCursor; cursor == nil {
			return nil
		}
	}
	return nil
}

// arrive takes in a message, unless it is the agent's own, deleted, or of a channel that the mailbox leaves out.
func (m *Mailbox) arrive(l *letter, number int64) {
	m.mutex.Lock()
	var callbacks []func()
	switch {
	case l.message.Sender == m.agent || !l.message.DeletedAt.IsZero() || !m.takes(l.message):
		m.mail.passOver(number)
	case m.mail.arrive(l, number):
		signal(m.changed)
		for callback := range m.callbacks {
			callbacks = append(callbacks, *callback)
		}
	}
	m.mutex.Unlock()
	for _, callback := range callbacks {
		callback()
	}
}

// acknowledge tells the server which deliveries are done with. One that a replaced stream had sent comes again, and is recognized then.
func (m *Mailbox) acknowledge(ctx context.Context) error {
	for {
		m.mutex.Lock()
		numbers := m.mail.acknowledgeable()
		m.mutex.Unlock()
		if len(numbers) == 0 {
			return nil
		}
		if err := m.acknowledgeAll(ctx, numbers); err != nil {
			m.mutex.Lock()
			m.mail.finished = append(m.mail.finished, numbers...)
			m.mutex.Unlock()
			return err
		}
	}
}

func (m *Mailbox) acknowledgeAll(ctx context.Context, numbers []int64) error {
	for len(numbers) > 0 {
		_, err := repeated(ctx, m.client, func(ctx context.Context) (*openintentv1.Subscription, error) {
			return m.client.raw.Subscriptions.AcknowledgeDeliveries(ctx, &openintentv1.AcknowledgeDeliveriesRequest{
				SubscriptionId: m.subscriptionID(), Numbers: numbers,
			})
		})
		if err == nil || errors.Is(err, ErrUnauthenticated) || errors.Is(err, ErrPermissionDenied) || errors.Is(err, ErrUnavailable) || ctx.Err() != nil {
			return err
		}
		number, through, again := comesAgain(err)
		if !again || !slices.Contains(numbers, number) {
			return nil // the server does not take them: they come again
		}
		numbers = slices.DeleteFunc(numbers, func(n int64) bool { return n >= number && n <= through })
	}
	return nil
}

// markSeen says that the agent's model saw messages, and that the agent has read those of them that are requests, so that nobody finds them in
// its inbox as new.
func (m *Mailbox) markSeen(ctx context.Context, seen, requests []string) error {
	err := inHalves(seen, func(ids []string) error {
		_, err := repeated(ctx, m.client, func(ctx context.Context) (*openintentv1.MarkSurfacedResponse, error) {
			return m.client.raw.Attention.MarkSurfaced(ctx, &openintentv1.MarkSurfacedRequest{AgentId: m.agent, MessageIds: ids})
		})
		return err
	})
	if err != nil {
		return err
	}
	return inHalves(requests, func(ids []string) error {
		_, err := repeated(ctx, m.client, func(ctx context.Context) (*openintentv1.MarkInboxReadResponse, error) {
			return m.client.raw.Messages.MarkInboxRead(ctx, &openintentv1.MarkInboxReadRequest{AgentId: m.agent, MessageIds: ids})
		})
		return err
	})
}

// inHalves marks messages. The server marks all or none, so those among which one is gone are marked in halves.
func inHalves(ids []string, mark func([]string) error) error {
	if len(ids) == 0 {
		return nil
	}
	err := mark(ids)
	if !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrFailedPrecondition) && !errors.Is(err, ErrPermissionDenied) {
		return err
	}
	if len(ids) == 1 {
		return nil
	}
	return errors.Join(inHalves(ids[:len(ids)/2], mark), inHalves(ids[len(ids)/2:], mark))
}
