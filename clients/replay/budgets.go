package replay

import (
	"context"

	openintentv1 "openintent/gen/openintent/v1"
)

// budgetsOf returns the turn budgets of an intent's channels, by id.
func budgetsOf(ctx context.Context, clients Clients, intentID string) (map[string]int, error) {
	budgets := make(map[string]int)
	for request := (&openintentv1.ListChannelsRequest{IntentId: intentID}); ; {
		page, err := clients.Channels.ListChannels(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, channel := range page.GetChannels() {
			budgets[channel.GetId()] = int(channel.GetOptions().GetTurnBudget())
		}
		if page.NextCursor == nil {
			return budgets, nil
		}
		request.Cursor = page.NextCursor
	}
}
