package workflows

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
)

// The constraints of an intent that was made from a file name the workflow that it belongs to, as {"workflow": {"name": ...}}.
// Constraints never change, so no agent that works on the intent can remove this mark.
const (
	markKey  = "workflow"
	markName = "name"
)

// intent finds the intent that the channels belong to, or makes it.
func (a *application) intent(ctx context.Context) (*IntentResult, error) {
	id := a.options.IntentID
	if id == "" {
		id = a.file.IntentID
	}
	if id != "" {
		return a.namedIntent(ctx, id)
	}
	if a.file.Title == "" {
		return nil, Problems{{a.file.Name, Position{1, 1},
			"the file names no intent; give intent.title, info.name or intent.id, or name one with --intent."}}
	}
	earlier, err := a.earlierIntent(ctx)
	switch {
	case err != nil:
		return nil, err
	case earlier != nil:
		return &IntentResult{ActionNone, earlier.GetId(), earlier.GetTitle()}, nil
	case a.options.DryRun:
		return &IntentResult{Action: ActionCreate, Title: a.file.Title}, nil
	}
	return a.newIntent(ctx)
}

// namedIntent gets an intent that must exist. It refuses an intent that has ended, so that a dry run reports this too.
func (a *application) namedIntent(ctx context.Context, id string) (*IntentResult, error) {
	intent, err := a.clients.Intents.GetIntent(ctx, &openintentv1.GetIntentRequest{IntentId: id}, anySize)
	if err != nil {
		return nil, &CallError{Doing: "intent " + quoted(id), cause: err}
	}
	if ended(intent) {
		return nil, fmt.Errorf("intent %s: %w", quoted(id), ErrIntentEnded)
	}
	return &IntentResult{ActionNone, intent.GetId(), intent.GetTitle()}, nil
}

// intentPage is how many intents one call lists.
const intentPage = 100

// earlierIntent finds the oldest intent that an earlier run made and that has not ended; it returns nil if there is none. It
// lists intents of every status, because it must not miss an intent whose status changes meanwhile.
func (a *application) earlierIntent(ctx context.Context) (found *openintentv1.Intent, err error) {
	var creators []string
	limit := int32(intentPage)
	for cursor := (*string)(nil); ; {
		page, err := a.clients.Intents.ListIntents(ctx, &openintentv1.ListIntentsRequest{Limit: &limit, Cursor: cursor}, anySize)
		if err != nil {
			return nil, &CallError{Doing: "looking for the workflow's intent", cause: err}
		}
		for _, intent := range page.GetIntents() {
			switch {
			case ended(intent) || !a.marked(intent):
			case found == nil:
				found = intent
			case found.GetCreatedBy() != intent.GetCreatedBy():
				creators = append(creators, intent.GetId()+" of "+intent.GetCreatedBy())
			}
		}
		if cursor = page.NextCursor; cursor == nil {
			break
		}
	}
	if len(creators) > 0 {
		return nil, fmt.Errorf("several agents have made intents from workflow %s (%s of %s, %s); name one with --intent, or say whom to act as with --agent",
			quoted(a.file.Workflow), found.GetId(), found.GetCreatedBy(), strings.Join(creators, ", "))
	}
	return found, nil
}

// marked reports whether an intent was made from this workflow, and by the caller if the caller's agent is known.
func (a *application) marked(intent *openintentv1.Intent) bool {
	if a.options.Agent != "" && intent.GetCreatedBy() != a.options.Agent {
		return false
	}
	mark := intent.GetConstraints().GetFields()[markKey].GetStructValue()
	return mark.GetFields()[markName].GetStringValue() == a.file.Workflow
}

// newIntent makes the intent. It is active from the beginning, because its channels are meant to be used.
func (a *application) newIntent(ctx context.Context) (*IntentResult, error) {
	mark, err := structpb.NewStruct(map[string]any{markKey: map[string]any{markName: a.file.Workflow}})
	if err != nil {
		return nil, err
	}
	req := &openintentv1.CreateIntentRequest{
		Title: a.file.Title, Constraints: mark, Status: openintentv1.IntentStatus_INTENT_STATUS_ACTIVE.Enum(),
	}
	if a.file.Description != "" {
		req.Description = &a.file.Description
	}
	created, err := a.clients.Intents.CreateIntent(ctx, req, anySize)
	if err != nil {
		return nil, &CallError{Doing: "making the intent " + quoted(a.file.Title), cause: err}
	}
	return &IntentResult{ActionCreate, created.GetId(), created.GetTitle()}, nil
}

func ended(intent *openintentv1.Intent) bool {
	switch intent.GetStatus() {
	case openintentv1.IntentStatus_INTENT_STATUS_COMPLETED, openintentv1.IntentStatus_INTENT_STATUS_ABANDONED:
		return true
	default:
		return false
	}
}
