package mcp

import (
	"context"
	"encoding/json"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// repomeshProfile is the name of the profile with the actions of RepoMesh's protocol.
const repomeshProfile = "repomesh"

// repomeshReads are the actions of the protocol that change nothing.
var repomeshReads = []string{"event.list", "event.inbox", "event.search", "event.thread", "task.list", "agent.list"}

// repomeshTools are the actions of RepoMesh's protocol. A refusal has that protocol's own form.
func repomeshTools(s *session) []tool {
	actions := s.door.config.Repomesh.Tools(s.caller)
	tools := make([]tool, len(actions))
	for i, action := range actions {
		does := adds
		if slices.Contains(repomeshReads, action.Name) {
			does = reads
		}
		definition := &sdk.Tool{Name: action.Name, Description: action.Description, InputSchema: action.Schema, Annotations: does.annotations()}
		tools[i] = tool{definition, func(ctx context.Context, _ *session, given json.RawMessage) (any, error) {
			answer, refused := action.Call(ctx, given)
			if refused {
				return nil, ownRefusal{answer}
			}
			return answer, nil
		}}
	}
	return tools
}

// ownRefusal is a refusal in the form of another protocol.
type ownRefusal struct{ answer any }

func (ownRefusal) Error() string { return "refused in another protocol's form" }
