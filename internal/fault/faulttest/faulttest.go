// Package faulttest checks refusals in tests.
package faulttest

import (
	"github.com/stretchr/testify/require"

	"openintent/internal/fault"
)

// Require checks the kind and the reason of a refusal, and returns the refusal.
func Require(t require.TestingT, err error, kind fault.Kind, reason string) fault.Fault {
	require.Error(t, err)
	refusal := fault.From(err)
	require.Equal(t, reason, refusal.Reason, "%v", err)
	require.Equal(t, kind, refusal.Kind)
	require.NotEmpty(t, refusal.Message)
	require.NotContains(t, refusal.Message, "lease", "the published client takes such a conflict for one over a scope")
	return *refusal
}

// RequireBadField checks that exactly the given field was refused.
func RequireBadField(t require.TestingT, err error, field string) {
	refusal := Require(t, err, fault.Invalid, "INVALID_FIELD")
	require.Len(t, refusal.Fields, 1)
	require.Equal(t, field, refusal.Fields[0].Path)
}
