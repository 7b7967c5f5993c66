package openintent

import "context"

// AskAs asks a question and returns the payload of the first response as a T, or a *PayloadError when it is none.
func AskAs[T any](ctx context.Context, channel *Channel, question Question) (T, error) {
	var answer T
	response, err := channel.AskWith(ctx, question)
	if err != nil {
		return answer, err
	}
	return answer, response.Decode(&answer)
}

// HandleAs makes a Handler from a function that takes the payload as a Q and answers with an A. A payload that is not a Q makes
// the handler fail with a *PayloadError, which Ask reports as a *RemoteError that is ErrPayload; a nil map or pointer sends no answer.
func HandleAs[Q, A any](handle func(ctx context.Context, question Q, message *Message) (A, error)) Handler {
	return func(ctx context.Context, message *Message) (any, error) {
		var question Q
		if err := message.Decode(&question); err != nil {
			return nil, err
		}
		answer, err := handle(ctx, question, message)
		if err != nil {
			return nil, err
		}
		return answer, nil
	}
}
