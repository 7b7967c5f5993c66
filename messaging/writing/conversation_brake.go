package writing

import (
	"strconv"
	"time"

	"openintent/channels"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/jsonvalue"
	"openintent/messaging/loopbrake"
	"openintent/messaging/message"
)

// This file brings the brake on a crowd of agents into the writer: which drafts are refused, and who is told. Which turns count is decided in
// messaging/loopbrake, and conversation_brake_read.go reads them from the log.

// turn is what a message does to the conversation of its place, as its row says. Rows without one do nothing.
type turn int16

const (
	noTurn      turn = iota
	countedTurn      // an agent sets others to work, after another one has done so to it
	humanTurn        // a person writes, and the count begins anew
	givenTurn        // an agent sets others to work, which does not count
)

// setsToWork reports whether the draft is a turn of an agent. The operator is none.
func (d *Draft) setsToWork() bool {
	return loopbrake.SetsToWork(d.MessageType) && !d.Human && !d.Privileged && d.Sender != caller.Operator
}

// heedBudget decides whether an admitted draft counts in the conversation of its place, and refuses one that is too many.
func (b *batch) heedBudget(head *intents.Head, channel *channels.Rules, d *Draft) error {
	d.turn, d.crowd = noTurn, nil
	if d.Human {
		d.turn = humanTurn
	}
	if !d.Human && !d.setsToWork() {
		return nil
	}
	place, budget := placeOf(channel, d)
	if budget.Turns == 0 {
		return nil
	}
	if !d.Human {
		d.turn = givenTurn
	}
	d.crowd = b.crowd(head.IntentNo, place)
	mayCount := !d.Human && loopbrake.MayCount(d.given)
	if d.crowd == nil {
		b.needsReading = b.needsReading || mayCount && b.remembered
		return nil
	}
	if !mayCount || !d.crowd.Counts(b.turnOf(head, d), budget.Within) {
		return nil
	}
	d.turn = countedTurn
	until := d.crowd.Until(head.Now(), budget)
	if until.IsZero() {
		return nil
	}
	if err := b.tellOfCrowd(head, channel, d, budget, until); err != nil {
		return err
	}
	return errConversationBraked(budget, until, head.Now())
}

// placeOf returns where an admitted draft counts, and the budget there.
func placeOf(channel *channels.Rules, d *Draft) (loopbrake.Place, loopbrake.Budget) {
	place, _ := loopbrake.PlaceOf(channel.ChannelNo, d.MessageType, d.conversation)
	return place, budgetIn(channel, place)
}

func budgetIn(channel *channels.Rules, place loopbrake.Place) loopbrake.Budget {
	return loopbrake.Budget{Turns: int(channel.ConversationBudgetIn(place.Root != 0)), Within: loopbrake.BrakeTime}
}

// turnOf returns an admitted draft as a turn.
func (b *batch) turnOf(head *intents.Head, d *Draft) loopbrake.Turn {
	return loopbrake.Turn{Sender: d.Sender, Role: b.presences[d.Sender].Role(), Target: d.Target, At: head.Now()}
}

// noteTurn notes what a draft that is stored does to the conversation of its place, if anything of that is remembered.
func (b *batch) noteTurn(head *intents.Head, channel *channels.Rules, d *Draft) {
	switch {
	case d.crowd == nil:
	case d.Human:
		b.brakes.reset(d.crowd)
	default:
		_, budget := placeOf(channel, d)
		b.brakes.note(d.crowd, b.turnOf(head, d), d.turn == countedTurn, budget)
	}
}

func errConversationBraked(budget loopbrake.Budget, until, now time.Time) error {
	moment := until.UTC().Format("2006-01-02T15:04:05.000000Z")
	return fault.New(fault.Quota, "CONVERSATION_BRAKED",
		"Agents have set each other to work %d times here within %d minutes; go on at %s, or after a person wrote here or the brake was lifted.",
		budget.Turns, int(budget.Within/time.Minute), moment).
		With("conversation_budget", strconv.Itoa(budget.Turns)).With("until", moment).After(until.Sub(now))
}

