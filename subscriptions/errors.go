package subscriptions

import (
	"errors"
	"strconv"

	"openintent/fault"
)

// The refusals of this room.
var (
	errNotFound = fault.New(fault.NotFound, "SUBSCRIPTION_NOT_FOUND",
		"There is no such subscription of this caller's; check the id.")
	errNameTaken = fault.New(fault.AlreadyExists, "SUBSCRIPTION_NAME_TAKEN",
		"The agent has a subscription of that name; use it, delete it, or choose another name.")
	errTooMany = fault.New(fault.Quota, "TOO_MANY_SUBSCRIPTIONS",
		"The agent has %d subscriptions, the most that one may have; delete those that are not needed any more.", maxSubscriptions)
	errEnded = fault.New(fault.Conflict, "SUBSCRIPTION_ENDED",
		"The subscription has expired or its agent was deregistered, and it delivers no more; create another one.")
	errInUse = fault.New(fault.Conflict, "SUBSCRIPTION_IN_USE",
		"A stream receives this subscription's deliveries; end it first, or receive them there.")
	errPosted = fault.New(fault.Conflict, "SUBSCRIPTION_POSTED",
		"This subscription's deliveries are posted to a webhook; create one without a URL to receive them here.")
	errChannelClosed = fault.New(fault.Conflict, "CHANNEL_CLOSED",
		"The subscription's channel is closed and everything in it is done with; nothing more will come.")
)

// errConsumerLost tells a consumer that deliveries go to another one by now. It never leaves the room.
var errConsumerLost = errors.New("another consumer has taken over")

// notDelivered refuses to acknowledge what was not delivered yet.
func notDelivered(number int64) error {
	return fault.New(fault.Invalid, "NOT_DELIVERED",
		"Delivery %d was not made yet, so nothing was acknowledged; acknowledge numbers that were received.", number).
		With("number", strconv.FormatInt(number, 10))
}

// notADeadLetter refuses to redrive what was not given up.
func notADeadLetter(number int64) error {
	return fault.New(fault.Invalid, "NOT_A_DEAD_LETTER",
		"Delivery %d is no dead letter, so nothing was redriven; list the dead letters to see their numbers.", number).
		With("number", strconv.FormatInt(number, 10))
}
