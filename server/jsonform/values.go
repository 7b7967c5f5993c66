package jsonform

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// ParseValue reads the text of one query parameter as a value of the field (for a list: of one element). It also
// returns what is wrong with the text, or "". Only fields of plain values, enums and times can be parameters.
func ParseValue(descriptor protoreflect.FieldDescriptor, text string) (protoreflect.Value, string) {
	f, ok := planOf(descriptor.ContainingMessage()).byName[string(descriptor.Name())]
	if !ok {
		return protoreflect.Value{}, "cannot be given as a parameter."
	}
	switch {
	case descriptor.Kind() == protoreflect.StringKind:
		return protoreflect.ValueOfString(text), ""
	case descriptor.Kind() == protoreflect.EnumKind:
		number, problem := f.words.find(text)
		return protoreflect.ValueOfEnum(number), problem
	case descriptor.Kind() == protoreflect.BoolKind:
		if text != "true" && text != "false" {
			return protoreflect.Value{}, "must be true or false."
		}
		return protoreflect.ValueOfBool(text == "true"), ""
	case f.is(timestamp):
		return timestampOf(text)
	case f.nested != nil:
		return protoreflect.Value{}, "cannot be given as a parameter."
	}
	return parseNumber(f, text)
}

// parseNumber reads a number of the field's kind. An integer must be written as one: 1.0 and 1e3 are refused.
func parseNumber(f *field, text string) (protoreflect.Value, string) {
	switch f.descriptor.Kind() {
	case protoreflect.Int32Kind:
		parsed, err := strconv.ParseInt(text, 10, 32)
		return protoreflect.ValueOfInt32(int32(parsed)), integerProblem(err, math.MinInt32, math.MaxInt32)
	case protoreflect.Int64Kind:
		parsed, err := strconv.ParseInt(text, 10, 64)
		return protoreflect.ValueOfInt64(parsed), integerProblem(err, math.MinInt64, math.MaxInt64)
	case protoreflect.DoubleKind:
		parsed, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(parsed) || math.IsInf(parsed, 0) {
			return protoreflect.Value{}, "must be a number that a double can hold."
		}
		return protoreflect.ValueOfFloat64(parsed), ""
	default:
		return protoreflect.Value{}, "cannot be given as a number."
	}
}

func integerProblem(err error, lowest, highest int64) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, strconv.ErrRange):
		return "must be an integer from " + strconv.FormatInt(lowest, 10) + " to " + strconv.FormatInt(highest, 10) + "."
	default:
		return "must be an integer, without a point or an exponent."
	}
}

const timeProblem = "must be an RFC 3339 time such as 2026-02-13T10:00:00Z."

// parseTime reads an RFC 3339 time with any offset; a time without one is UTC.
func parseTime(text string) (time.Time, string) {
	text = strings.ToUpper(text) // RFC 3339 allows t and z
	when, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		when, err = time.Parse("2006-01-02T15:04:05.999999999", text)
	}
	if err != nil || timestamppb.New(when).CheckValid() != nil {
		return time.Time{}, timeProblem
	}
	return when, ""
}
