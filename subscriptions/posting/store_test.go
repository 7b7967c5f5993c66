package posting

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/subscriptions/record"
)

// resting doubles the number of webhook subscriptions a given number of times.
func resting(t *testing.T, db *database.DB, doublings int) {
	const kept = `subscriber_id, intent_no, intent_id, event_types, webhook_url, use_endpoint, secret, acknowledge_seconds,
		max_attempts, created_at, cleared, last_number, offered_through`
	require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
		for i := range doublings {
			suffix := fmt.Sprintf("_%d", i)
			err := tx.Pipeline(database.Statement{
				SQL:  "INSERT INTO subscriptions (id, name, " + kept + ") SELECT id || ?, name || ?, " + kept + " FROM subscriptions",
				Args: []any{suffix, suffix},
			})
			if err != nil {
				return err
			}
		}
		return nil
	}))
}

func TestWhatIsDueIsFoundByAnIndexAmongTenThousand(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			db := databasetest.Open(t, database.Config{URL: databasetest.URL(t, engine)})
			require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
				_, err := record.Insert(tx, &record.Subscription{
					ID: record.IDPrefix + "1", Subscriber: "b", Name: "hook", WebhookURL: "https://example.com/hook", Secret: "whsec_",
					AcknowledgeSeconds: 30, MaxAttempts: 10, CreatedAt: tx.Now(),
				})
				return err
			}))
			resting(t, db, 14) // 16,384
			require.Contains(t, databasetest.Plan(t, db, "subscriptions", dueQuery, int64(0)), "subscriptions_post_at")
			found, due, err := (&Poster{db: db}).postedSubscriptions(t.Context())
			require.NoError(t, err)
			require.Len(t, found, 1<<14)
			require.Empty(t, due)
		})
	}
}