// tellOfCrowd tells the intent's coordinator, if it has one, that agents are braked in a place: once for each time that a brake lasts at most.
// The place's row keeps that it was told, for the other replicas.
func (b *batch) tellOfCrowd(
	head *intents.Head, channel *channels.Rules, d *Draft, budget loopbrake.Budget, until time.Time,
) error {
	if b.remembered || !b.brakes.tell(d.crowd, head.Now(), budget.Within) { // a refusal has to be certain, so it is decided by reading
		return nil
	}
	place, _ := placeOf(channel, d)
	b.tx.AfterCommit(func() {
		b.logger.Info("a conversation of agents was braked", "intent", channel.IntentID, "channel", channel.ID, "agent", d.Sender,
			"conversation_budget", budget.Turns, "until", until)
	})
	if err := b.tx.Pipeline(noteBrake(channel.Key, place.Root, "told_at", database.Micros(head.Now()), head.Now())); err != nil {
		return err
	}
	to := b.access[head.IntentNo].Coordinator(head.Now())
	if to == "" {
		return nil
	}
	var payload jsonvalue.Builder
	payload.String("event", "conversation_brake").String("channel_id", channel.ID)
	if d.conversation != nil && d.conversation.ThreadPosition != 0 {
		payload.String("thread_id", d.conversation.ThreadID)
	}
	payload.String("agent", d.Sender).Raw("conversation_budget", strconv.AppendInt(nil, int64(budget.Turns), 10)).
		String("until", until.UTC().Format("2006-01-02T15:04:05.000000Z"))
	return b.Notify(b.tx, head, Notice{
		To: to, Payload: payload.Object(), HourlyAtMost: brakesToldHourly, Conversation: &message.Conversation{Kind: "conversation_brake"},
	})
}

// noteBrake returns the statement that notes something of the brake in a place.
func noteBrake(key channels.Key, root int64, column string, value int64, at time.Time) database.Statement {
	return database.Statement{
		SQL: "INSERT INTO conversation_brakes (intent_no, channel_no, thread_position, changed_at, " + column + ") VALUES (?, ?, ?, ?, ?)" +
			" ON CONFLICT (intent_no, channel_no, thread_position) DO UPDATE SET changed_at = excluded.changed_at, " +
			column + " = excluded." + column,
		Args: []any{key.IntentNo, key.ChannelNo, root, database.Micros(at), value},
	}
}

// LiftBrake lets the conversation in a place go on: in a thread, by the position of its first message, or outside threads, where that is 0.
// What was counted counts no more, on any replica. The caller holds the lock of the intent's head.
func LiftBrake(tx *database.Tx, head *intents.Head, key channels.Key, root int64) error {
	head.Touch() // whoever has counted on reads anew
	return tx.Pipeline(
		noteBrake(key, root, "lifted_through", head.LastPosition, head.Now()),
		noteBrake(key, root, "told_at", 0, head.Now()),
	)
}

// ForgetBrakes returns the statement that removes what was noted of brakes before a time, at most so many of them.
func ForgetBrakes(before time.Time, most int, removed *int64) database.Statement {
	return database.Statement{
		SQL: "DELETE FROM conversation_brakes WHERE (intent_no, channel_no, thread_position) IN" +
			" (SELECT intent_no, channel_no, thread_position FROM conversation_brakes WHERE changed_at < ? ORDER BY changed_at LIMIT ?)",
		Args: []any{database.Micros(before), most}, Affected: removed,
	}
}

// ForgetBrakesOf returns the statement that removes what was noted of brakes in a channel.
func ForgetBrakesOf(key channels.Key) database.Statement {
	return database.Statement{
		SQL:  "DELETE FROM conversation_brakes WHERE intent_no = ? AND channel_no = ?",
		Args: []any{key.IntentNo, key.ChannelNo},
	}
}
