package database

import (
	"cmp"
	"slices"
)

// Distinct sorts values and removes duplicates, which is the best form for the arguments of In.
func Distinct[T cmp.Ordered](values []T) []T {
	slices.Sort(values)
	return slices.Compact(values)
}
