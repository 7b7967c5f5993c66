package openintent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
)

const (
	// firstReminder is how long after the first warning about a server that stays away the second one comes. Each later one
	// comes after twice as long as the one before, and after longestReminder at most.
	firstReminder   = 10 * time.Second
	longestReminder = time.Hour
	// betweenRefusals is the least time between two warnings about calls that the server refuses.
	betweenRefusals = time.Minute
	// rememberedChannels is how many names of channels without a handler are remembered, so that each is told once.
	rememberedChannels = 1000
)

// agentLog is what one run of an agent says in its log. The events and their words are the same in the SDKs of all
// languages. It remembers what it has said, so that a server that stays away fills no disk.
type agentLog struct {
	to             *slog.Logger
	agent, address string
	now            func() time.Time

	mutex sync.Mutex
	// connected is true while the server has accepted a stream, and everConnected from the first time on.
	connected, everConnected bool
	gaveUp                   bool
	failingSince, lastSaid   time.Time // zero while nothing fails
	reminder                 time.Duration
	unhandled                *recent
}

func newAgentLog(a *Agent) *agentLog {
	return &agentLog{
		to: a.options.Log.With("agent", a.options.ID), agent: a.options.ID, address: a.client.options.Server,
		now: time.Now, unhandled: newRecent(rememberedChannels),
	}
}

func (l *agentLog) say(level slog.Level, text string, facts ...any) {
	l.to.Log(context.Background(), level, "agent "+l.agent+text, facts...)
}

// announced tells what the server has said about the stream: whether this process receives or stands by. The server
// says so at the beginning of each stream, and whenever that changes.
func (l *agentLog) announced(standsBy bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	again := ""
	if l.everConnected && !l.connected {
		again = " again"
	}
	switch {
	case standsBy:
		l.say(slog.LevelInfo, fmt.Sprintf(" is connected to %s%s and stands by: another process receives for it", l.address, again),
			"address", l.address)
	case l.connected:
		l.say(slog.LevelInfo, " takes over: it receives from now on", "address", l.address)
	default:
		l.say(slog.LevelInfo, fmt.Sprintf(" is connected to %s%s and receives", l.address, again), "address", l.address)
	}
	l.connected, l.everConnected, l.failingSince = true, true, time.Time{}
}

// lost tells that the stream has ended.
func (l *agentLog) lost(err error) {
	l.mutex.Lock()
	connected := l.connected
	l.connected = false
	l.mutex.Unlock()
	if !connected {
		l.failed(err)
		return
	}
	l.say(slog.LevelInfo, fmt.Sprintf(" lost its connection to %s and connects again: %s", l.address, textOf(err)),
		"address", l.address)
}

// failed tells that an attempt has failed and is made again. While the agent is connected, a lost connection is the
// stream's to tell.
func (l *agentLog) failed(err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now, what, least := l.now(), "", l.reminder
	if l.connected {
		least = betweenRefusals
	}
	switch {
	case l.connected && retryable(err):
		return
	case !l.connected && l.failingSince.IsZero():
		l.failingSince, l.reminder = now, firstReminder
		what = fmt.Sprintf(" cannot reach the server at %s", l.address)
	case now.Sub(l.lastSaid) < least:
		return
	case l.connected:
		what = fmt.Sprintf(" was refused by the server at %s", l.address)
	default:
		l.reminder = min(2*l.reminder, longestReminder)
		what = fmt.Sprintf(" has not reached the server at %s for %s", l.address, now.Sub(l.failingSince).Truncate(time.Second))
	}
	l.lastSaid = now
	l.say(slog.LevelWarn, fmt.Sprintf("%s and keeps trying: %s", what, textOf(err)), "address", l.address)
}

// givesUp tells which error ends the agent.
func (l *agentLog) givesUp(err error) {
	l.gaveUp = true
	text := textOf(err)
	var e *Error
	if errors.As(err, &e) && e.brief != "" && !l.failingSince.IsZero() { // it has said why
		text = e.brief
	}
	l.say(slog.LevelError, " gives up: "+text, "address", l.address)
}

