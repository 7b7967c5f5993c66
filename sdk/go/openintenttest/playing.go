package openintenttest

import (
	"slices"
	"strings"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// playing is one playing of a story.
type playing struct {
	server  *Server
	story   *Story
	id      string
	matches func(recorded, said map[string]any) bool
	report  *Report
	intent  string
	passed  float64
	// channels are the ids of channels, by name. stand are, by the id in the record, the messages that stand for its lines here, and seen
	// are those of the agent among them.
	channels map[string]string
	stand    map[string]*openintent.Message
	seen     map[string]bool
}

// prepare makes the intent and the channels, and lets the others join.
func (p *playing) prepare() {
	s := p.server
	s.tb.Helper()
	intent, err := s.client.CreateIntent(s.tb.Context(), openintent.IntentOptions{Title: p.story.Title, Status: openintent.IntentActive})
	if err != nil {
		s.tb.Fatal(err)
	}
	p.intent = intent.ID
	for _, agent := range p.story.Agents {
		if agent.ID != p.id && agent.ID != "operator" {
			s.Peer(agent.ID, agent.Role).StaysSilent()
		}
	}
	for _, channel := range p.story.Channels {
		made, err := s.client.Open(s.tb.Context(), p.intent, channel.Name, openintent.ChannelOptions{
			Members: channel.Members, MemberPolicy: openintent.MemberPolicy(channel.MemberPolicy),
		})
		if err != nil {
			s.tb.Fatal(err)
		}
		p.channels[channel.Name] = made.ID
	}
}

// say says what one of the others said.
func (p *playing) say(line Line) {
	p.server.tb.Helper()
	p.pass(line)
	answered, parent := p.stand[line.Answers], p.stand[line.Parent]
	if line.Answers != "" && answered == nil || line.Parent != "" && parent == nil {
		p.report.LeftOut = append(p.report.LeftOut, line)
		return
	}
	ctx, client := p.server.tb.Context(), p.server.client.As(line.Sender)
	conversation := openintent.Conversation{
		Subject: line.Subject, Kind: line.Kind, Priority: openintent.Priority(line.Priority), Mentions: line.Mentions,
		Collect: collectOf(line.Collect),
	}
	if line.Sender == "operator" {
		client = p.server.client
	}
	if line.Blocks != "" {
		conversation.Obligation = &openintent.Obligation{Blocks: openintent.Blocks(line.Blocks)}
	}
	var said *openintent.Message
	var err error
	if answered != nil {
		reply := openintent.Reply{Payload: line.Payload, Metadata: line.Metadata, Conversation: conversation}
		if exact(answered) {
			claim, err := client.Claim(ctx, answered.ChannelID, answered.ID, openintent.ClaimOptions{})
			if err != nil {
				p.server.tb.Fatal(err)
			}
			defer func() { _ = claim.Release(ctx) }() // the answer has ended it
			reply.Fence = claim.Fence
		}
		said, err = client.ReplyTo(ctx, answered.ChannelID, answered.ID, reply)
	} else {
		if parent != nil {
			conversation.ParentID = parent.ID
		}
		draft := openintent.Draft{
			To: line.To, Payload: line.Payload, MessageType: openintent.MessageType(line.MessageType), Metadata: line.Metadata, Conversation: conversation,
		}
		if line.Seconds > 0 {
			draft.ExpiresAt = p.server.Now().Add(time.Duration(line.Seconds * float64(time.Second)))
		}
		said, err = client.SendMessage(ctx, p.channels[line.Channel], draft)
	}
	if err != nil {
		p.server.tb.Fatalf("%s cannot say %s %s: %v", line.Sender, plain(line.Payload), where(line), err)
	}
	p.stand[line.ID] = said
}

// collectOf reads how many answers a request wants: a word, or {"quorum": n}.
func collectOf(recorded any) openintent.Collect {
	if quorum, is := recorded.(map[string]any); is {
		count, _ := quorum["quorum"].(float64)
		return openintent.CollectQuorum(int(count))
	}
	word, _ := recorded.(string)
	return openintent.Collect(word)
}

// expect waits for what the agent says in place of a line of the record, and notes how it differs.
func (p *playing) expect(line Line) {
	p.server.tb.Helper()
	found := p.untilCalm(&line)
	if found == nil && p.isLater(line) {
		p.pass(line)
		found = p.untilCalm(&line)
	}
	if found != nil {
		p.take(line, found)
		return
	}
	for _, said := range p.own() {
		if !p.seen[said.ID] && p.standsFor(said, line) {
			p.take(line, &said)
			p.differs(DifferenceSaid, &line, &said, "%s said %s instead of %s %s", p.id, plain(said.Payload), plain(line.Payload), where(line))
			return
		}
	}
	p.differs(DifferenceNotSaid, &line, nil, "%s did not say %s %s", p.id, plain(line.Payload), where(line))
}

// untilCalm waits until the agent is calm, but no longer than for what it should say: that of a line, which is returned.
func (p *playing) untilCalm(line *Line) *Said {
	p.server.tb.Helper()
	calm := calm{agent: p.id, timeMayPass: line == nil || p.isLater(*line)}
	for begun := time.Now(); time.Since(begun) <= within; p.server.pauseSince(begun) {
		now, messages := p.server.Now(), p.server.messages(p.intent)
		if line != nil {
			for _, said := range messages {
				if said.Sender == p.id && !p.seen[said.ID] && p.standsFor(said, *line) && p.matches(line.Payload, said.Payload) {
					return &said
				}
			}
		}
		if moment := time.Now(); calm.isReached(moment, p.atWork(), messages, now) {
			return nil
		}
	}
	return nil
}

// pass lets time pass until a line of the record, once the agent has done what it has to do before.
func (p *playing) pass(line Line) {
	p.server.tb.Helper()
	if p.isLater(line) {
		p.untilCalm(nil)
		p.server.Advance(time.Duration((line.AfterSeconds - p.passed) * float64(time.Second)))
		p.passed = line.AfterSeconds
	}
}

func (p *playing) isLater(line Line) bool { return line.AfterSeconds > p.passed }

func (p *playing) take(line Line, said *Said) {
	p.seen[said.ID], p.stand[line.ID] = true, said.Message
}

// standsFor reports whether a message has the place of a line: the same channel, addressee and type, and it answers the same.
func (p *playing) standsFor(said Said, line Line) bool {
	answered := ""
	if asked := p.stand[line.Answers]; asked != nil {
		answered = asked.ID
	}
	return said.Channel == line.Channel && string(said.MessageType) == line.MessageType && said.CorrelationID == answered &&
		everyone(said.To) == everyone(line.To)
}

func (p *playing) own() []Said {
	p.server.tb.Helper()
	return p.server.Said(p.intent, Match{From: p.id})
}

// atWork reports whether the agent has something that it has not acknowledged.
func (p *playing) atWork() bool {
	s := p.server
	s.tb.Helper()
	if s.pace != nil {
		s.move(0) // whoever waits has looked
	}
	listed, err := s.client.Raw().Subscriptions.ListSubscriptions(s.tb.Context(), &openintentv1.ListSubscriptionsRequest{SubscriberId: &p.id})
	if err != nil {
		s.tb.Fatal(err)
	}
	return slices.ContainsFunc(listed.GetSubscriptions(), func(one *openintentv1.Subscription) bool { return one.GetOutstandingCount() > 0 }) &&
		s.lives(p.id)
}

// noteMore notes what the agent said more than in the record.
func (p *playing) noteMore() {
	for _, said := range p.own() {
		if !p.seen[said.ID] {
			p.differs(DifferenceSaid, nil, &said, "%s said %s to %s on %s, as the record does not", p.id, plain(said.Payload), everyone(said.To), said.Channel)
		}
	}
}

// noteWoken notes which messages woke the agent here and not in the record, or the other way round.
func (p *playing) noteWoken() {
	s := p.server
	s.tb.Helper()
	for _, line := range p.story.Lines {
		played := p.stand[line.ID]
		if line.Sender == p.id || played == nil {
			continue
		}
		now := slices.ContainsFunc(s.deliveries(played.ChannelID, played.ID), func(one *openintentv1.MessageDelivery) bool {
			read := one.GetReadAt() != nil && one.GetDisposition() != string(openintent.DispositionIgnored)
			return one.GetAgentId() == p.id && (read || one.GetAnsweredAt() != nil || one.GetSurfacedAt() != nil)
		})
		which := strings.Join([]string{plain(line.Payload), "of", line.Sender, "on", line.Channel}, " ")
		switch then := slices.Contains(line.Woken, p.id); {
		case now && !then:
			p.differs(DifferenceWoken, &line, nil, "%s was woken by %s, and not in the record", p.id, which)
		case then && !now:
			p.differs(DifferenceWoken, &line, nil, "%s was not woken by %s, as it was in the record", p.id, which)
		}
	}
}
