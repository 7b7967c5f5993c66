package openintent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// DefaultMaxChars is how many characters the texts of a batch have at most, unless the mailbox says otherwise.
	DefaultMaxChars = 4000
	// leastMaxChars is what the server says beside a text, at most.
	leastMaxChars = 2000
	// readyPatience is how long the first Take waits for what the server has, when the server says nothing.
	readyPatience = 10 * time.Second
	// fresh is how long a message that waits counts as it came. Later it is read again before it is handed out, because it may have been edited
	// or deleted.
	fresh = 10 * time.Second
)

// MailboxOptions describe a mailbox.
type MailboxOptions struct {
	// Agent is the agent whose mailbox it is; the client's own agent when it is empty.
	Agent string
	// Channels are the names or ids of the channels of which it takes messages; nil for all. A mailbox with other channels is another one.
	Channels []string
	// WithoutAttention leaves out what messages ask of the agent.
	WithoutAttention bool
	// MaxChars is how many characters the texts of a batch have at most, 2,000 or more; DefaultMaxChars when it is 0.
	MaxChars int
}

// Mailbox has messages for an agent that is running. Take hands out what came, as texts that a model may be shown; Batch.Settle says that the
// model has seen them. What was taken and not settled comes again after a restart. One process of the agent receives; others stand by. Claims
// that it has taken are renewed for as long as it is open. Any number of goroutines may use it.
type Mailbox struct {
	client   *Client
	agent    string
	options  MailboxOptions
	life     context.Context
	end      context.CancelFunc
	running  sync.WaitGroup
	opening  sync.Mutex
	opened   bool
	taking   chan struct{} // holds one token; Take has it
	answers  chan struct{} // likewise, for Answer and Decline
	changed  chan struct{} // something came, or failed
	ready    chan struct{} // closed once it has what was due when it began, or stands by
	beReady  sync.Once
	channels map[string]string

	mutex        sync.Mutex
	mail         *mail
	subscription string
	failure      error
	claims       map[string]*Claim
	callbacks    map[*func()]bool
}

