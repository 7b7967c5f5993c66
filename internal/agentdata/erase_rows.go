package agentdata

import (
	"context"

	"openintent/intents"
	"openintent/internal/database"
)

// together is how many rows one transaction of an erasure changes at most.
const together = 500

// eraseRows changes the agent's rows of a table in one intent, and counts them.
func (e *eraser) eraseRows(ctx context.Context, t Table, intentNo int64) (count int64, err error) {
	for after := int64(-1 << 63); ; {
		var places []int64
		where := "x.intent_no = ? AND (" + t.change.where + ") AND x." + t.change.by + " > ?"
		given := append(append([]any{intentNo}, arguments(t.change.where, e.agentID)...), after, together)
		if err := e.DB.ReadStatement(ctx, func(tx *database.Tx) error {
			return tx.Pipeline(database.ReadValues(&places, "SELECT DISTINCT x."+t.change.by+" FROM "+t.Name+" x WHERE "+where+
				" ORDER BY x."+t.change.by+" LIMIT ?", given...))
		}); err != nil || len(places) == 0 {
			return count, err
		}
		var changed int64
		err := e.DB.Write(ctx, func(tx *database.Tx) (err error) {
			changed, err = e.changeAt(tx, t, intentNo, places)
			return err
		})
		if err != nil {
			return count, err
		}
		count, after = count+changed, places[len(places)-1]
	}
}

// changeAt changes the agent's rows at some places, under the lock of the intent's head. Its epoch rises, so that all servers read again
// what they remember of the intent.
func (e *eraser) changeAt(tx *database.Tx, t Table, intentNo int64, places []int64) (changed int64, err error) {
	heads, err := intents.Lock(tx, intentNo)
	if err != nil {
		return 0, err
	}
	in, list := tx.In("x."+t.change.by, places)
	condition := " WHERE x.intent_no = ? AND (" + t.change.where + ") AND " + in
	given := append(append([]any{intentNo}, arguments(t.change.where, e.agentID)...), list)
	switch {
	case t.change.text != nil:
		changed, err = t.rewrite(tx, intentNo, condition, given)
	case t.change.set != "":
		err = tx.Pipeline(database.Statement{
			SQL: "UPDATE " + t.Name + " AS x SET " + t.change.set + condition, Args: given, Affected: &changed,
		})
	default:
		err = tx.Pipeline(database.Statement{SQL: "DELETE FROM " + t.Name + " AS x" + condition, Args: given, Affected: &changed})
	}
	if err == nil && changed > 0 {
		heads.Get(intentNo).RaiseEpoch()
	}
	return changed, err
}

// rewrite rewrites a column of some rows, each of which has a place of its own.
func (t Table) rewrite(tx *database.Tx, intentNo int64, condition string, given []any) (int64, error) {
	var intentNos, places []int64
	var texts [][]byte
	err := tx.Pipeline(database.Statement{
		SQL: "SELECT x." + t.change.by + ", x." + t.change.column + " FROM " + t.Name + " x" + condition, Args: given,
		Scan: func(row database.Row) error {
			var place int64
			var text []byte
			if err := row.Scan(&place, &text); err != nil {
				return err
			}
			after, changed, err := t.change.text(text)
			if err == nil && changed {
				intentNos, places, texts = append(intentNos, intentNo), append(places, place), append(texts, after)
			}
			return err
		},
	})
	if err != nil {
		return 0, err
	}
	return int64(len(places)), tx.Pipeline(tx.Update(t.Name,
		[]database.Column{{Name: "intent_no", Values: intentNos}, {Name: t.change.by, Values: places}},
		[]database.Column{{Name: t.change.column, Values: texts}})...)
}