// leaving tells that the agent takes nothing new, and waits for its handlers. An agent that has given up has said more.
func (l *agentLog) leaving(running int) {
	if !l.gaveUp {
		l.say(slog.LevelInfo, fmt.Sprintf(" is leaving and waits for %d running handlers", running), "running", running)
	}
}

// left tells that the agent is gone, though some of its handlers may have taken longer than it waits for them.
func (l *agentLog) left(stillRunning int) {
	switch {
	case stillRunning > 0:
		l.say(slog.LevelWarn, fmt.Sprintf(" left before %d of its handlers ended", stillRunning), "running", stillRunning)
	case !l.gaveUp:
		l.say(slog.LevelInfo, " has left")
	}
}

// noHandler tells, once for each channel's name, that nothing handles the messages on a channel.
func (l *agentLog) noHandler(channel string, handled []string) {
	l.mutex.Lock()
	first := l.unhandled.add(channel)
	l.mutex.Unlock()
	if !first {
		return
	}
	has := "it has no handlers at all"
	if len(handled) > 0 {
		quoted := make([]string, len(handled))
		for i, name := range handled {
			quoted[i] = fmt.Sprintf("%q", name)
		}
		has = "it has handlers for " + strings.Join(quoted, ", ")
	}
	l.say(slog.LevelWarn, fmt.Sprintf(" has no handler for channel %q; %s", channel, has), "channel", channel)
}

// handlerFailed tells that a handler failed, with the stack when it panicked.
func (l *agentLog) handlerFailed(message *Message, err error, stack []byte) {
	facts := factsOf(message)
	if stack != nil {
		facts = append(facts, "stack", string(stack))
	}
	l.say(slog.LevelError, fmt.Sprintf(": the handler for channel %q failed on message %s: %s", message.ChannelName, message.ID, textOf(err)),
		facts...)
}

// unfit tells that the payload of a message, or what a handler returned, does not have the form that it must have.
func (l *agentLog) unfit(message *Message, what string, err error) {
	l.say(slog.LevelError, fmt.Sprintf(": %s message %s on channel %q does not fit: %s", what, message.ID, message.ChannelName, textOf(err)),
		factsOf(message)...)
}

// digestFailed tells that a handler of digests failed, with the stack when it panicked.
func (l *agentLog) digestFailed(err error, stack []byte) {
	var facts []any
	if stack != nil {
		facts = append(facts, "stack", string(stack))
	}
	l.say(slog.LevelError, ": the handler for digests failed: "+textOf(err), facts...)
}

// noDigestHandler tells of a digest that nothing handles.
func (l *agentLog) noDigestHandler(digest *Digest) {
	l.say(slog.LevelDebug, fmt.Sprintf(" has no handler for digests, and leaves out one of %d messages", digest.MessageCount),
		"messages", digest.MessageCount)
}

// replaces tells that the agent makes its subscription anew.
func (l *agentLog) replaces() {
	l.say(slog.LevelInfo, " replaces its subscription, which lets messages wait in another way")
}

// notAnswered tells that the server refused an answer: mostly because nobody waits for it any more.
func (l *agentLog) notAnswered(message *Message, err error) {
	why := "was refused"
	if tooLate(err) {
		why = "came too late"
	}
	l.say(slog.LevelWarn, fmt.Sprintf(": the answer to message %s on channel %q %s: %s", message.ID, message.ChannelName, why, textOf(err)),
		factsOf(message)...)
}

// warn tells of something else that went wrong and does not end the agent.
func (l *agentLog) warn(what string, err error) {
	l.say(slog.LevelWarn, " "+what+": "+textOf(err))
}

// debug tells of something that needs nobody's attention.
func (l *agentLog) debug(what string, err error) {
	l.say(slog.LevelDebug, " "+what+": "+textOf(err))
}

func factsOf(message *Message) []any {
	return []any{"channel", message.ChannelName, "message", message.ID}
}