// Mailbox returns the mailbox of an agent. It acts as the agent, on the client's connection, and opens at the first Take. Close it.
func (c *Client) Mailbox(options MailboxOptions) (*Mailbox, error) {
	if options.Agent == "" {
		options.Agent = c.AgentID()
	}
	if options.MaxChars == 0 {
		options.MaxChars = DefaultMaxChars
	}
	switch {
	case options.Agent == "":
		return nil, badField("MailboxOptions.Agent", "is missing; name the agent whose mailbox it is")
	case options.MaxChars < leastMaxChars:
		return nil, badField("MailboxOptions.MaxChars", "must be 2000 or more")
	case options.Channels != nil && (len(options.Channels) == 0 || slices.Contains(options.Channels, "")):
		return nil, badField("MailboxOptions.Channels", "must have one or more names or ids of channels, or be nil for all")
	}
	if err := checkAgentID("MailboxOptions.Agent", options.Agent); err != nil {
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	return &Mailbox{
		client: c.As(options.Agent), agent: options.Agent, options: options, life: life, end: end,
		taking: make(chan struct{}, 1), answers: make(chan struct{}, 1), changed: make(chan struct{}, 1), ready: make(chan struct{}),
		channels: make(map[string]string), mail: newMail(), claims: make(map[string]*Claim), callbacks: make(map[*func()]bool),
	}, nil
}

// name returns the name of the mailbox's subscription.
func (m *Mailbox) name() string {
	if m.options.Channels == nil {
		return "mailbox"
	}
	names := slices.Compact(slices.Sorted(slices.Values(m.options.Channels)))
	sum := sha256.Sum256([]byte(strings.Join(names, "\n")))
	return "mailbox-" + hex.EncodeToString(sum[:8])
}

// takes reports whether the mailbox takes messages of a channel.
func (m *Mailbox) takes(message *Message) bool {
	channels := m.options.Channels
	return channels == nil || slices.Contains(channels, message.ChannelID) || slices.Contains(channels, message.ChannelName)
}

// errMailboxClosed refuses what needs an open mailbox.
var errMailboxClosed = errors.New("the mailbox is closed; make another one")

// Open begins to receive, unless the mailbox does.
func (m *Mailbox) Open(ctx context.Context) error {
	m.opening.Lock()
	defer m.opening.Unlock()
	switch {
	case m.life.Err() != nil:
		return errMailboxClosed
	case m.opened:
		return nil
	}
	id, err := repeated(ctx, m.client, m.subscribe)
	if err != nil {
		return err
	}
	m.subscribed(id)
	m.opened = true
	m.running.Go(m.receive)
	return nil
}

// Close ends receiving, so that another process takes over, and gives its claims back. What was taken and not settled comes again when a
// mailbox of the agent opens.
func (m *Mailbox) Close(ctx context.Context) error {
	m.opening.Lock()
	defer m.opening.Unlock()
	if m.life.Err() != nil {
		return nil
	}
	m.mutex.Lock()
	claims := m.claims
	m.claims = make(map[string]*Claim)
	m.mutex.Unlock()
	var failed error
	for _, claim := range claims {
		failed = errors.Join(failed, claim.Release(ctx))
	}
	if m.opened {
		failed = errors.Join(failed, m.acknowledge(ctx))
	}
	m.end()
	m.running.Wait()
	return failed
}

// MailboxMessage is a message that a mailbox has handed out.
type MailboxMessage struct {
	// Message is the message itself, whole. Its Attempt is above 1 if it may have been taken before and was not settled.
	*Message
	// Text is what a model may be shown: one line of JSON, in which what others wrote can end no value, and a second line if the message is cut.
	Text string
	// WaitsForAnswer says that somebody waits for the agent to answer.
	WaitsForAnswer bool
}

// Batch is what one Take returned, the most important message first.
type Batch struct {
	Messages []*MailboxMessage
	mailbox  *Mailbox
}

// Settle says that the model has seen the messages and that the step is stored: they do not come again. Those whose ids are given come again at
// the next Take. Settling again does nothing.
func (b *Batch) Settle(ctx context.Context, except ...string) error {
	m := b.mailbox
	var seen, requests []string
	m.mutex.Lock()
	for _, message := range b.Messages {
		l := m.mail.letters[message.ID]
		if l == nil || !l.taken || slices.Contains(except, message.ID) {
			continue
		}
		if seen = append(seen, message.ID); message.MessageType == Request {
			requests = append(requests, message.ID)
		}
	}
	m.mutex.Unlock()
	if err := m.markSeen(ctx, seen, requests); err != nil {
		return err
	}
	m.mutex.Lock()
	for _, id := range seen {
		m.mail.finish(id)
	}
	for _, message := range b.Messages {
		if slices.Contains(except, message.ID) {
			m.mail.putBack(message.ID)
		}
	}
	m.mutex.Unlock()
	signal(m.changed)
	return m.acknowledge(ctx)
}

// Waiting returns how many messages wait, as far as this process knows; to ask takes none. A process that stands by knows of none.
func (m *Mailbox) Waiting() int {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return len(m.mail.waiting(time.Now()))
}

// Wake has a function called when something came, and at once if something waits. The function must not wait for anything. What Wake returns
// ends that.
func (m *Mailbox) Wake(callback func()) (end func()) {
	m.mutex.Lock()
	m.callbacks[&callback] = true
	m.mutex.Unlock()
	if m.Waiting() > 0 {
		callback()
	}
	return func() {
		m.mutex.Lock()
		defer m.mutex.Unlock()
		delete(m.callbacks, &callback)
	}
}

// Take hands out what waits, the most important first: urgent messages, then those that wait for an answer, then the rest. While there is
// nothing, it waits for so long. Empty is no error. The texts of a batch have at most MaxChars characters together; what does not fit waits for
// the next Take. What this process holds is not handed out again.
func (m *Mailbox) Take(ctx context.Context, wait time.Duration) (*Batch, error) {
	select {
	case m.taking <- struct{}{}:
		defer func() { <-m.taking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := m.Open(ctx); err != nil {
		return nil, err
	}
	until := time.Now().Add(wait)
	if err := m.untilReady(ctx, max(wait, readyPatience)); err != nil {
		return nil, err
	}
	for {
		messages, err := m.gathered(ctx)
		left := time.Until(until)
		if err != nil || len(messages) > 0 || left <= 0 || m.life.Err() != nil {
			return &Batch{Messages: messages, mailbox: m}, err
		}
		m.mutex.Lock()
		if turn := m.mail.nextTurn(time.Now()); !turn.IsZero() {
			left = min(left, time.Until(turn))
		}
		m.mutex.Unlock()
		timer := time.NewTimer(left)
		select {
		case <-m.changed:
		case <-timer.C:
		case <-m.life.Done():
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
		timer.Stop()
	}
}

// untilReady waits until the mailbox has what was due when it began.
func (m *Mailbox) untilReady(ctx context.Context, most time.Duration) error {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-m.ready:
	case <-timer.C:
	case <-m.life.Done():
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// gathered takes as many messages as fit. Nothing is taken before all are known, so a call that is cut short takes none.
func (m *Mailbox) gathered(ctx context.Context) (handed []*MailboxMessage, err error) {
	m.mutex.Lock()
	waiting, failure := m.mail.waiting(time.Now()), m.failure
	m.mutex.Unlock()
	if failure != nil {
		return nil, failure
	}
	type fits struct {
		letter *letter
		text   string
	}
	var fitting []fits
	room := m.options.MaxChars
	for _, l := range waiting {
		current, err := m.isCurrent(ctx, l)
		if err != nil {
			return nil, err
		}
		if !current {
			continue
		}
		text := fitted(l.message, m.shownAttention(l), m.options.MaxChars)
		length := utf8.RuneCountInString(text)
		if length > room {
			break
		}
		if needsClaim(l.message) {
			if claimed, err := m.claimed(ctx, l); err != nil {
				return nil, err
			} else if !claimed {
				continue
			}
		}
		room -= length
		fitting = append(fitting, fits{l, text})
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, one := range fitting {
		if m.mail.letters[one.letter.message.ID] != one.letter { // meanwhile another process has taken over
			continue
		}
		one.letter.taken = true
		message := *one.letter.message
		message.Attempt, message.Attention = one.letter.attempt, m.shownAttention(one.letter)
		m.channels[message.ChannelName] = message.ChannelID
		handed = append(handed, &MailboxMessage{Message: &message, Text: one.text, WaitsForAnswer: one.letter.waitsForAnswer()})
	}
	return handed, nil
}

// shownAttention returns what a message asks of the agent, unless the mailbox leaves it out.
func (m *Mailbox) shownAttention(l *letter) *Attention {
	if m.options.WithoutAttention {
		return nil
	}
	return l.message.Attention
}

// isCurrent reads a message again that has waited for long. It reports false for one that is gone or over, which is done with.
func (m *Mailbox) isCurrent(ctx context.Context, l *letter) (bool, error) {
	now, gone := time.Now(), false
	if now.Sub(l.read) > fresh {
		newest, err := m.client.GetMessage(ctx, anyChannel, l.message.ID)
		switch {
		case errors.Is(err, ErrNotFound) || errors.Is(err, ErrPermissionDenied):
			gone = true
		case err != nil:
			return false, err
		default:
			newest.IntentID, newest.ChannelName, newest.Position = l.message.IntentID, l.message.ChannelName, l.message.Position
			newest.Attention = l.message.Attention
			m.mutex.Lock()
			l.message, l.read = newest, now
			m.mutex.Unlock()
			gone = !newest.DeletedAt.IsZero()
		}
	}
	if gone || l.isOver(now) {
		m.mutex.Lock()
		m.mail.finish(l.message.ID)
		m.mutex.Unlock()
		return false, nil
	}
	return true, nil
}

// claimed claims a request that takes an exact number of answers. If others hold the claims on it, it waits; if it has its answers, it is done
// with.
func (m *Mailbox) claimed(ctx context.Context, l *letter) (bool, error) {
	_, err := m.claim(ctx, l.message, 0)
	if err == nil {
		return true, nil
	}
	if errors.Is(err, ErrUnavailable) || ctx.Err() != nil {
		return false, err
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if errors.Is(err, ErrClaimed) {
		l.putOff(time.Now())
	} else {
		m.mail.finish(l.message.ID)
	}
	return false, nil
}

// letterOf makes a letter of what the server has delivered, or of a question from the inbox.
func (m *Mailbox) letterOf(wire *openintentv1.Message, attention *openintentv1.Attention, intent, channel string, position int64, attempt int) *letter {
	message := m.client.message(wire)
	message.IntentID, message.ChannelName, message.Position, message.Attempt = intent, channel, position, attempt
	message.Attention = attentionOf(attention)
	now := time.Now()
	return &letter{message: message, attempt: attempt, came: now, read: now}
}
