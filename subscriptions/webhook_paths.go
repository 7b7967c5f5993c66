package subscriptions

import (
	"openintent/internal/database"
	"openintent/reach"
	"openintent/subscriptions/record"
)

// webhooksOf are the webhooks of one agent that one maker made.
type webhooksOf struct {
	agent, maker string
	since        int64
}

// ReadWebhooks calls open for the webhooks by which some agents can be reached, for reach.Here: subscriptions that post to an address, are not
// paused, and whose last post did not fail.
func (s *Service) ReadWebhooks(tx *database.Tx, agents []string, open func(agent string, path reach.Path)) error {
	in, arg := tx.In("subscriber_id", agents)
	var found []webhooksOf
	var makers []string
	err := tx.Pipeline(database.Statement{
		SQL: "SELECT subscriber_id, COALESCE(made_by_key, ''), min(created_at) FROM subscriptions WHERE " + record.Posted + " AND last_error IS NULL" +
			" AND (expires_at IS NULL OR expires_at > ?) AND (webhook_url IS NOT NULL OR EXISTS" +
			" (SELECT 1 FROM agents a WHERE a.agent_id = subscriber_id AND a.endpoint IS NOT NULL)) AND " + in + " GROUP BY subscriber_id, made_by_key",
		Args: []any{database.Micros(tx.Now()), arg},
		Scan: func(row database.Row) error {
			var one webhooksOf
			err := row.Scan(&one.agent, &one.maker, &one.since)
			found = append(found, one)
			if one.maker != "" {
				makers = append(makers, one.maker)
			}
			return err
		},
	})
	var paused map[string]string
	if err == nil && len(makers) > 0 && s.pausedOf != nil {
		paused, err = s.pausedOf(tx, makers...)
	}
	for _, one := range found {
		if paused[one.maker] == "" {
			open(one.agent, reach.Path{Kind: reach.Webhook, Since: database.Time(one.since)})
		}
	}
	return err
}
