package writing

import (
	"time"

	"openintent/channels"
	"openintent/internal/database"
	"openintent/messaging/loopbrake"
)

// StandingBrake is a place where agents were braked lately, as it is noted.
type StandingBrake struct {
	channels.Key
	// Root is the position of the thread's first message; 0 outside threads.
	Root int64
	// ToldAt is when the first of them was refused.
	ToldAt time.Time

	lifted int64
}

// mostStanding bounds how many places a look at brakes finds.
const mostStanding = 1_000

// PrepareStandingBrakes returns the statement that finds the places where agents were braked within the time that a brake lasts, in some
// intents, or in all if none are given. Whether they still are, Until says.
func PrepareStandingBrakes(tx *database.Tx, intentNos []int64, found func(StandingBrake)) database.Statement {
	condition, args := "", []any{database.Micros(tx.Now().Add(-loopbrake.BrakeTime))}
	if intentNos != nil {
		in, argument := tx.In("intent_no", intentNos)
		condition, args = " AND "+in, append(args, argument)
	}
	return database.Statement{
		SQL: "SELECT intent_no, channel_no, thread_position, told_at, COALESCE(lifted_through, 0) FROM conversation_brakes" +
			" WHERE changed_at > ? AND told_at > 0" + condition + " ORDER BY changed_at LIMIT ?",
		Args: append(args, mostStanding),
		Scan: func(row database.Row) error {
			var b StandingBrake
			var toldAt int64
			err := row.Scan(&b.IntentNo, &b.ChannelNo, &b.Root, &toldAt, &b.lifted)
			b.ToldAt = database.Time(toldAt)
			found(b)
			return err
		},
	}
}

// PrepareUntil returns the statements that find out until when agents are braked in the place, and a function that tells; zero if they are
// not any more. It is decided as the writer does: by the oldest of as many turns as the budget has, unless a person wrote or somebody lifted
// the brake after it.
func (b StandingBrake) PrepareUntil(channel *channels.Rules, now time.Time) ([]database.Statement, func() time.Time) {
	budget := budgetIn(channel, loopbrake.Place{ChannelNo: b.ChannelNo, Root: b.Root})
	if budget.Turns == 0 {
		return nil, func() time.Time { return time.Time{} }
	}
	var oldest, human, at int64
	newest := func(does turn, skip int, position, createdAt *int64) database.Statement {
		return database.Statement{
			SQL: "SELECT position, created_at FROM messages WHERE intent_no = ? AND channel_no = ? AND COALESCE(thread_position, 0) = ?" +
				" AND turn = ? ORDER BY position DESC LIMIT 1 OFFSET ?",
			Args: []any{b.IntentNo, b.ChannelNo, b.Root, int64(does), skip},
			Scan: func(row database.Row) error { return row.Scan(position, createdAt) },
		}
	}
	var ignored int64
	return []database.Statement{newest(countedTurn, budget.Turns-1, &oldest, &at), newest(humanTurn, 0, &human, &ignored)}, func() time.Time {
		until := database.Time(at).Add(budget.Within)
		if oldest <= max(human, b.lifted) || !now.Before(until) {
			return time.Time{}
		}
		return until
	}
}
