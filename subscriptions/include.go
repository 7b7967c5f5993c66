package subscriptions

import (
	"context"
	"strings"

	"openintent/internal/database"
	"openintent/messaging/reading"
)

// including sets what the subscription delivers beside messages and events.
func (s *subscription) including(words []string) {
	s.include = words
	s.filter.Include(words)
}

// numberAnnotations makes an agent's own log number annotations, from the first stream that includes them on. The log's numbers are
// shared: streams that do not include annotations pass over theirs. While no stream has ever asked, the log numbers none, and other
// agents' annotations cost the agent nothing.
func (s *Service) numberAnnotations(ctx context.Context, own *subscription) error {
	if own.filter.Annotations {
		return nil
	}
	own.including([]string{reading.IncludeAnnotations})
	err := s.changes.change(ctx, own.no, wanted{}, func(c *change) error {
		c.also(database.Statement{
			SQL: "UPDATE subscriptions SET include = ? WHERE subscription_no = ?", Args: []any{strings.Join(own.include, ","), own.no},
		})
		return nil
	})
	if err == nil {
		s.messaging.WakeSubscription(own.no)
	}
	return err
}

// follows notes whether the subscription numbers annotations. If that has changed, what the gatherer read ahead was read without them, and
// has to be read again: then it returns true.
func (g *gatherer) follows(annotations bool) (again bool) {
	if g.annotations == annotations {
		return false
	}
	g.annotations = annotations
	again = len(g.scanned) > 0
	clear(g.scanned)
	return again
}
