package repomesh

import (
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

func TestStepsBetweenStatuses(t *testing.T) {
	of := func(words ...string) (statuses []openintentv1.TaskStatus) {
		for _, word := range words {
			status, err := taskStatusOf(word)
			require.NoError(t, err)
			statuses = append(statuses, status)
		}
		return statuses
	}
	for _, row := range []struct {
		from, to string
		through  []openintentv1.TaskStatus
	}{
		{"open", "in_progress", nil}, {"claimed", "in_progress", nil}, {"blocked", "in_progress", nil}, {"claimed", "completed", nil},
		{"open", "completed", of("in_progress")}, {"blocked", "completed", of("in_progress")}, {"in_progress", "completed", nil},
		{"open", "blocked", of("in_progress")}, {"claimed", "blocked", of("in_progress")}, {"claimed", "failed", of("in_progress")},
		{"in_progress", "open", of("failed")}, {"claimed", "open", of("in_progress", "failed")}, {"blocked", "open", of("in_progress", "failed")},
		{"failed", "open", nil}, {"in_progress", "in_progress", nil}, {"open", "open", nil},
	} {
		require.Equal(t, row.through, steps(of(row.from)[0], of(row.to)[0]), "%s to %s", row.from, row.to)
	}
}
