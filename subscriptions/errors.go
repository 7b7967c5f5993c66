package subscriptions

import (
	"strconv"

	"openintent/internal/fault"
)

// The refusals of this room.
var (
	errTooMany = fault.New(fault.Quota, "TOO_MANY_SUBSCRIPTIONS",
		"The agent has %d subscriptions, and no agent may have more; delete those that are no longer needed.", maxSubscriptions)
	errPosted = fault.New(fault.Conflict, "SUBSCRIPTION_POSTED",
		"This subscription posts its deliveries to a webhook; create a subscription without a webhook to receive deliveries here.")
	errNotPosted = fault.New(fault.Conflict, "SUBSCRIPTION_NOT_POSTED",
		"This subscription has no webhook, so there is nothing to take over or to change; any key of its agent receives its deliveries.")
	errAcknowledgementsLost = fault.New(fault.VersionMismatch, "ACKNOWLEDGEMENTS_LOST",
		"The acknowledgements of this call may not be stored, for example because another stream took over the deliveries;"+
			" acknowledge their numbers again with AcknowledgeDeliveries, which says what became of them.")
)

// notDelivered refuses to acknowledge a delivery that was not made yet.
func notDelivered(number int64) error {
	return fault.New(fault.Invalid, "NOT_DELIVERED",
		"Delivery %d was not sent yet, so nothing was acknowledged; acknowledge only numbers that you received.", number).
		With("number", strconv.FormatInt(number, 10))
}

// comesAgain refuses to acknowledge a delivery that a replaced stream has sent and not stored. The same is true of all numbers of the
// request from this one through another.
func comesAgain(number, through int64) error {
	return fault.New(fault.VersionMismatch, "DELIVERY_COMES_AGAIN",
		"The stream that sent delivery %d was replaced before the server stored it, so nothing was acknowledged; the message comes"+
			" again, so acknowledge that delivery.", number).
		With("number", strconv.FormatInt(number, 10)).With("through", strconv.FormatInt(through, 10))
}

// notStored refuses to acknowledge a delivery that another server has not stored in time.
func notStored(number int64) error {
	return fault.New(fault.Unavailable, "DELIVERY_NOT_STORED",
		"The server that sent delivery %d has not stored it yet, so nothing was acknowledged; acknowledge it again.", number).
		With("number", strconv.FormatInt(number, 10))
}

// notADeadLetter refuses to redrive a delivery that was not given up.
func notADeadLetter(number int64) error {
	return fault.New(fault.Invalid, "NOT_A_DEAD_LETTER",
		"Delivery %d is not a dead letter, so nothing was redriven; list the dead letters to see their numbers.", number).
		With("number", strconv.FormatInt(number, 10))
}
