package scenarios

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	openintent "openintent/sdk/go"
)

// compare checks that a value has everything that is expected: the named members of an object, and for a list either
// what compareList checks or its elements one by one.
func compare(path string, expected, came any) error {
	switch expected := expected.(type) {
	case map[string]any:
		if list, ok := came.([]any); ok {
			return compareList(path, expected, list)
		}
		object, ok := came.(map[string]any)
		if !ok {
			return differ(path, expected, came)
		}
		for name, member := range expected {
			if err := compare(path+"."+name, member, object[name]); err != nil {
				return err
			}
		}
		return nil
	case []any:
		list, ok := came.([]any)
		if !ok || len(list) != len(expected) {
			return differ(path, expected, came)
		}
		for i, element := range expected {
			if err := compare(fmt.Sprintf("%s[%d]", path, i), element, list[i]); err != nil {
				return err
			}
		}
		return nil
	}
	if !reflect.DeepEqual(expected, came) {
		return differ(path, expected, came)
	}
	return nil
}

func differ(path string, expected, came any) error {
	return fmt.Errorf("%s is %v instead of %v", strings.TrimPrefix(path, "."), came, expected)
}

// compareList checks a list by its length, its payloads, senders and ids.
func compareList(path string, expected map[string]any, list []any) error {
	for rule, wanted := range expected {
		var err error
		switch rule {
		case "count":
			err = compare(path+" count", wanted, float64(len(list)))
		case "min_count":
			if least, ok := wanted.(float64); !ok || float64(len(list)) < least {
				err = differ(path+" count", fmt.Sprintf("at least %v", wanted), len(list))
			}
		case "payloads":
			err = compare(path+" payloads", wanted, members(list, "payload"))
		case "payloads_unordered":
			err = compareUnordered(path+" payloads", wanted, members(list, "payload"))
		case "senders_unordered":
			err = compareUnordered(path+" senders", wanted, members(list, "sender"))
		case "distinct_ids":
			distinct := make(map[any]bool)
			for _, id := range members(list, "id") {
				distinct[id] = true
			}
			err = compare(path+" distinct ids", wanted, len(distinct) == len(list))
		default:
			err = fmt.Errorf("the runner does not know the expectation %q for a list", rule)
		}
		if err != nil {
			return fmt.Errorf("%w; the list is %v", err, list)
		}
	}
	return nil
}

func members(list []any, name string) []any {
	all := make([]any, len(list))
	for i, element := range list {
		object, _ := element.(map[string]any)
		all[i] = object[name]
	}
	return all
}

// compareUnordered checks that every expected element has its own match in the list, and that the list has no other
// elements.
func compareUnordered(path string, expected any, came []any) error {
	wanted, ok := expected.([]any)
	if !ok || len(wanted) != len(came) {
		return differ(path, expected, came)
	}
	left := came
	for _, element := range wanted {
		found := -1
		for i := range left {
			if compare("", element, left[i]) == nil {
				found = i
				break
			}
		}
		if found < 0 {
			return differ(path, expected, came)
		}
		left = append(append([]any{}, left[:found]...), left[found+1:]...)
	}
	return nil
}

// classes maps the names that error classes have in all languages to the SDK's sentinels.
var classes = map[string]error{
	"InvalidArgumentError": openintent.ErrInvalidArgument, "UnauthenticatedError": openintent.ErrUnauthenticated,
	"PermissionDeniedError": openintent.ErrPermissionDenied, "NotFoundError": openintent.ErrNotFound,
	"AlreadyExistsError": openintent.ErrAlreadyExists, "FailedPreconditionError": openintent.ErrFailedPrecondition,
	"AbortedError": openintent.ErrAborted, "ResourceExhaustedError": openintent.ErrResourceExhausted,
	"UnavailableError": openintent.ErrUnavailable, "ChannelClosedError": openintent.ErrChannelClosed,
	"IntentEndedError": openintent.ErrIntentEnded, "MessageExpiredError": openintent.ErrMessageExpired,
	"ChannelNotFoundError": openintent.ErrChannelNotFound, "MessageNotFoundError": openintent.ErrMessageNotFound,
	"IntentNotFoundError": openintent.ErrIntentNotFound, "NotAMemberError": openintent.ErrNotAMember,
	"TargetNotAMemberError": openintent.ErrTargetNotAMember, "SenderMismatchError": openintent.ErrSenderMismatch,
	"ChannelNameTakenError": openintent.ErrChannelNameTaken, "ClaimedError": openintent.ErrClaimed,
	"ClaimLostError": openintent.ErrClaimLost, "AnsweredError": openintent.ErrAnswered,
	"DeclinedError": openintent.ErrDeclined, "MessageDeletedError": openintent.ErrMessageDeleted,
}

func isOfClass(class string, err error) (bool, error) {
	switch class {
	case "":
		return true, nil
	case "OpenIntentError":
		var refusal *openintent.Error
		return errors.As(err, &refusal), nil
	case "MessageTimeoutError":
		var late *openintent.MessageTimeoutError
		return errors.As(err, &late), nil
	case "RemoteError":
		var remote *openintent.RemoteError
		return errors.As(err, &remote), nil
	}
	sentinel, known := classes[class]
	if !known {
		return false, fmt.Errorf("the runner does not know the class %q", class)
	}
	return errors.Is(err, sentinel), nil
}

func compareError(expected ErrorFacts, came error) error {
	if came == nil {
		return fmt.Errorf("it succeeded instead of failing with %+v", expected)
	}
	matches, err := isOfClass(expected.Class, came)
	if err != nil {
		return err
	}
	var refusal *openintent.Error
	if !matches || !errors.As(came, &refusal) {
		return fmt.Errorf("it failed with %w (%T) instead of %s", came, came, expected.Class)
	}
	id := messageIDOf(came)
	switch {
	case expected.Reason != "" && refusal.Reason != expected.Reason:
		return fmt.Errorf("it failed with the reason %s instead of %s", refusal.Reason, expected.Reason)
	case !strings.Contains(refusal.Message, expected.MessageContains):
		return fmt.Errorf("it failed with %q, which does not contain %q", refusal.Message, expected.MessageContains)
	case expected.MessageID == "any" && id == "", expected.MessageID != "" && expected.MessageID != "any" && id != expected.MessageID:
		return fmt.Errorf("it failed about the message %q instead of %q", id, expected.MessageID)
	}
	return nil
}

// messageIDOf returns the id of the question that a failure is about.
func messageIDOf(err error) string {
	var late *openintent.MessageTimeoutError
	var refusal *openintent.Error
	switch {
	case errors.As(err, &late):
		return late.MessageID
	case errors.As(err, &refusal):
		return refusal.MessageID()
	}
	return ""
}
