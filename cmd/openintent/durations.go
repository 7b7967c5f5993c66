package main

import (
	"fmt"
	"reflect"
	"regexp"
	"time"

	"github.com/alecthomas/kong"
)

// bareNumber is a duration without a unit. Its unit is the second.
var bareNumber = regexp.MustCompile(`^[+-]?(\d+(\.\d*)?|\.\d+)$`)

// parseDuration reads a duration as people write it, with units or as a number of seconds.
func parseDuration(text string) (time.Duration, error) {
	written := text
	if bareNumber.MatchString(text) {
		text += "s"
	}
	duration, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("expected a duration, such as 30 (seconds), 500ms or 1h30m, but got %q", written)
	}
	return duration, nil
}

// durations lets the parser read all flags and settings that are durations so.
var durations = kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(func(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("duration", &text); err != nil {
		return err
	}
	duration, err := parseDuration(text)
	if err == nil {
		target.SetInt(int64(duration))
	}
	return err
}))
