package optional

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/internal/fault"
)

// Text returns a field with the text; an empty text leaves it unset.
func Text(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// Time returns a field with the time; a zero time leaves it unset.
func Time(at time.Time) *timestamppb.Timestamp {
	if at.IsZero() {
		return nil
	}
	return timestamppb.New(at)
}

// TimeFrom reads a field in the store's precision, which is a microsecond. An unset one is the zero time. It takes the years 1 to 9999,
// which are all that RFC 3339 can express, and refuses others with the field's name.
func TimeFrom(field string, at *timestamppb.Timestamp) (time.Time, error) {
	if at == nil {
		return time.Time{}, nil
	}
	if at.CheckValid() != nil {
		return time.Time{}, fault.BadField(field, "it must be a time in the years 1 to 9999")
	}
	return at.AsTime().Truncate(time.Microsecond), nil
}
