package record

import (
	"errors"

	"openintent/internal/fault"
)

// The refusals that decisions about a subscription return.
var (
	ErrNotFound = fault.New(fault.NotFound, "SUBSCRIPTION_NOT_FOUND",
		"The caller has no subscription with this id; check the id.")
	ErrEnded = fault.New(fault.Conflict, "SUBSCRIPTION_ENDED",
		"The subscription delivers nothing more, because it expired or its agent was deregistered; create another one.")
	ErrNameTaken = fault.New(fault.AlreadyExists, "SUBSCRIPTION_NAME_TAKEN",
		"The agent already has a subscription with that name; use it, delete it, or choose another name.")
	ErrInUse = fault.New(fault.Conflict, "SUBSCRIPTION_IN_USE",
		"A stream is receiving this subscription's deliveries; end that stream first, or use the deliveries that it receives.")
)

// ErrConsumerLost tells a consumer that another one has taken over its deliveries. It never leaves the rooms of subscriptions.
var ErrConsumerLost = errors.New("another consumer has taken over")
