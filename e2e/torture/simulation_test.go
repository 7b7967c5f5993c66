package torture

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// simulation makes histories of a server that does everything right. Its clients' calls fail, their connections are cut, and
// their rights change. draw picks a number below n; whatever it picks, the history is correct.
type simulation struct {
	draw    func(what string, n int) int
	tick    Tick
	history *History
	logs    map[string][]*simulated // by intent, in order of positions
	rights  map[claim]bool
	since   map[claim]Tick // when each right was last granted
	readers []*simulatedReader
	open    []*simulated // questions that wait for an answer
}

// simulated is a stored message.
type simulated struct {
	*Message
	position int64
	ask      *Ask
	done     bool // for an ask: its time is over
	// reaction is set if this is the annotation of a message, which is then Message.
	reaction *Reaction
	stored   int64
}

// simulatedReader is a receiver with the server's state for it.
type simulatedReader struct {
	*Receiver
	through  map[string]int64 // by intent: how far its log has been read
	numbered []*simulatedDelivery
	number   int64
	marked   map[string]bool
}

type simulatedDelivery struct {
	message   *simulated
	number    int64
	attempt   int
	confirmed bool
}

var (
	simulatedAgents   = []string{"ann", "bob", "cyd", "dan", "eve"}
	simulatedChannels = []string{"open", "audited", "explicit", "secret"}
)

const (
	plainIntent      = "plain"
	restrictedIntent = "restricted"
)

// simulate makes a history of this many steps.
func simulate(steps int, draw func(what string, n int) int) *History {
	s := &simulation{draw: draw, logs: make(map[string][]*simulated), rights: make(map[claim]bool), since: make(map[claim]Tick)}
	s.history = &History{
		Intents: map[string]Intent{plainIntent: {}, restrictedIntent: {Restricted: true}},
		Channels: map[string]Channel{
			"open": {Intent: plainIntent}, "audited": {Intent: plainIntent, Audited: true},
			"explicit": {Intent: plainIntent, Explicit: true}, "secret": {Intent: restrictedIntent, Audited: true},
		},
	}
	for _, agent := range []string{"ann", "bob", "cyd"} {
		s.grant(claim{agent, Membership, "explicit"})
		s.grant(claim{agent, Access, restrictedIntent})
		s.grant(claim{agent, Part, restrictedIntent})
		s.grant(claim{agent, Part, plainIntent})
	}
	s.grant(claim{"bob", Role, "solver"})
	s.grant(claim{"dan", Role, "solver"})
	s.followAll()
	for range steps {
		s.step()
	}
	s.finish()
	s.time(steps)
	s.stay(steps)
	return s.history
}

// time records sends that are on time, except for those that something delayed.
func (s *simulation) time(count int) {
	for number := range count {
		timing := Timing{s.draw("replica", 3), time.Duration(number) * time.Second, time.Millisecond}
		if s.chance("disturbed", 60) {
			timing.Took = stallAfter * 2
			replica := []int{timing.Replica, everyReplica}[s.draw("of all", 2)]
			s.history.Disturbances = append(s.history.Disturbances, Disturbance{replica, timing.Began - recovery, timing.Began - 1})
		}
		s.history.Timings = append(s.history.Timings, timing)
	}
}

// stay lets an agent come and go, and calls it live while it is there, and for a while after that.
func (s *simulation) stay(count int) {
	at := time.Duration(0)
	for range count {
		at += time.Duration(s.draw("away", 100)) * time.Second
		stay := Stay{Agent: "ann", From: at, To: at + time.Duration(s.draw("stay", 60))*time.Second}
		s.history.Stays = append(s.history.Stays, stay)
		seen := stay.From + time.Duration(s.draw("seen", int((stay.To+goneWithin-stay.From)/time.Second)+1))*time.Second
		answered := seen + time.Duration(s.draw("answered", 20))*time.Second
		s.history.Sightings = append(s.history.Sightings, Sighting{s.draw("replica", 3), "ann", seen, answered})
		at = stay.To
	}
}

func (s *simulation) now() Tick {
	s.tick++
	return s.tick
}

// chance returns true one time in n.
func (s *simulation) chance(what string, n int) bool { return s.draw(what, n) == 0 }

func (s *simulation) pick(what string, of []string) string { return of[s.draw(what, len(of))] }

func (s *simulation) grant(right claim) {
	begun := s.now()
	s.rights[right], s.since[right] = true, begun
	s.history.Rights = append(s.history.Rights, Right{
		Agent: right.agent, Kind: right.kind, Of: right.of, Granted: Span{begun, s.now()},
	})
}

