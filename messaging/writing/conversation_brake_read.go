package writing

import (
	"cmp"
	"database/sql"
	"slices"
	"time"

	"openintent/channels"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/loopbrake"
	"openintent/messaging/message"
)

// intentPlace is a place of an intent.
type intentPlace struct {
	intentNo int64
	loopbrake.Place
}

// readCrowds reads what counts in the places of the batch's turns that the writer does not know: because it has not counted there, or because
// another replica has moved the intent's head since. It reads nothing for a batch without turns.
func (b *batch) readCrowds() error {
	var unknown []*crowdReading
	for _, s := range b.submissions {
		place, budget, counts := b.placeOfTurn(s.draft)
		if !counts || b.crowds[place] != nil {
			continue
		}
		if b.crowds == nil {
			b.crowds = make(map[intentPlace]*keptPlace)
		}
		kept := b.brakes.place(place.intentNo, place.Place)
		b.crowds[place] = kept
		if kept.crowd == nil || !b.unmoved(place.intentNo, kept.generation) {
			kept.crowd, kept.generation = loopbrake.NewCrowd(), 0
			unknown = append(unknown, &crowdReading{place: place, budget: budget, crowd: kept.crowd})
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	var statements []database.Statement
	for _, r := range unknown {
		statements = append(statements, r.statements()...)
	}
	if err := b.tx.Pipeline(statements...); err != nil {
		return err
	}
	for _, r := range unknown {
		r.recall()
	}
	return nil
}

// placeOfTurn returns where a draft counts if it is admitted. counts is false if it never does.
func (b *batch) placeOfTurn(d *Draft) (place intentPlace, budget loopbrake.Budget, counts bool) {
	if !d.setsToWork() || !loopbrake.MayCount(d.given) || b.heads.Get(d.IntentNo) == nil {
		return place, budget, false
	}
	key := d.Channel
	if d.Name != "" {
		key = b.named[channels.Named{IntentNo: d.IntentNo, Name: d.Name}]
	}
	channel := b.rules[key]
	if channel == nil {
		return place, budget, false
	}
	place = intentPlace{d.IntentNo, loopbrake.Place{ChannelNo: key.ChannelNo}}
	if d.parentID() != "" {
		parent := b.parentOf(d)
		if parent == nil || parent.Key() != key {
			return place, budget, false
		}
		place.Root = parent.ThreadRoot()
	}
	budget = budgetIn(channel, place.Place)
	return place, budget, budget.Turns > 0
}

// unmoved reports whether nobody else has moved an intent's head since the writer knew something of a generation. The batch itself may have.
func (b *batch) unmoved(intentNo, generation int64) bool {
	began, ok := b.began[intentNo]
	if !ok {
		began = b.heads.Get(intentNo).Copy()
	}
	known, ok := b.cache.heads.Peek(intentNo)
	return ok && generation != 0 && known.generation == generation && known.head.Same(began)
}

// keepCrowds is told that the batch is committed: what it has read holds from now on as of the heads that it left behind.
func (b *batch) keepCrowds() {
	for place, kept := range b.crowds {
		if known, ok := b.cache.heads.Peek(place.intentNo); ok {
			kept.generation = known.generation
		}
	}
}

// crowd returns what is known of the conversation in a place; nil if nothing is. A batch that has read knows the places of its turns, except
// in channels that it makes: no turn counts there yet.
func (b *batch) crowd(intentNo int64, place loopbrake.Place) *loopbrake.Crowd {
	if kept := b.crowds[intentPlace{intentNo, place}]; kept != nil {
		return kept.crowd
	}
	kept := b.brakes.known(intentNo, place)
	switch {
	case kept == nil || kept.crowd == nil:
		return nil
	case b.remembered && kept.generation == b.generations[intentNo], !b.remembered && b.unmoved(intentNo, kept.generation):
		return kept.crowd
	}
	return nil
}

// crowdReading is the reading of one place.
type crowdReading struct {
	place  intentPlace
	budget loopbrake.Budget
	crowd  *loopbrake.Crowd

	// rows are the newest turns, and the newest message of a person. root is the thread's first message.
	rows         []turnRow
	root         *turnRow
	told, lifted sql.NullInt64
}

type turnRow struct {
	position, createdAt int64
	sender              string
	target              sql.NullString
	kind                message.Type
	turn                sql.NullInt16
}

const turnColumns = "position, created_at, sender, target, message_type, turn"

func (r *turnRow) scan(row database.Row) error {
	return row.Scan(&r.position, &r.createdAt, &r.sender, &r.target, &r.kind, &r.turn)
}

func (r *turnRow) does() turn { return turn(r.turn.Int16) }

func (r *turnRow) asTurn() loopbrake.Turn {
	return loopbrake.Turn{Sender: r.sender, Target: r.target.String, At: database.Time(r.createdAt)}
}

// setsToWork reports whether the row is a turn of an agent. A thread's first message may have been none when it was stored.
func (r *turnRow) setsToWork() bool {
	return loopbrake.SetsToWork(r.kind) && r.does() != humanTurn && r.sender != caller.Operator && r.sender != caller.System
}

// statements read what counts by ranges of one index (messages_turns): as many rows as the budget has of those that count, as many of those
// that only set others to work, and the newest message of a person.
func (r *crowdReading) statements() []database.Statement {
	place := []any{r.place.intentNo, r.place.ChannelNo, r.place.Root}
	statements := []database.Statement{{
		SQL:  "SELECT told_at, lifted_through FROM conversation_brakes WHERE intent_no = ? AND channel_no = ? AND thread_position = ?",
		Args: place,
		Scan: func(row database.Row) error { return row.Scan(&r.told, &r.lifted) },
	}}
	for _, wanted := range []struct {
		does turn
		most int
	}{{countedTurn, r.budget.Turns}, {givenTurn, r.budget.Turns}, {humanTurn, 1}} {
		statements = append(statements, database.Statement{
			SQL: "SELECT " + turnColumns + " FROM messages WHERE intent_no = ? AND channel_no = ? AND COALESCE(thread_position, 0) = ?" +
				" AND turn = ? ORDER BY position DESC LIMIT ?",
			Args: append(place[:len(place):len(place)], int64(wanted.does), wanted.most),
			Scan: func(row database.Row) error {
				var found turnRow
				err := found.scan(row)
				r.rows = append(r.rows, found)
				return err
			},
		})
	}
	if r.place.Root == 0 {
		return statements
	}
	return append(statements, database.Statement{
		SQL:  "SELECT " + turnColumns + " FROM messages WHERE intent_no = ? AND position = ?",
		Args: []any{r.place.intentNo, r.place.Root},
		Scan: func(row database.Row) error {
			r.root = new(turnRow)
			return r.root.scan(row)
		},
	})
}

// recall counts what was read in its order, from the newest message of a person or a lift on. A thread's first message sets others to work,
// and counts outside the thread.
func (r *crowdReading) recall() {
	slices.SortFunc(r.rows, func(a, b turnRow) int { return cmp.Compare(a.position, b.position) })
	if root := r.root; root != nil && root.position > r.lifted.Int64 && root.setsToWork() {
		r.crowd.Note(root.asTurn(), false, r.budget)
	}
	since := int64(0)
	for _, row := range r.rows {
		switch {
		case row.does() == humanTurn:
			r.crowd.Reset()
			since = row.createdAt
		case row.position > r.lifted.Int64:
			r.crowd.Note(row.asTurn(), row.does() == countedTurn, r.budget)
		}
	}
	if r.told.Int64 > since {
		r.crowd.Told(time.UnixMicro(r.told.Int64))
	}
}
