package server

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"openintent/internal/caller"
)

// maxScope is how many intents a key may name, and how many channels.
const maxScope = 100

// readOptions reads the options that may follow a key in the short form: name or name=value, separated by semicolons,
// each name once.
func (s *keySettings) readOptions(list string) (err error) {
	if list == "" {
		return nil
	}
	var intents, channels []string
	given := make(map[string]bool)
	for option := range strings.SplitSeq(list, ";") {
		name, value, hasValue := strings.Cut(option, "=")
		if given[name] {
			return fmt.Errorf("the option %s is given twice", name)
		}
		switch {
		case name == "sdk" && !hasValue:
			s.compatibility = true
		case name == "roles" && value != "":
			s.roles = strings.Split(value, "|")
		case name == "intents" && value != "":
			intents = strings.Split(value, "|")
		case name == "channels" && value != "":
			channels = strings.Split(value, "|")
		case name == "messages_per_second":
			s.rates.messages, err = parseRate(name, value)
		case name == "bytes_per_second":
			s.rates.bytes, err = parseRate(name, value)
		case name == "rows_per_second":
			s.rates.rows, err = parseRate(name, value)
		case name == "stored_bytes_per_second":
			s.rates.storedBytes, err = parseRate(name, value)
		default:
			// The message does not show the text, which may be part of a key that contains a semicolon.
			return errors.New(`only the options "sdk", "roles=role-a|role-b" (or "roles=*"), "intents=ID|ID", "channels=ID|ID", "messages_per_second=N", ` +
				`"bytes_per_second=N", "rows_per_second=N" and "stored_bytes_per_second=N" may follow a semicolon`)
		}
		if err != nil {
			return err
		}
		given[name] = true
	}
	s.scope = caller.NewScope(intents, channels)
	return nil
}

// checkScope refuses a scope that no key may have.
func checkScope(s keySettings) error {
	switch {
	case s.scope == nil:
		return nil
	case len(s.agents) == 0:
		return errors.New("a key with intents or channels names the agents that it acts as; only the operator's key is not bound")
	case slices.Contains(s.scope.Intents, "") || slices.Contains(s.scope.Channels, ""):
		return errors.New("the id of an intent or a channel must not be empty")
	case len(s.scope.Intents) > maxScope || len(s.scope.Channels) > maxScope:
		return fmt.Errorf("a key has at most %d intents and as many channels", maxScope)
	}
	return nil
}

// ownRates are the rates that are set for one key; a nil rate means that the rate of all keys applies.
type ownRates struct{ messages, bytes, rows, storedBytes *int64 }

func parseRate(name, value string) (*int64, error) {
	rate, err := strconv.ParseInt(value, 10, 64)
	if err != nil || rate < 0 {
		return nil, fmt.Errorf("%s must be a whole number, 0 for no bound", name)
	}
	return &rate, nil
}

func (r ownRates) check() error {
	for _, rate := range []*int64{r.messages, r.bytes, r.rows, r.storedBytes} {
		if rate != nil && *rate < 0 {
			return errors.New("messages_per_second, bytes_per_second, rows_per_second and stored_bytes_per_second must not be negative; 0 is no bound")
		}
	}
	return nil
}

// or returns a key's rates. The rates of all keys fill in for those that are not set.
func (r ownRates) or(all caller.Rates) caller.Rates {
	for _, rate := range []struct {
		own *int64
		all *int64
	}{
		{r.messages, &all.MessagesPerSecond}, {r.bytes, &all.BytesPerSecond},
		{r.rows, &all.RowsPerSecond}, {r.storedBytes, &all.StoredBytesPerSecond},
	} {
		if rate.own != nil {
			*rate.all = *rate.own
		}
	}
	return all
}
