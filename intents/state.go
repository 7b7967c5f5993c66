package intents

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/internal/jsonvalue"
)

// stateOperations reads how a request changes an intent's state: by patches, or by keys to set at the top level, each of which
// becomes one patch.
func stateOperations(req *openintentv1.PatchIntentStateRequest) ([]jsonvalue.Operation, error) {
	patches := req.GetPatches()
	switch {
	case len(patches) > 0 && req.State != nil:
		return nil, fault.BadField("state", "send patches or state, not both.")
	case len(patches) == 0 && req.State == nil:
		return nil, fault.BadField("patches", "send at least one patch, or the keys to set as state.")
	case req.State != nil:
		return setEachKey(req.GetState())
	}
	operations := make([]jsonvalue.Operation, len(patches))
	for i, patch := range patches {
		operation, err := operationOf(patch, fmt.Sprintf("patches[%d]", i))
		if err != nil {
			return nil, err
		}
		operations[i] = operation
	}
	return operations, nil
}

// operationOf reads one patch. Apply checks its operation and its path later.
func operationOf(patch *openintentv1.StatePatch, path string) (jsonvalue.Operation, error) {
	operation := jsonvalue.Operation{Op: patch.GetOp(), Path: patch.GetPath()}
	if err := caller.CheckText(path+".path", operation.Path); err != nil {
		return operation, err
	}
	if patch.GetValue() == nil || operation.Op == jsonvalue.OpRemove {
		return operation, nil
	}
	const key = "value"
	wrapped, err := jsonvalue.FromStruct(
		&structpb.Struct{Fields: map[string]*structpb.Value{key: patch.GetValue()}}, path)
	if err == nil {
		operation.Value, _ = wrapped.Member(key)
	}
	return operation, err
}

func setEachKey(state *structpb.Struct) ([]jsonvalue.Operation, error) {
	object, err := jsonvalue.FromStruct(state, "state")
	if err != nil {
		return nil, err
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	operations := []jsonvalue.Operation{}
	for _, key := range slices.Sorted(maps.Keys(state.GetFields())) {
		value, _ := object.Member(key)
		operations = append(operations, jsonvalue.Operation{Op: jsonvalue.OpSet, Path: "/" + escape.Replace(key), Value: value})
	}
	return operations, nil
}

// operationsText writes operations as the list of patches that events show.
func operationsText(operations []jsonvalue.Operation) []byte {
	text := []byte{'['}
	for i, operation := range operations {
		if i > 0 {
			text = append(text, ',')
		}
		var patch jsonvalue.Builder
		patch.String("op", operation.Op).String("path", operation.Path)
		if operation.Op != jsonvalue.OpRemove {
			patch.Raw("value", operation.Value)
		}
		text = append(text, patch.Object()...)
	}
	return append(text, ']')
}
