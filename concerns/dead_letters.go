package concerns

import (
	"fmt"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/subscriptions"
)

// deadLetters finds subscriptions with dead letters.
type deadLetters struct{}

func (deadLetters) lanes(l *look) ([]*lane, error) {
	return l.troubled(openintentv1.ConcernKind_CONCERN_KIND_DEAD_LETTERS, subscriptions.PrepareDeadLetters)
}

func (deadLetters) judge(l *look, some []candidate) ([]*concern, error) {
	return l.inTrouble(some, func(one *concern, t *subscriptions.Trouble, own bool) {
		one.summary = fmt.Sprintf("%s has %s.", subscriptionOf(t, own), letters(t.Dead))
		one.may(openintentv1.ConcernAction_CONCERN_ACTION_REDRIVE, own && t.Active && !l.by.ReadOnly)
		one.may(openintentv1.ConcernAction_CONCERN_ACTION_DROP, own && !l.by.ReadOnly)
	})
}

func letters(count int) string {
	switch count {
	case 1:
		return "1 dead letter"
	case subscriptions.MostDead:
		return fmt.Sprintf("%d dead letters or more", count)
	}
	return fmt.Sprintf("%d dead letters", count)
}
