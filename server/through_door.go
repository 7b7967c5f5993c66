package server

import (
	"context"

	"google.golang.org/grpc"
)

// throughDoor is a connection within the process whose calls are known to come through a door.
type throughDoor struct{ grpc.ClientConnInterface }

type throughDoorKey struct{}

// cameThroughDoor reports whether a door makes the call.
func cameThroughDoor(ctx context.Context) bool { return ctx.Value(throughDoorKey{}) != nil }

// Invoke makes a call with one answer.
func (c throughDoor) Invoke(ctx context.Context, method string, request, response any, options ...grpc.CallOption) error {
	return c.ClientConnInterface.Invoke(context.WithValue(ctx, throughDoorKey{}, true), method, request, response, options...)
}

// NewStream begins a call with many answers.
func (c throughDoor) NewStream(
	ctx context.Context, description *grpc.StreamDesc, method string, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return c.ClientConnInterface.NewStream(context.WithValue(ctx, throughDoorKey{}, true), description, method, options...)
}
