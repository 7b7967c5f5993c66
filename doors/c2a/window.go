package c2a

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"openintent/doors"
	"openintent/doors/c2a/chat"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

// window is for what a harness lets its deliveries wait. The drafts leave open how a harness asks for it; here it does so in its
// capabilities, in `delivery`. Without it nothing waits.
type window struct {
	// Compose lets what is buffered wait until its sender pauses, and come as one event.
	Compose bool `json:"compose,omitempty"`
	// DigestSeconds gathers what is ambient for so long, and DigestMaxChars bounds the summary.
	DigestSeconds  int32 `json:"digestSeconds,omitempty"`
	DigestMaxChars int32 `json:"digestMaxChars,omitempty"`
}

// The bounds of the contract.
const (
	longestDigest            = 86_400
	fewestChars, mostChars   = 500, 20_000
	subscriptionName         = "c2a"
	withCompose, withDigests = "+compose", "+digest"
)

func (w window) check() error {
	switch {
	case w.DigestSeconds < 0 || w.DigestSeconds > longestDigest:
		return fault.BadField("params.capabilities.delivery.digestSeconds", "must be from 1 to %d, or left out.", longestDigest)
	case w.DigestMaxChars != 0 && (w.DigestSeconds == 0 || w.DigestMaxChars < fewestChars || w.DigestMaxChars > mostChars):
		return fault.BadField("params.capabilities.delivery.digestMaxChars", "must be from %d to %d, beside digestSeconds.", fewestChars, mostChars)
	}
	return nil
}

// name returns the name of the subscription that waits like this and belongs to a place. Each agent of this door has one for each set of
// places to which its keys are kept. It remembers what the agent's harness has acknowledged, whichever server the harness is connected to.
func (w window) name(place string) string {
	name := subscriptionName + place
	if w.Compose {
		name += withCompose
	}
	if w.DigestSeconds != 0 {
		name += withDigests + strconv.Itoa(int(w.DigestSeconds))
	}
	if w.DigestMaxChars != 0 {
		name += ":" + strconv.Itoa(int(w.DigestMaxChars))
	}
	return name
}

// isName reports whether a subscription is one of this door's that belongs to a place.
func isName(name, place string) bool {
	return name == subscriptionName+place || strings.HasPrefix(name, subscriptionName+place+"+")
}

// placeOf marks the intents and channels to which a caller's key is kept, in the names of its subscriptions. Keys that are kept to
// different places see different events, so what one of them has passed counts for no other. A key that works everywhere has no mark.
func placeOf(c *doors.Caller) string {
	if len(c.OnlyIntents)+len(c.OnlyChannels) == 0 {
		return ""
	}
	digest := sha256.New()
	for _, kind := range [][]string{c.OnlyIntents, c.OnlyChannels} {
		for _, id := range slices.Compact(slices.Sorted(slices.Values(kind))) {
			digest.Write([]byte(id + "\n"))
		}
		digest.Write([]byte("\n"))
	}
	return "@" + hex.EncodeToString(digest.Sum(nil)[:8])
}

// wait lets a subscription wait like this.
func (w window) wait(request *openintentv1.CreateSubscriptionRequest) {
	if w.Compose {
		request.Compose = &w.Compose
	}
	if w.DigestSeconds != 0 {
		request.DigestSeconds = &w.DigestSeconds
	}
	if w.DigestMaxChars != 0 {
		request.MaxChars = &w.DigestMaxChars
	}
}

// merge puts the messages that come with a delivery before its own, oldest first.
func (d *delivery) merge(made *openintentv1.SubscriptionDelivery) {
	d.event.SourceIDs = made.GetSourceIds()
	if !shows(d.mode) {
		return
	}
	var before []chat.Part
	for _, earlier := range made.GetEarlier() {
		before = append(before, chat.ContentOf(earlier.GetMessage())...)
	}
	d.event.Content = append(before, d.event.Content...)
}

// digestOf returns the delivery of a digest. Its text is the server's own: counts, names and subjects.
func (t terms) digestOf(made *openintentv1.SubscriptionDelivery) *delivery {
	digest := made.GetDigest()
	if t.modes.mode(openintentv1.Injection_INJECTION_DIGEST) == modeSilent {
		return nil
	}
	var lines []string
	lines = append(lines, counted(digest.GetMessageCount(), "message", "messages")+":")
	for _, count := range digest.GetCounts() {
		line := "- " + strconv.Itoa(int(count.GetCount())) + " from " + chat.Named(count.GetSender()) + " in " + count.GetChannelName()
		if count.GetKind() != "" {
			line += ", " + count.GetKind()
		}
		lines = append(lines, line)
	}
	if digest.GetLeftOutCount() > 0 {
		lines = append(lines, "- "+counted(digest.GetLeftOutCount(), "other", "others"))
	}
	for _, subject := range digest.GetSubjects() {
		lines = append(lines, "Subject of "+subject.GetMessageId()+": "+strconv.Quote(subject.GetSubject()))
	}
	event := chat.DigestEvent(made)
	event.Content = []chat.Part{chat.TextPart(strings.Join(lines, "\n"))}
	return &delivery{event: event, mode: modeDigest}
}

// counted returns a number with a word for what it counts.
func counted(number int32, one, many string) string {
	if number == 1 {
		return "1 " + one
	}
	return strconv.Itoa(int(number)) + " " + many
}
