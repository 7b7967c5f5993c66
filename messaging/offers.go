package messaging

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"openintent/caller"
	"openintent/channels"
	"openintent/database"
	"openintent/loop"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

const (
	// maxOffers bounds how many offers may wait to be written: more are dropped. offersTogether is how many one transaction
	// writes.
	maxOffers      = 65_536
	offersTogether = 2_048
	// keptOffers bounds how many offers and marks are remembered as written, so that whoever reads the same again and again
	// costs no writes.
	keptOffers = 65_536
	// lastOffers bounds what stopping waits for.
	lastOffers = 5 * time.Second
)

// offers writes down what was handed to recipients' transports: to tell senders, and for nothing else. It never holds up
// those who read, and it is best effort: what a crash or a crowd loses was received all the same. Messages to an agent or a
// role have a row for each recipient, of the first offer. Of those to everyone there is one mark for each channel and
// recipient, which says up to which ordinal they were handed over; it only moves forward.
type offers struct {
	db     *database.DB
	logger *slog.Logger
	loop   *loop.Loop

	writing sync.Mutex // one flush at a time
	mutex   sync.Mutex
	waiting []offer
	dropped int

	written *lru.Cache[offerKey, struct{}]
	marked  *lru.Cache[markKey, mark]
}

// offer is one message handed to one recipient.
type offer struct {
	offerKey
	channelNo, ordinal int64
	everyone           bool
	at                 time.Time
	// sentAt is when the message was sent.
	sentAt time.Time
}

// offerKey has the message's id beside its place, because a database that loses commits gives the place to another message.
type offerKey struct {
	intentNo, position int64
	messageID, agent   string
}

type markKey struct {
	channels.Key
	agent string
}

// mark is up to which message to everyone a channel was handed over, by its ordinal and when it was sent.
type mark struct {
	ordinal int64
	sentAt  time.Time
}

// covers tells whether a message lies at the mark or before it. One with a lower ordinal that was sent later does not: the
// database has lost what the mark was of.
func (m mark) covers(one offer) bool {
	return m.ordinal >= one.ordinal && !one.sentAt.After(m.sentAt)
}

func (o offer) mark() markKey {
	return markKey{channels.Key{IntentNo: o.intentNo, ChannelNo: o.channelNo}, o.agent}
}

func newOffers(db *database.DB, logger *slog.Logger, every time.Duration) *offers {
	o := &offers{db: db, logger: logger}
	o.written, _ = lru.New[offerKey, struct{}](keptOffers) // fails only for a size that is not positive
	o.marked, _ = lru.New[markKey, mark](keptOffers)
	o.loop = loop.New("recording what was offered", every, logger, o.flush)
	return o
}

// stop writes what still waits.
func (o *offers) stop() {
	o.loop.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), lastOffers)
	defer cancel()
	if err := o.flush(ctx); err != nil {
		o.logger.Warn("what was offered last is not recorded", "error", err)
	}
}

// RecordOffered notes that messages among the entries were handed to a transport of the agent's. It does not block, and
// what was noted is written soon.
func (s *Service) RecordOffered(agentID string, entries ...reading.Entry) {
	messages := make([]*message.Message, 0, len(entries))
	for _, entry := range entries {
		if entry.Message != nil {
			messages = append(messages, entry.Message)
		}
	}
	s.offers.record(agentID, s.db.Now(), messages...)
}

// record notes messages that were handed to a transport of an agent's, of which it counts those that the agent receives.
// The agent could see them, so one to a role that is not its own is to a role that it holds. Only the operator sees what
// is not for it: that it looked is not recorded.
func (o *offers) record(agent string, at time.Time, messages ...*message.Message) {
	var noted []offer
	latest := make(map[channels.Key]int) // which of the noted is a channel's newest to everyone
	for _, m := range messages {
		everyone := message.ToEveryone(m.Target)
		if m.Sender == agent || agent == caller.Operator && m.Target != agent || message.IsAgent(m.Target) && m.Target != agent {
			continue
		}
		one := offer{
			offerKey{m.IntentNo, m.Position, m.ID, agent}, m.ChannelNo, m.Ordinal, everyone, message.Later(at, m.CreatedAt), m.CreatedAt,
		}
		if before, marked := latest[m.Key()]; everyone && marked {
			if noted[before].ordinal < m.Ordinal {
				noted[before] = one
			}
			continue
		}
		if everyone {
			latest[m.Key()] = len(noted)
		}
		noted = append(noted, one)
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.add(noted)
}

// add lets offers wait, as many as there is room for.
func (o *offers) add(noted []offer) {
	fitting := min(len(noted), maxOffers-len(o.waiting))
	o.waiting = append(o.waiting, noted[:fitting]...)
	o.dropped += len(noted) - fitting
}

func (o *offers) take() (noted []offer, dropped int) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	noted, dropped = o.waiting, o.dropped
	o.waiting, o.dropped = nil, 0
	return noted, dropped
}