func (s *simulation) withdraw(right claim) {
	begun := s.now()
	delete(s.rights, right)
	for i := range s.history.Rights {
		held := &s.history.Rights[i]
		if (claim{held.Agent, held.Kind, held.Of}) == right && held.Withdrawn == (Span{}) {
			held.Withdrawn = Span{begun, s.now()}
		}
	}
}

// sees reports whether a receiver may see a message with the current rights.
func (s *simulation) sees(r *Receiver, m *Message) bool {
	if r.Operator {
		return true
	}
	agent, channel := r.Agent, s.history.Channels[m.Channel]
	if s.history.Intents[m.Intent].Restricted && !s.rights[claim{agent, Access, m.Intent}] ||
		channel.Explicit && !s.rights[claim{agent, Membership, m.Channel}] {
		return false
	}
	switch {
	case m.Sender == agent || m.To == agent:
		return true
	case m.To == everyone:
		return r.Intent != "" || s.rights[claim{agent, Part, m.Intent}]
	}
	role := claim{agent, Role, strings.TrimPrefix(m.To, "role:")}
	return s.rights[role] && (m.Kind == Request || m.At > int64(s.since[role]))
}

func (s *simulation) followAll() {
	for _, agent := range simulatedAgents {
		for _, transport := range []struct {
			name            string
			guarantee       Guarantee
			intent, channel string
			events          bool
			annotations     bool
		}{
			{"channel stream", Once, plainIntent, "open", false, agent != "bob"},
			{"polling", Once, plainIntent, "audited", false, false},
			{"intent stream", Once, plainIntent, "", true, agent != "cyd"},
			{"restricted intent stream", Once, restrictedIntent, "", true, true},
			{"agent stream", Once, "", "", false, false},
			{"subscription", AtLeastOnce, plainIntent, "", true, false},
			{"webhook", InOrder, "", "", false, false},
			{"inbox", State, "", "", false, false},
		} {
			s.follow(&Receiver{
				Name: agent + "'s " + transport.name, Transport: transport.name, Guarantee: transport.guarantee, Agent: agent,
				Intent: transport.intent, Channel: transport.channel, Events: transport.events,
				Annotations: transport.annotations,
			})
		}
	}
	s.follow(&Receiver{
		Name: "operator", Transport: "intent stream", Agent: "operator", Operator: true, Intent: plainIntent, Events: true, Annotations: true,
	})
}

func (s *simulation) follow(r *Receiver) {
	r.From = s.now()
	reader := &simulatedReader{Receiver: r, through: make(map[string]int64), marked: make(map[string]bool)}
	s.readers = append(s.readers, reader)
	s.history.Receivers = append(s.history.Receivers, r)
	s.connect(reader)
}

// connect begins a connection where the last one ended.
func (s *simulation) connect(r *simulatedReader) {
	connection := &Connection{Begun: s.now()}
	switch {
	case r.Guarantee == Once && r.Intent == "":
		connection.After = r.number
	case r.Guarantee == Once && r.Transport != "polling":
		connection.After = r.through[r.Intent]
	}
	r.Connections = append(r.Connections, connection)
}

func (s *simulation) step() {
	switch s.draw("step", 11) {
	case 0, 1, 2:
		s.send()
	case 3:
		s.ask()
	case 4:
		s.answer()
	case 5:
		s.endAsk()
	case 6:
		if s.chance("change rights", 3) {
			s.changeRights()
		}
	case 7:
		if s.chance("a freeze", 3) {
			s.freeze()
		}
	case 8:
		s.react()
	default:
		s.read(s.readers[s.draw("reader", len(s.readers))])
	}
}

// draft draws a random send by an agent that may send.
func (s *simulation) draft(kind string) *Send {
	channel := s.pick("channel", simulatedChannels)
	var senders []string
	for _, agent := range simulatedAgents {
		if s.sees(&Receiver{Agent: agent, Intent: "any"}, &Message{
			Intent: s.history.Channels[channel].Intent, Channel: channel, To: everyone,
		}) {
			senders = append(senders, agent)
		}
	}
	if len(senders) == 0 {
		return nil
	}
	send := &Send{
		Sender: s.pick("sender", senders), Channel: channel, Intent: s.history.Channels[channel].Intent, Kind: kind,
		Content: fmt.Sprintf("content %d", s.tick),
	}
	targets := []string{"ann", "bob", "cyd", "role:solver"}
	if kind == Notify {
		targets = append(targets, everyone, everyone, everyone)
	}
	targets = slices.DeleteFunc(targets, func(target string) bool { return target == send.Sender })
	send.To = s.pick("target", targets)
	return send
}

