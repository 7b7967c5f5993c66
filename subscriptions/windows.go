package subscriptions

import (
	"time"

	"openintent/messaging/reading"
	"openintent/subscriptions/waiting"
)

// windowed reports whether the subscription lets anything wait.
func (s *subscription) windowed() bool { return s.compose || s.digestSeconds > 0 }

// windowRules returns the rules by which messages wait.
func (s *subscription) windowRules() waiting.Rules {
	rules := waiting.Rules{
		Longest: waiting.Longest, Digest: time.Duration(s.digestSeconds) * time.Second, MaxChars: int(s.maxChars),
	}
	if s.compose {
		rules.Silence = waiting.Silence
	}
	return rules
}

// waitingEntry returns an entry as the rules of waiting know it.
func waitingEntry(e reading.Entry) waiting.Entry {
	return waiting.Entry{
		IntentNo: e.IntentNo, ChannelNo: e.ChannelNo, Position: e.Position,
		IntentID: e.IntentID, ChannelID: e.ChannelID, ChannelName: e.ChannelName, Message: e.Message, Attention: e.Attention,
	}
}

func waitingEntries(entries []reading.Entry) []waiting.Entry {
	all := make([]waiting.Entry, len(entries))
	for i, e := range entries {
		all[i] = waitingEntry(e)
	}
	return all
}
