package main

import (
	"context"
	"log/slog"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// watched is a connection that says in the log when calls no longer reach the server, and when they reach it again.
type watched struct {
	grpc.ClientConnInterface
	log  *slog.Logger
	away atomic.Bool
}

// Invoke makes a call with one answer.
func (w *watched) Invoke(ctx context.Context, method string, request, response any, options ...grpc.CallOption) error {
	err := w.ClientConnInterface.Invoke(ctx, method, request, response, options...)
	w.saw(ctx, err)
	return err
}

// NewStream begins a call with many answers.
func (w *watched) NewStream(
	ctx context.Context, description *grpc.StreamDesc, method string, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	stream, err := w.ClientConnInterface.NewStream(ctx, description, method, options...)
	if err != nil {
		w.saw(ctx, err)
	}
	return stream, err
}

// saw notes how a call ended. One that its caller gave up says nothing about the server.
func (w *watched) saw(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil:
	case status.Code(err) == codes.Unavailable:
		if w.away.CompareAndSwap(false, true) {
			w.log.Warn("the server is away; calls are refused until it is back", "reason", status.Convert(err).Message())
		}
	case w.away.CompareAndSwap(true, false):
		w.log.Info("the server is back")
	}
}
