package server

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"openintent/caller"
)

// readOptions reads the options that may follow a key in the short form: name or name=value, separated by semicolons,
// each name once.
func (s *keySettings) readOptions(list string) (err error) {
	if list == "" {
		return nil
	}
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
		case name == "messages_per_second":
			s.rates.messages, err = parseRate(name, value)
		case name == "bytes_per_second":
			s.rates.bytes, err = parseRate(name, value)
		default:
			// The message does not show the text, which may be part of a key that contains a semicolon.
			return errors.New(`only the options "sdk", "roles=role-a|role-b" (or "roles=*"), "messages_per_second=N" and ` +
				`"bytes_per_second=N" may follow a semicolon`)
		}
		if err != nil {
			return err
		}
		given[name] = true
	}
	return nil
}

// ownRates are the rates that are set for one key; a nil rate means that the rate of all keys applies.
type ownRates struct{ messages, bytes *int64 }

func parseRate(name, value string) (*int64, error) {
	rate, err := strconv.ParseInt(value, 10, 64)
	if err != nil || rate < 0 {
		return nil, fmt.Errorf("%s must be a whole number, 0 for no bound", name)
	}
	return &rate, nil
}

func (r ownRates) check() error {
	for _, rate := range []*int64{r.messages, r.bytes} {
		if rate != nil && *rate < 0 {
			return errors.New("messages_per_second and bytes_per_second must not be negative; 0 is no bound")
		}
	}
	return nil
}

// or returns a key's rates. The rates of all keys fill in for those that are not set.
func (r ownRates) or(all caller.Rates) caller.Rates {
	if r.messages != nil {
		all.MessagesPerSecond = *r.messages
	}
	if r.bytes != nil {
		all.BytesPerSecond = *r.bytes
	}
	return all
}
