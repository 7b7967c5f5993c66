package concerns

import (
	"fmt"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/subscriptions"
)

// This file has what the kinds have in common that are about subscriptions.

// finder is a function of the room of subscriptions that finds those with a trouble.
type finder func(tx *database.Tx, of subscriptions.Of, found func(no int64, since time.Time) error) database.Statement

// troubled are the lanes of the subscriptions in trouble that may concern the caller: its own, and those to intents that it administers; all for
// the operator.
func (l *look) troubled(kind openintentv1.ConcernKind, find finder) (lanes []*lane, err error) {
	var whose []subscriptions.Of
	switch {
	case l.operator() && l.intentNo != 0:
		whose = append(whose, subscriptions.Of{IntentNos: []int64{l.intentNo}})
	case l.operator():
		whose = append(whose, subscriptions.Of{})
	default:
		administered, err := l.administered()
		if err != nil {
			return nil, err
		}
		if whose = append(whose, subscriptions.Of{Subscriber: l.by.Agent}); len(administered) > 0 {
			whose = append(whose, subscriptions.Of{IntentNos: administered})
		}
	}
	for _, of := range whose {
		lanes = append(lanes, whole(int64(kind), func(found func(candidate)) database.Statement {
			return find(l.tx, of, func(no int64, since time.Time) error {
				found(candidate{place: place{since: database.Micros(since), major: no}})
				return nil
			})
		}))
	}
	return lanes, nil
}

// inTrouble calls tell for the subscriptions of candidates that concern the caller, and returns the concerns that it makes of them. own is true
// for the subscriber and the operator.
func (l *look) inTrouble(some []candidate, tell func(one *concern, t *subscriptions.Trouble, own bool)) ([]*concern, error) {
	numbers := make([]int64, len(some))
	for i, c := range some {
		numbers[i] = c.major
	}
	troubles, err := subscriptions.Troubles(l.tx, numbers)
	if err != nil {
		return nil, err
	}
	found := make([]*concern, len(some))
	for i, c := range some {
		t := troubles[c.major]
		if t == nil || l.intentNo != 0 && t.IntentNo != l.intentNo {
			continue
		}
		covered, err := t.CoveredBy(l.tx, l.by.Scope)
		if err != nil {
			return nil, err
		}
		if covered {
			found[i] = &concern{
				kind: c.kindOf(), since: database.Time(c.since), of: t.ID, intentID: t.IntentID, channelID: t.ChannelID,
				agentID: t.Subscriber, subscriptionID: t.ID,
			}
			tell(found[i], t, l.operator() || t.Subscriber == l.by.Agent)
		}
	}
	return found, nil
}

// subscriptionOf names a subscription in a sentence: its own name is for its subscriber and the operator.
func subscriptionOf(t *subscriptions.Trouble, own bool) string {
	if own {
		return fmt.Sprintf("The subscription %q of %s", t.Name, t.Subscriber)
	}
	return "A subscription of " + t.Subscriber
}
