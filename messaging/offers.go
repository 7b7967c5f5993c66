package messaging

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"openintent/channels"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/loop"
	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/reach"
)

const (
	// maxOffers bounds how many offers may wait to be written; more are dropped. offersTogether is how many one transaction
	// writes.
	maxOffers      = 65_536
	offersTogether = 2_048
	// keptOffers bounds how many offers and marks are cached as written, so that a reader who reads the same messages again
	// and again costs no writes.
	keptOffers = 65_536
	// lastOffers bounds how long Stop waits for the last offers.
	lastOffers = 5 * time.Second
)

// offers records which messages were handed to recipients' transports. The record is there for the senders and for nothing
// else. Recording never holds up readers, and it is best effort: when a crash or a crowd loses an offer, the message was
// received all the same. A message to an agent or a role has a row for each recipient, with the first offer. For the
// messages to everyone there is one mark for each channel and recipient. It says up to which ordinal they were handed over,
// and it only moves forward.
type offers struct {
	db     *database.DB
	logger *slog.Logger
	here   *reach.Here // nil when nobody wants to know
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

// mark says up to which message to everyone a channel was handed over: the message's ordinal, and when it was sent.
type mark struct {
	ordinal int64
	sentAt  time.Time
}

// covers reports whether a message lies at the mark or before it. A message with a lower ordinal that was sent later does
// not: the database has lost the message that the mark was set for.
func (m mark) covers(one offer) bool {
	return m.ordinal >= one.ordinal && !one.sentAt.After(m.sentAt)
}

func (o offer) mark() markKey {
	return markKey{channels.Key{IntentNo: o.intentNo, ChannelNo: o.channelNo}, o.agent}
}

func newOffers(db *database.DB, logger *slog.Logger, every time.Duration, here *reach.Here) *offers {
	o := &offers{db: db, logger: logger, here: here}
	o.written, _ = lru.New[offerKey, struct{}](keptOffers) // fails only for a size that is not positive
	o.marked, _ = lru.New[markKey, mark](keptOffers)
	o.loop = loop.New("recording what was offered", every, logger, o.flush)
	return o
}

// stop writes the offers that still wait.
func (o *offers) stop() {
	o.loop.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), lastOffers)
	defer cancel()
	if err := o.flush(ctx); err != nil {
		o.logger.Warn("the last offers are not recorded", "error", err)
	}
}

// RecordOffered notes that the messages among the entries were handed to a transport of the agent. It does not block. What
// it notes is written soon.
func (s *Service) RecordOffered(agentID string, entries ...reading.Entry) {
	messages := make([]*message.Message, 0, len(entries))
	for _, entry := range entries {
		if entry.Message != nil {
			messages = append(messages, entry.Message)
		}
	}
	s.offers.record(agentID, s.db.Now(), messages...)
}

// record notes messages that were handed to a transport of an agent. It notes those that the agent receives. The agent
// could see all of them, so a message to a role was to a role that the agent holds. Only the operator sees messages that
// are not for it, and what it sees that way is not recorded.
func (o *offers) record(agent string, at time.Time, messages ...*message.Message) {
	var noted []offer
	latest := make(map[channels.Key]int) // the index in noted of a channel's newest message to everyone
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

// flush writes the offers that wait, and leaves out those that it has written before. Offers that it could not write wait
// for the next run.
func (o *offers) flush(ctx context.Context) error {
	o.writing.Lock()
	defer o.writing.Unlock()
	noted, dropped := o.take()
	o.tellReach(noted)
	if dropped > 0 {
		o.logger.Warn("too many messages were offered in a short time; some of the offers are not recorded", "messages", dropped)
	}
	for len(noted) > 0 {
		together, rest := o.unknown(noted)
		if len(together) == 0 {
			return nil
		}
		if err := o.write(ctx, together); err != nil {
			o.mutex.Lock()
			defer o.mutex.Unlock()
			o.add(append(together, rest...))
			return err
		}
		o.learn(together)
		noted = rest
	}
	return nil
}

// tellReach tells when messages were last handed to each agent.
func (o *offers) tellReach(noted []offer) {
	if o.here == nil || len(noted) == 0 {
		return
	}
	times := make(map[string]time.Time)
	for _, one := range noted {
		times[one.agent] = message.Later(times[one.agent], one.at)
	}
	o.here.Offered(times)
}

// unknown takes offers that are not known to be written, as many as are written together, and returns the rest.
func (o *offers) unknown(noted []offer) (together, rest []offer) {
	for i, one := range noted {
		if len(together) == offersTogether {
			return together, noted[i:]
		}
		if !o.known(one) {
			together = append(together, one)
		}
	}
	return together, nil
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

// write stores offers in one transaction. It holds no intent's lock, so it may leave a row of a message that is deleted at
// the same moment; that row goes with its channel or intent.
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

// writeOffers stores offers of messages to an agent or a role, unless the messages are gone.
func writeOffers(tx *database.Tx, rows []offer) error {
	if len(rows) == 0 {
		return nil
	}
	slices.SortStableFunc(rows, func(a, b offer) int { // so that two replicas that write the same rows do so in the same order
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

// messagePlace is where a message is: its intent and its position.
type messagePlace struct{ intentNo, position int64 }

// keptAmong returns the targets of those of the messages that are still kept.
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
