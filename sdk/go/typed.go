package openintent

import (
	"context"
	"fmt"
)

// AskAs asks a question and gives the payload of the first response as a T.
func AskAs[T any](ctx context.Context, channel *Channel, question Question) (T, error) {
	var answer T
	response, err := channel.AskWith(ctx, question)
	if err != nil {
		return answer, err
	}
	if err := response.Decode(&answer); err != nil {
		return answer, fmt.Errorf("the answer %s is no %T: %w", response.ID, answer, err)
	}
	return answer, nil
}
