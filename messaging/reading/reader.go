package reading

import (
	"openintent/channels"
	"openintent/intents"
)

// Reader reads the log by the rules of intents and channels.
type Reader struct {
	Intents  *intents.Service
	Channels *channels.Service
}
