package messaging

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/messaging/writing"
)

// messageStream is a stream of SendMessages. For a message that breaks the rules of its fields, receiving returns a fault,
// and the stream goes on after it.
type messageStream = grpc.BidiStreamingServer[openintentv1.SendMessageRequest, openintentv1.SendMessagesResponse]

// SendMessages sends the messages of a stream and answers each, in order. This goroutine answers messages. Another one
// takes up the next messages meanwhile, so that the writer commits together what comes together.
func (s *Service) SendMessages(stream messageStream) error {
	w := newInFlight()
	ctx := stream.Context()
	forget := context.AfterFunc(ctx, func() { w.close(context.Cause(ctx)) })
	defer forget()
	defer w.close(nil)                              // for when an answer could not be sent
	go func() { w.close(s.takeUpAll(stream, w)) }() // it ends with the stream, soon after this function has returned
	for sent := range w.inOrder {                   // every message that was taken up is answered, whatever ended the stream
		if err := stream.Send(s.answer(<-sent.done)); err != nil {
			return err
		}
		w.answered(sent)
	}
	return w.reason()
}

// takeUpAll takes up what the client sends until inFlight closes. It returns nil when the client has sent everything, or
// why the client cannot be heard any more.
func (s *Service) takeUpAll(stream messageStream, w *inFlight) (err error) {
	defer fault.Recover(&err) // nobody else recovers on this goroutine
	for w.awaitRoom() {
		req, err := stream.Recv()
		var refusal *fault.Fault
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && !errors.As(err, &refusal):
			return err
		}
		if !s.takeUp(stream.Context(), w, req, err) {
			return nil
		}
	}
	return nil
}

// takeUp hands a message to the writer, unless the message is refused before. It returns false when inFlight is closed.
func (s *Service) takeUp(ctx context.Context, w *inFlight, req *openintentv1.SendMessageRequest, refused error) bool {
	var d *writing.Draft
	if refused == nil {
		d, refused = s.messageOn(ctx, req)
	}
	if refused == nil {
		refused = s.checked(d)
	}
	sent := &unanswered{done: make(chan writing.Outcome, 1)}
	if d != nil {
		sent.size = d.Size()
	}
	if !w.takeUp(sent) {
		return false
	}
	if refused == nil {
		refused = s.submitInTurn(ctx, d, sent.done)
	}
	if refused != nil {
		sent.done <- writing.Outcome{Err: refused}
	}
	return true
}

// submitInTurn refuses the message if submitting it panics, so that it is answered like any other.
func (s *Service) submitInTurn(ctx context.Context, d *writing.Draft, done chan writing.Outcome) (err error) {
	defer fault.Recover(&err)
	if err := s.piles.admit(ctx, d); err != nil {
		return err
	}
	return s.writer.SubmitInTurn(ctx, d, done)
}

// answer says what became of a message.
func (s *Service) answer(out writing.Outcome) *openintentv1.SendMessagesResponse {
	if out.Err != nil {
		return &openintentv1.SendMessagesResponse{
			Outcome: &openintentv1.SendMessagesResponse_Refusal{Refusal: s.refusal(out.Err)},
		}
	}
	return &openintentv1.SendMessagesResponse{
		Outcome: &openintentv1.SendMessagesResponse_Acknowledgement{Acknowledgement: &openintentv1.Acknowledgement{
			MessageId: out.Message.ID, CreatedAt: timestamppb.New(out.Message.CreatedAt),
		}},
	}
}