func (s *simulation) send() {
	send := s.draft(Notify)
	if send == nil {
		return
	}
	if send.To != everyone && s.chance("an open request", 3) {
		send.Kind = Request
	}
	if s.chance("an event", 6) {
		send.Kind, send.Channel, send.To = LoggedEvent, "", everyone
	}
	s.history.Sends = append(s.history.Sends, send)
	send.Span.Begun = s.now()
	switch s.draw("outcome", 8) {
	case 0:
		send.Refused = true
	case 1: // the message is not stored, and nobody knows
	case 2:
		s.store(send)
	default:
		send.ID, send.Acknowledged = s.store(send).ID, true
	}
	send.Span.Ended = s.now()
}

func (s *simulation) store(send *Send) *simulated {
	position := int64(len(s.logs[send.Intent]) + 1)
	m := &simulated{position: position, Message: &Message{
		ID: fmt.Sprintf("%s %d", send.Intent, position), Intent: send.Intent, Channel: send.Channel, Sender: send.Sender,
		To: send.To, Kind: send.Kind, Answers: send.Answers, Content: send.Content, At: int64(s.now()),
	}}
	s.logs[send.Intent] = append(s.logs[send.Intent], m)
	return m
}

func (s *simulation) ask() {
	send := s.draft(Request)
	if send == nil {
		return
	}
	ask := &Ask{Send: *send, All: s.chance("all", 3)}
	ask.Span.Begun = s.now()
	s.history.Asks = append(s.history.Asks, ask)
	m := s.store(&ask.Send)
	m.ask = ask
	s.open = append(s.open, m)
}

// answer makes one agent answer an open question that it may see.
func (s *simulation) answer() {
	if len(s.open) == 0 {
		return
	}
	question := s.open[s.draw("question", len(s.open))]
	for _, agent := range simulatedAgents {
		if agent == question.Sender || !s.sees(&Receiver{Agent: agent, Intent: "any"}, question.Message) {
			continue
		}
		send := &Send{
			Sender: agent, Intent: question.Intent, Channel: question.Channel, To: question.Sender, Kind: Response,
			Answers: question.ID, Content: fmt.Sprintf("content %d", s.tick),
		}
		send.Span.Begun = s.now()
		answer := s.store(send)
		send.ID, send.Acknowledged = answer.ID, true
		send.Span.Ended = s.now()
		s.history.Sends = append(s.history.Sends, send)
		question.ask.Answers = append(question.ask.Answers, answer.Message)
		if !question.ask.All {
			s.close(question)
		}
		return
	}
}

// endAsk lets a question run out of time.
func (s *simulation) endAsk() {
	if len(s.open) > 0 {
		s.close(s.open[s.draw("question", len(s.open))])
	}
}

func (s *simulation) close(question *simulated) {
	question.done = true
	s.open = slices.DeleteFunc(s.open, func(m *simulated) bool { return m == question })
	ask := question.ask
	ask.Complete = ask.All || len(ask.Answers) == 0
	ask.ID, ask.Acknowledged = question.ID, len(ask.Answers) > 0
	ask.Span.Ended = s.now()
}

// changing returns the rights that come and go.
func changing() []claim {
	return []claim{
		{"dan", Role, "solver"}, {"cyd", Membership, "explicit"}, {"eve", Access, restrictedIntent}, {"eve", Role, "solver"},
	}
}

func (s *simulation) changeRights() {
	right := changing()[s.draw("right", len(changing()))]
	if s.rights[right] {
		s.withdraw(right)
	} else {
		s.grant(right)
	}
}

// finish ends all asks and lets everyone read to the end.
func (s *simulation) finish() {
	for len(s.open) > 0 {
		s.close(s.open[0])
	}
	for _, reader := range s.readers {
		if reader.Guarantee == State { // an agent that has got a right back finds older requests in its inbox again
			s.read(reader)
		}
		for !s.atEnd(reader) {
			s.read(reader)
		}
	}
	for _, intent := range []string{plainIntent, restrictedIntent} {
		log := Log{Intent: intent}
		hash := ""
		for _, m := range s.logs[intent] {
			if m.reaction == nil && (m.Kind == LoggedEvent || s.history.Channels[m.Channel].Audited) {
				next := fmt.Sprintf("hash of %s", m.ID)
				log.Events = append(log.Events, Event{
					ID: "event of " + m.ID, Sequence: int64(len(log.Events) + 1), Message: m.Message, Previous: hash, Hash: next,
				})
				hash = next
			}
		}
		s.history.Logs = append(s.history.Logs, log)
	}
}
