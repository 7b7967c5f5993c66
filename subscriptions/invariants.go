package subscriptions

import "openintent/internal/database"

// Invariants are the rules that the stored rows of this room keep.
func Invariants() []database.Invariant {
	return []database.Invariant{
		database.Refers("subscription_positions", "subscriptions", "subscription_no"),
		database.Refers("subscription_positions", "intents", "intent_no"),
		database.Refers("subscription_deliveries", "subscriptions", "subscription_no"),
		database.Refers("subscription_waiting", "subscriptions", "subscription_no"),
		{
			Rule:   "only a subscription with a webhook, made with a key, has a subject",
			Of:     "subscriptions",
			Broken: "FROM subscriptions s WHERE s.made_by_subject IS NOT NULL AND (s.made_by_key IS NULL OR s.webhook_url IS NULL AND NOT s.use_endpoint)",
			At:     []string{"s.id"},
		},
		{
			Rule: "no subscription has gathered beyond a log",
			Of:   "subscription_positions",
			Broken: `FROM subscription_positions p JOIN subscriptions s ON s.subscription_no = p.subscription_no
				JOIN intent_heads h ON h.intent_no = p.intent_no WHERE p.position > h.last_position`,
			At: []string{"s.id", "p.intent_no", "p.position", "h.last_position"},
		},
		{
			Rule: "each delivery lies before the position up to which its subscription has gathered",
			Of:   "subscription_deliveries",
			Broken: `FROM subscription_deliveries d JOIN subscriptions s ON s.subscription_no = d.subscription_no
				JOIN subscription_positions p ON p.subscription_no = d.subscription_no AND p.intent_no = d.intent_no
				WHERE d.position > p.position`,
			At: []string{"s.id", "d.number", "d.intent_no", "d.position", "p.position"},
		},
		{
			Rule: "each delivery has a number that its subscription has given",
			Of:   "subscription_deliveries",
			Broken: `FROM subscription_deliveries d JOIN subscriptions s ON s.subscription_no = d.subscription_no
				WHERE d.number < 1 OR d.number > s.last_number AND d.number > s.reserved_through`,
			At: []string{"s.id", "d.number"},
		},
		{
			Rule:   "no subscription has delivered a number that it has not given",
			Of:     "subscriptions",
			Broken: "FROM subscriptions s WHERE s.offered_through > s.last_number AND s.offered_through > s.reserved_through",
			At:     []string{"s.id", "s.offered_through", "s.last_number"},
		},
	}
}
