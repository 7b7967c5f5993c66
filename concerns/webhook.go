package concerns

import (
	"fmt"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/subscriptions"
)

// webhook finds webhooks that take nothing any more.
type webhook struct{}

func (webhook) lanes(l *look) ([]*lane, error) {
	return l.troubled(openintentv1.ConcernKind_CONCERN_KIND_WEBHOOK, subscriptions.PrepareFailing)
}

// judge tells the subscriber and the operator why the last post failed. Others learn that it did.
func (webhook) judge(l *look, some []candidate) ([]*concern, error) {
	return l.inTrouble(some, func(one *concern, t *subscriptions.Trouble, own bool) {
		one.summary = fmt.Sprintf("%s posts to a webhook that does not take its messages.", subscriptionOf(t, own))
		if own {
			one.summary += " " + t.LastError
		}
		one.may(openintentv1.ConcernAction_CONCERN_ACTION_REDRIVE, own && t.Active && !l.by.ReadOnly)
	})
}
