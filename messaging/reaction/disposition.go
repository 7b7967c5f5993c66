package reaction

import (
	"maps"
	"slices"

	"openintent/messaging/message"
)

// dispositions are what follows from signals, as the C2A draft has it. Nothing follows from the other signals.
var dispositions = map[string]string{
	"seen": "acknowledged", "agree": "acknowledged",
	"working": message.DispositionClaimed, "claimed": message.DispositionClaimed,
	"queued": "deferred", "blocked": "deferred",
	"done": message.DispositionResponded, "declined": "ignored",
}

// Disposition returns what an agent did with a message when it set a signal; empty if nothing follows from the signal.
func Disposition(signal string) string { return dispositions[signal] }

// Disposing returns the signals from which a disposition follows, in alphabetical order.
func Disposing() []string { return slices.Sorted(maps.Keys(dispositions)) }
