package openintent

import (
	"context"
	"errors"

	"google.golang.org/grpc"

	openintentv1 "openintent/gen/openintent/v1"
)

// IntentStatus is the progress of an intent.
type IntentStatus string

// These are the statuses of intents.
const (
	IntentDraft                  IntentStatus = "draft"
	IntentActive                 IntentStatus = "active"
	IntentBlocked                IntentStatus = "blocked"
	IntentCompleted              IntentStatus = "completed"
	IntentAbandoned              IntentStatus = "abandoned"
	IntentSuspendedAwaitingInput IntentStatus = "suspended_awaiting_input"
)

var intentStatuses = wordsOf(map[openintentv1.IntentStatus]IntentStatus{
	openintentv1.IntentStatus_INTENT_STATUS_DRAFT:                    IntentDraft,
	openintentv1.IntentStatus_INTENT_STATUS_ACTIVE:                   IntentActive,
	openintentv1.IntentStatus_INTENT_STATUS_BLOCKED:                  IntentBlocked,
	openintentv1.IntentStatus_INTENT_STATUS_COMPLETED:                IntentCompleted,
	openintentv1.IntentStatus_INTENT_STATUS_ABANDONED:                IntentAbandoned,
	openintentv1.IntentStatus_INTENT_STATUS_SUSPENDED_AWAITING_INPUT: IntentSuspendedAwaitingInput,
})

// AccessPolicy decides what agents may do when no entry of an intent's access control list names them.
type AccessPolicy string

// These are the policies.
const (
	// AccessOpen lets them read.
	AccessOpen AccessPolicy = "open"
	// AccessClosed lets them do nothing.
	AccessClosed AccessPolicy = "closed"
)

var accessPolicies = wordsOf(map[openintentv1.AccessPolicy]AccessPolicy{
	openintentv1.AccessPolicy_ACCESS_POLICY_OPEN:   AccessOpen,
	openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED: AccessClosed,
})

// Intent is what agents work on together; every channel belongs to an intent.
type Intent struct {
	ID          string
	Title       string
	Description string
	Status      IntentStatus
	CreatedBy   string
	State       map[string]any
	Version     int64
}

// IntentOptions describe a new intent.
type IntentOptions struct {
	Title       string
	Description string
	State       map[string]any
	// Status is IntentDraft when it is empty.
	Status IntentStatus
	// DefaultPolicy creates the intent with an access control list. When it is empty, the intent has no list, and the
	// server's setting decides what everyone may do.
	DefaultPolicy AccessPolicy
}

func intentOf(i *openintentv1.Intent) *Intent {
	return &Intent{
		ID: i.GetId(), Title: i.GetTitle(), Description: i.GetDescription(), Status: intentStatuses.word(i.GetStatus()),
		CreatedBy: i.GetCreatedBy(), State: i.GetState().AsMap(), Version: i.GetVersion(),
	}
}

// CreateIntent creates an intent. It is not made again when its answer is lost, because that could create a second
// intent.
func (c *Client) CreateIntent(ctx context.Context, options IntentOptions) (*Intent, error) {
	state, err := encode(options.State)
	if err != nil {
		return nil, err
	}
	request := &openintentv1.CreateIntentRequest{
		Title: options.Title, Description: optional(options.Description), State: state,
		Status: intentStatuses.number(options.Status), DefaultPolicy: accessPolicies.number(options.DefaultPolicy),
	}
	created, err := once(ctx, c, func(ctx context.Context, option grpc.CallOption) (*openintentv1.Intent, error) {
		return c.raw.Intents.CreateIntent(ctx, request, option)
	})
	if err != nil {
		return nil, err
	}
	return intentOf(created), nil
}

// OpenIntent finds the intent of a title, or makes it, so that agents which agree on a title need no ids. The server takes one that is the
// caller's or names it first, then another one that the caller may read, and makes an active one if there is none: for that one are the
// description and the default policy, and nothing else of the options. Of several it takes none, and the error is ErrAlreadyExists.
func (c *Client) OpenIntent(ctx context.Context, options IntentOptions) (*Intent, error) {
	request := &openintentv1.OpenIntentRequest{
		Title: options.Title, Description: optional(options.Description), DefaultPolicy: accessPolicies.number(options.DefaultPolicy),
	}
	opened, err := repeated(ctx, c, func(ctx context.Context) (*openintentv1.OpenIntentResponse, error) {
		return c.raw.Intents.OpenIntent(ctx, request)
	})
	if err != nil {
		return nil, err
	}
	return intentOf(opened.GetIntent()), nil
}

// GetIntent returns an intent, or the client's own when intentID is empty.
func (c *Client) GetIntent(ctx context.Context, intentID string) (*Intent, error) {
	intentID, err := c.options.intent("GetIntent", intentID)
	if err != nil {
		return nil, err
	}
	intent, err := repeated(ctx, c, func(ctx context.Context) (*openintentv1.Intent, error) {
		return c.raw.Intents.GetIntent(ctx, &openintentv1.GetIntentRequest{IntentId: intentID})
	})
	if err != nil {
		return nil, err
	}
	return intentOf(intent), nil
}

// SetIntentStatus changes an intent's status, whatever its version. It returns ErrInvalidArgument when the intent
// cannot change from its current status to the new one.
func (c *Client) SetIntentStatus(ctx context.Context, intentID string, status IntentStatus) (*Intent, error) {
	number := intentStatuses.number(status)
	if number == nil {
		return nil, &Error{Code: "INVALID_ARGUMENT", Reason: "INVALID_FIELD", Message: "A status must be given."}
	}
	attempts := 0
	for {
		current, err := c.GetIntent(ctx, intentID)
		if err != nil {
			return nil, err
		}
		changed, err := repeated(ctx, c, func(ctx context.Context) (*openintentv1.Intent, error) {
			attempts++
			return c.raw.Intents.SetIntentStatus(ctx, &openintentv1.SetIntentStatusRequest{
				IntentId: intentID, Status: *number, ExpectedVersion: &current.Version,
			})
		})
		if err == nil {
			return intentOf(changed), nil
		}
		if attempts > 1 { // an attempt whose answer was lost may have changed the status
			if current, err := c.GetIntent(ctx, intentID); err != nil || current.Status == status {
				return current, err
			}
		}
		if !errors.Is(err, ErrAborted) {
			return nil, err
		}
	}
}
