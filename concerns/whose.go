package concerns

import (
	"maps"
	"slices"
	"time"

	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/reading"
)

// intentsOf are the intents that have not ended in which something may concern a caller who is not the operator.
type intentsOf struct {
	// administered are those to which the caller has admin access and its key reaches, and coordinated those that it coordinates.
	administered map[int64]bool
	coordinated  []int64
	// all are those that the caller administers and those in which it has sent something, and reached are all in which something may reach it.
	all, reached []int64
}

// whose finds out in which intents something may concern the caller, as far as the call wants to see them.
func (l *look) whose() (*intentsOf, error) {
	if l.known != nil {
		return l.known, nil
	}
	heads, spoken, err := l.livingIntents()
	if err != nil {
		return nil, err
	}
	rules, err := l.intents.AllRules(l.tx, heads)
	if err != nil {
		return nil, err
	}
	l.known = &intentsOf{administered: make(map[int64]bool)}
	for _, head := range heads {
		whole := !caller.IsGuest(l.by.Agent) && l.by.Scope.CoversIntent(head.IntentID)
		admin := whole && rules[head.IntentNo].Given(l.by.Agent, false, head.Now()) >= intents.PermissionAdmin
		if admin {
			l.known.administered[head.IntentNo] = true
		}
		if whole && coordinates(rules[head.IntentNo], l.by.Agent, head.Now()) {
			l.known.coordinated = append(l.known.coordinated, head.IntentNo)
		}
		if !l.by.Scope.MayReachInto(head.IntentID) {
			continue
		}
		l.known.reached = append(l.known.reached, head.IntentNo)
		if admin || spoken[head.IntentNo] {
			l.known.all = append(l.known.all, head.IntentNo)
		}
	}
	return l.known, nil
}

// coordinates reports whether an agent is told what a coordinator is told.
func coordinates(rules *intents.Rules, agent string, now time.Time) bool {
	return rules.Coordinator(now) == agent || rules.Coordinates(agent, now)
}

// administered returns the intents to which the caller has admin access, in order.
func (l *look) administered() ([]int64, error) {
	known, err := l.whose()
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(known.administered)), nil
}

// livingIntents reads the heads of the intents in which something may reach the caller, but for those that have ended.
func (l *look) livingIntents() (heads intents.Heads, spoken map[int64]bool, err error) {
	reached, statements := reading.PrepareCatchment(l.tx, l.by.Agent, "")
	if err := l.tx.Pipeline(statements...); err != nil {
		return nil, nil, err
	}
	numbers := reached.Intents()
	if l.intentNo != 0 {
		numbers = slices.DeleteFunc(numbers, func(no int64) bool { return no != l.intentNo })
	}
	var living []int64
	in, argument := l.tx.In("h.intent_no", numbers)
	err = l.tx.Pipeline(database.ReadValues(&living, "SELECT h.intent_no FROM intent_heads h WHERE "+in+" AND h.ended_at IS NULL", argument))
	if err != nil {
		return nil, nil, err
	}
	statement, read := intents.PrepareHeads(l.tx, living)
	err = l.tx.Pipeline(statement)
	return read(), reached.Spoken, err
}
