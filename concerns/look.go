package concerns

import (
	"errors"
	"time"

	"openintent/agents"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging/message"
)

// source finds the concerns of one kind.
type source interface {
	// lanes returns where candidates are, for this caller.
	lanes(l *look) ([]*lane, error)
	// judge returns the concerns that some candidates are, in their order; nil for one that is none.
	judge(l *look, some []candidate) ([]*concern, error)
}

// sources are the kinds, each in the file of its name.
var sources = map[openintentv1.ConcernKind]source{
	openintentv1.ConcernKind_CONCERN_KIND_QUESTION:     question{},
	openintentv1.ConcernKind_CONCERN_KIND_OBLIGATION:   obliged{},
	openintentv1.ConcernKind_CONCERN_KIND_UNANSWERED:   unanswered{},
	openintentv1.ConcernKind_CONCERN_KIND_UNREACHABLE:  unreachable{},
	openintentv1.ConcernKind_CONCERN_KIND_DEAD_LETTERS: deadLetters{},
	openintentv1.ConcernKind_CONCERN_KIND_WEBHOOK:      webhook{},
	openintentv1.ConcernKind_CONCERN_KIND_BRAKE:        brake{},
	openintentv1.ConcernKind_CONCERN_KIND_HOLDER_LOST:  holderLost{},
}

// judgedAtOnce bounds how many candidates are judged together.
const judgedAtOnce = 128

// look is one look at what needs a caller, in one snapshot.
type look struct {
	*Service
	wanted
	tx       *database.Tx
	now      time.Time
	presence agents.Presence
	// intentNo is the number of the intent that the call names, or 0.
	intentNo int64
	// known is what was found out of the caller's intents (whose.go); nil until somebody asks.
	known *intentsOf
	// seen are the messages that were looked at.
	seen map[at]*seen
}

// look finds a page.
func (s *Service) look(tx *database.Tx, w wanted) (*page, error) {
	l := &look{Service: s, wanted: w, tx: tx, now: tx.Now(), seen: make(map[at]*seen)}
	presences, err := agents.LoadPresences(tx, []string{w.by.Agent})
	if err != nil {
		return nil, err
	}
	l.presence = presences[w.by.Agent]
	l.presence.AgentID = w.by.Agent
	if w.intentID != "" {
		if l.intentNo, err = s.intents.Resolve(tx, w.intentID); errors.Is(err, intents.ErrIntentNotFound) {
			return &page{}, nil
		} else if err != nil {
			return nil, err
		}
	}
	var lanes []*lane
	for _, kind := range l.kinds() {
		some, err := sources[kind].lanes(l)
		if err != nil {
			return nil, err
		}
		lanes = append(lanes, some...)
	}
	return l.fill(newMerge(lanes, w.after, s.bounds))
}

// kinds are those that the call wants to see.
func (l *look) kinds() (kinds []openintentv1.ConcernKind) {
	for number := range openintentv1.ConcernKind_name {
		kind := openintentv1.ConcernKind(number)
		if sources[kind] != nil && (l.kind == kind || l.kind == openintentv1.ConcernKind_CONCERN_KIND_UNSPECIFIED) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// fill fills the page. It ends when there is one more concern than fits, or no more, or enough was looked at.
func (l *look) fill(m *merge) (*page, error) {
	p := &page{}
	var last place
	for {
		some, err := m.take(l.tx, judgedAtOnce)
		if err != nil {
			return nil, err
		}
		if len(some) == 0 {
			if !m.ended() {
				next := m.through()
				p.next = &next
			}
			return p, nil
		}
		judged, err := l.judge(some)
		if err != nil {
			return nil, err
		}
		for i, one := range judged {
			switch {
			case one == nil || l.agent != "" && !one.mentions(l.agent):
			case len(p.concerns) == l.limit:
				p.next = &last
				return p, nil
			default:
				p.concerns, last = append(p.concerns, one), some[i].place
			}
		}
	}
}

// judge returns the concerns that candidates of any kinds are, in their order.
func (l *look) judge(some []candidate) ([]*concern, error) {
	of := make(map[int64][]int)
	for i, c := range some {
		of[c.kind] = append(of[c.kind], i)
	}
	judged := make([]*concern, len(some))
	for kind, places := range of {
		candidates := make([]candidate, len(places))
		for i, place := range places {
			candidates[i] = some[place]
		}
		found, err := sources[openintentv1.ConcernKind(kind)].judge(l, candidates)
		if err != nil {
			return nil, err
		}
		for i, place := range places {
			judged[place] = found[i]
		}
	}
	return judged, nil
}

// operator reports whether the caller sees everything.
func (l *look) operator() bool { return message.ActsAsOperator(l.by, l.by.Agent) }
