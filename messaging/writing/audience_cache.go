package writing

import (
	"maps"
	"sync/atomic"

	lru "github.com/hashicorp/golang-lru/v2"

	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/wake"
)

// These say how many rows of audiences are cached as stored, and of how many intents. A row that falls out of the cache is
// written again, which changes nothing.
const (
	keptAudiences       = 65_536
	keptAudienceIntents = 16_384
)

// audience says that something may reach a name in an intent: the name was addressed there, or it is an agent that takes part, because it
// has sent there or said so at its registration (sent).
type audience struct {
	name     string
	intentNo int64
	sent     bool
}

// audiences caches which rows of that kind are stored, so that a message between parties that have spoken before costs no
// statement. It learns only after the commit, because it must never say of a row that it is stored when it is not. The rows
// are removed with the last messages of an ended intent, which takes no more.
//
// A database that loses commits loses rows that were stored. So each transaction that adds rows of an intent draws a tag,
// and the intent's head keeps it. Rows that were cached under a tag are stored wherever the head has that tag. The head has
// another tag when another replica added rows or when commits were lost. Then what is cached of the intent is in doubt, and
// the batch reads the rows that it needs (batch.settleAudiences). Rows are added seldom, so this is seldom too.
type audiences struct {
	stored      *lru.Cache[audience, int64] // by the generation of the intent in which the row was seen
	generations *lru.Cache[int64, *audienceGeneration]
	begun       *atomic.Int64 // generations
}

// audienceGeneration is a span of time in which nobody else has added to an intent's audiences.
type audienceGeneration struct{ tag, generation int64 }

func newAudiences() audiences {
	stored, _ := lru.New[audience, int64](keptAudiences) // fails only for a size that is not positive
	generations, _ := lru.New[int64, *audienceGeneration](keptAudienceIntents)
	return audiences{stored, generations, new(atomic.Int64)}
}

// keep sets how many entries are cached.
func (a audiences) keep(entries int) {
	a.stored.Resize(entries)
	a.generations.Resize(entries)
}

// knows reports whether a row is certain to be stored as of its intent's head.
func (a audiences) knows(one audience, head *intents.Head) bool {
	seen, known := a.stored.Get(one)
	if !known {
		return false
	}
	current, known := a.generations.Get(one.intentNo)
	return known && current.tag == head.AudienceTag && current.generation == seen
}

// doubts reports whether a row that is not certain to be stored was cached before.
func (a audiences) doubts(one audience) bool { return a.stored.Contains(one) }

// learn is told which rows a commit has certainly left stored, with the heads as the batch found them and as it left them.
func (a audiences) learn(heads intents.Heads, began map[int64]intents.Head, stored ...audienceBatch) {
	for _, head := range heads {
		current, known := a.generations.Get(head.IntentNo)
		if !known || current.tag != began[head.IntentNo].AudienceTag {
			current = &audienceGeneration{generation: a.begun.Add(1)}
		}
		a.generations.Add(head.IntentNo, &audienceGeneration{head.AudienceTag, current.generation})
	}
	for _, batch := range stored {
		for one := range batch {
			if current, known := a.generations.Get(one.intentNo); known {
				a.stored.Add(one, current.generation)
			}
		}
	}
}

// TakePart notes that an agent takes part in an intent that has not ended, as if it had sent there. The caller holds the lock of the
// intent's head. Nothing is cached of it, so the agent's first message notes it again.
func (w *Writer) TakePart(tx *database.Tx, head *intents.Head, agentID string) error {
	taken := make(audienceBatch)
	if taken.note(audience{agentID, head.IntentNo, true}, head, w.audiences); len(taken) == 0 {
		return nil
	}
	tx.AfterCommit(func() { w.hub.WakeUp(taken.topics()...) })
	return tx.Pipeline(taken.statements(tx)...)
}

// audienceBatch holds the rows of audiences that a transaction has to store.
type audienceBatch map[audience]struct{}

// add notes those whom a message concerns, unless they are known to be stored.
func (b audienceBatch) add(m *message.Message, head *intents.Head, known audiences) {
	if m.Sender != caller.System {
		b.note(audience{m.Sender, m.IntentNo, true}, head, known)
	}
	if !message.ToEveryone(m.Target) {
		b.note(audience{m.Target, m.IntentNo, false}, head, known)
	}
}

func (b audienceBatch) note(one audience, head *intents.Head, known audiences) {
	if !known.knows(one, head) {
		b[one] = struct{}{}
	}
}

// topics returns the wake-up topics of the names that an intent begins to reach.
func (b audienceBatch) topics() []any {
	var topics []any
	for one := range b {
		topics = append(topics, wake.Reached{Audience: wake.AudienceTopic(one.name), IntentNo: one.intentNo})
	}
	return topics
}

// stored returns the statement that reads which of the rows are stored, and the map that it fills.
func (b audienceBatch) stored(tx *database.Tx) (found audienceBatch, statement database.Statement) {
	found = make(audienceBatch)
	names, intentNos, _ := b.columns()
	in, arguments := tx.InRows(names, intentNos)
	return found, database.Statement{
		SQL:  "SELECT name, intent_no, sent FROM audiences WHERE " + in,
		Args: arguments,
		Scan: func(row database.Row) error {
			var one audience
			err := row.Scan(&one.name, &one.intentNo, &one.sent)
			if _, asked := b[one]; asked {
				found[one] = struct{}{}
			}
			return err
		},
	}
}

func (b audienceBatch) statements(tx *database.Tx) []database.Statement {
	names, intentNos, sent := b.columns()
	return tx.InsertIgnore("audiences", names, intentNos, sent)
}

func (b audienceBatch) columns() (names, intentNos, sent database.Column) {
	ofNames, ofIntents, ofSent := make([]string, 0, len(b)), make([]int64, 0, len(b)), make([]bool, 0, len(b))
	for one := range b {
		ofNames, ofIntents, ofSent = append(ofNames, one.name), append(ofIntents, one.intentNo), append(ofSent, one.sent)
	}
	return database.Column{Name: "name", Values: ofNames}, database.Column{Name: "intent_no", Values: ofIntents},
		database.Column{Name: "sent", Values: ofSent}
}

// settleAudiences decides which rows the batch adds, and lets the heads of their intents note that rows are added. It first
// reads which of the rows in doubt are stored, so that two replicas that write to one intent do not add the same rows again
// and again.
func (b *batch) settleAudiences() error {
	reached, doubtful := b.appender.reached, make(audienceBatch)
	for one := range reached {
		if b.audiences.doubts(one) {
			doubtful[one] = struct{}{}
		}
	}
	if len(doubtful) > 0 && b.remembered {
		b.needsReading = true
		return nil
	}
	if len(doubtful) > 0 {
		var read database.Statement
		b.stored, read = doubtful.stored(b.tx)
		if err := b.tx.Pipeline(read); err != nil {
			return err
		}
	}
	maps.DeleteFunc(reached, func(one audience, _ struct{}) bool {
		_, stored := b.stored[one]
		return stored
	})
	for one := range reached {
		b.heads.Get(one.intentNo).TagAudiences()
	}
	return nil
}