// flush writes the offers that wait, and does not write again what it has written before. What could not be written waits
// for the next turn.
func (o *offers) flush(ctx context.Context) error {
	o.writing.Lock()
	defer o.writing.Unlock()
	noted, dropped := o.take()
	if dropped > 0 {
		o.logger.Warn("too much was offered at once; not all of it is recorded", "messages", dropped)
	}
	noted = slices.DeleteFunc(noted, o.known)
	for len(noted) > 0 {
		together := noted[:min(len(noted), offersTogether)]
		if err := o.write(ctx, together); err != nil {
			o.mutex.Lock()
			defer o.mutex.Unlock()
			o.add(noted)
			return err
		}
		o.learn(together)
		noted = slices.DeleteFunc(noted[len(together):], o.known)
	}
	return nil
}

func (o *offers) known(one offer) bool {
	if one.everyone {
		marked, known := o.marked.Get(one.mark())
		return known && marked.covers(one)
	}
	_, known := o.written.Get(one.offerKey)
	return known
}

func (o *offers) learn(written []offer) {
	for _, one := range written {
		if !one.everyone {
			o.written.Add(one.offerKey, struct{}{})
		} else if !o.known(one) {
			o.marked.Add(one.mark(), mark{one.ordinal, one.sentAt})
		}
	}
}

// write stores offers in one transaction. It holds no intent's lock, so a message that is deleted at the same moment may
// leave a row behind; it goes with its channel or intent.
func (o *offers) write(ctx context.Context, noted []offer) error {
	return o.db.Write(ctx, func(tx *database.Tx) error {
		var rows []offer
		marks := make(map[markKey]offer)
		for _, one := range noted {
			if !one.everyone {
				rows = append(rows, one)
			} else if marks[one.mark()].ordinal < one.ordinal {
				marks[one.mark()] = one
			}
		}
		if err := writeOffers(tx, rows); err != nil {
			return err
		}
		return writeMarks(tx, marks)
	})
}

// writeOffers stores offers of messages to an agent or a role, as far as the messages are still there.
func writeOffers(tx *database.Tx, rows []offer) error {
	if len(rows) == 0 {
		return nil
	}
	slices.SortStableFunc(rows, func(a, b offer) int { // two replicas that write the same do so in one order
		return cmp.Or(cmp.Compare(a.intentNo, b.intentNo), cmp.Compare(a.position, b.position), cmp.Compare(a.agent, b.agent))
	})
	places := make([]messagePlace, len(rows))
	for i, row := range rows {
		places[i] = messagePlace{row.intentNo, row.position}
	}
	kept, err := keptAmong(tx, places)
	if err != nil {
		return err
	}
	var intentNos, positions, times []int64
	var agentIDs []string
	for i, row := range rows {
		if _, found := kept[places[i]]; found {
			intentNos, positions = append(intentNos, row.intentNo), append(positions, row.position)
			agentIDs, times = append(agentIDs, row.agent), append(times, database.Micros(row.at))
		}
	}
	return tx.Pipeline(tx.InsertIgnore("offers",
		database.Column{Name: "intent_no", Values: intentNos},
		database.Column{Name: "position", Values: positions},
		database.Column{Name: "agent_id", Values: agentIDs},
		database.Column{Name: "offered_at", Values: times},
	)...)
}

// messagePlace names a message in rows.
type messagePlace struct{ intentNo, position int64 }

// keptAmong gives the targets of those of the messages that are still kept.
func keptAmong(tx *database.Tx, places []messagePlace) (map[messagePlace]string, error) {
	intentNos, positions := make([]int64, len(places)), make([]int64, len(places))
	for i, place := range places {
		intentNos[i], positions[i] = place.intentNo, place.position
	}
	kept := make(map[messagePlace]string)
	in, arguments := tx.InRows(
		database.Column{Name: "intent_no", Values: intentNos}, database.Column{Name: "position", Values: positions})
	return kept, tx.Pipeline(database.Statement{
		SQL:  "SELECT intent_no, position, COALESCE(target, '') FROM messages WHERE " + in,
		Args: arguments,
		Scan: func(row database.Row) error {
			var place messagePlace
			var target string
			err := row.Scan(&place.intentNo, &place.position, &target)
			kept[place] = target
			return err
		},
	})
}
