package server

import (
	"context"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"openintent/internal/caller"
	"openintent/reach"
)

// patienceField is the field by which a request says how long its call may wait.
const patienceField = "wait_seconds"

// asksToWait reports whether a call with one answer may wait with this request. A method whose requests have no wait_seconds
// always waits, as Ask does.
func (m *method) asksToWait(request proto.Message) bool {
	if m.patience == nil {
		return true
	}
	asked := request.ProtoReflect().Get(m.patience)
	if m.patience.Kind() == protoreflect.DoubleKind {
		return asked.Float() > 0
	}
	return asked.Int() > 0
}

// beginWait counts a call that waits, or refuses it when there are too many, before the service sees its request. What waits
// for a door's request that is counted already is not counted again.
func (i *interceptors) beginWait(ctx context.Context, call *call, request proto.Message) (err error) {
	if !call.method.waits || call.streaming || !call.method.asksToWait(request) || ctx.Value(countedWait{}) != nil {
		return nil
	}
	call.endWait, err = i.limits.waits.enter(ctx)
	return err
}

// countedWait is set in the context of what a door calls while it waits.
type countedWait struct{}

// doorWaits counts the waits of a door's request.
type doorWaits struct {
	waits *limit
	who   caller.Caller
	paths doorPaths
}

// Begin counts a wait of the request's caller, or refuses it.
func (d doorWaits) Begin(ctx context.Context) (waiting context.Context, end func(), _ error) {
	leave, err := d.waits.enter(caller.NewContext(ctx, d.who))
	if err != nil {
		return ctx, nil, err
	}
	shut := d.paths.Open(string(reach.Wait), nil)
	return context.WithValue(ctx, countedWait{}, true), func() { shut(); leave() }, nil
}
