package database

import "time"

// Micros returns the stored form of a time: microseconds since 1970 in UTC.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// Time returns the time of a stored value, in UTC.
func Time(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

// NullMicros is Micros for a column that may be NULL: the zero time becomes NULL.
func NullMicros(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	micros := Micros(t)
	return &micros
}

// TimeOrZero is Time for a column that may be NULL, which is the zero time.
func TimeOrZero(micros *int64) time.Time {
	if micros == nil {
		return time.Time{}
	}
	return Time(*micros)
}

// MicrosOrZero is Micros for a column in which 0 stands for no time.
func MicrosOrZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return Micros(t)
}

// NullInt returns a number for a column that may be NULL: zero becomes NULL.
func NullInt(n int64) *int64 {
	if n == 0 {
		return nil
	}
	return &n
}

// NullText returns a text for a column that may be NULL: the empty text becomes NULL.
func NullText(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
