package documents

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/server"
)

// Each row of what one key can make grow says what bounds it. The page's bounds on what a key holds are the defaults of the settings.
func TestThePageOfGrowthSaysWhatBoundsEverything(t *testing.T) {
	page := readDocument(t, "docs/growth.md")
	for _, heading := range []string{"## In the database", "## In a server's memory and on its ports", "## In the log and in metrics"} {
		for _, row := range table(t, page, heading)[2:] {
			require.Len(t, row, 3, "%v", row)
			require.NotEmpty(t, row[1], "nothing bounds %s", row[0])
		}
	}
	cfg := server.DefaultConfig()
	for kind, bound := range map[string]int64{
		"intents": cfg.MaxIntentsPerKey, "channels": cfg.MaxChannelsPerKey, "tasks": cfg.MaxTasksPerKey,
		"subscriptions": cfg.MaxSubscriptionsPerKey, "documents of channels": cfg.MaxDocumentsPerKey,
	} {
		require.Contains(t, page, "\n| "+kind+" | "+thousands(bound)+" | ")
	}
}

// thousands writes a number with commas.
func thousands(n int64) string {
	written := ""
	for ; n >= 1000; n /= 1000 {
		written = fmt.Sprintf(",%03d", n%1000) + written
	}
	return fmt.Sprint(n) + written
}
