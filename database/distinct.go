package database

import (
	"cmp"
	"slices"
)

// Distinct sorts values and leaves each once, as the arguments of In are best given.
func Distinct[T cmp.Ordered](values []T) []T {
	slices.Sort(values)
	return slices.Compact(values)
}
