package server

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"openintent/caller"
)

// keyOptions are what may follow a key of the short form, each after a semicolon.
type keyOptions struct {
	compatibility bool
	rates         ownRates
}

// parseKeyOptions reads options, NAME or NAME=VALUE, from their list with semicolons between them; it may be empty.
func parseKeyOptions(list string) (options keyOptions, err error) {
	if list == "" {
		return options, nil
	}
	for _, option := range strings.Split(list, ";") {
		name, value, _ := strings.Cut(option, "=")
		switch {
		case option == "sdk":
			options.compatibility = true
		case name == "messages_per_second":
			options.rates.messages, err = parseRate(name, value)
		case name == "bytes_per_second":
			options.rates.bytes, err = parseRate(name, value)
		default:
			err = errors.New(`only "sdk", "messages_per_second=N" and "bytes_per_second=N" may follow a semicolon`)
		}
		if err != nil {
			return keyOptions{}, err
		}
	}
	return options, nil
}

// ownRates are those that are set for one key; nil where those of all keys hold.
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

// or gives a key's rates, where those of all keys hold for what is not set.
func (r ownRates) or(all caller.Rates) caller.Rates {
	if r.messages != nil {
		all.MessagesPerSecond = *r.messages
	}
	if r.bytes != nil {
		all.BytesPerSecond = *r.bytes
	}
	return all
}
