package database

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/fault"
)

// One rule says what several callers do next after a transaction that stored for all of them.
func TestWhatBecomesOfSeveralIsOneOutcome(t *testing.T) {
	broken := errors.New("broken")
	for name, row := range map[string]struct {
		write        func() error
		alone, among Outcome
	}{
		"stored":                        {func() error { return nil }, Stored, Stored},
		"a conflict":                    {func() error { return fmt.Errorf("locks: %w", errNotAlone) }, Contended, Contended},
		"an unacknowledged commit":      {func() error { return &commitUnknownError{errClosed} }, Uncertain, Uncertain},
		"a lost database":               {func() error { return errClosed }, Away, Away},
		"a transaction that took long":  {func() error { return context.DeadlineExceeded }, Away, Away},
		"one of them spoils it":         {func() error { return broken }, Refused, Spoiled},
		"a refusal":                     {func() error { return fault.New(fault.Invalid, "X", "x") }, Refused, Spoiled},
		"a panic, before or after that": {func() error { panic("injected") }, Panicked, Panicked},
	} {
		for members, want := range map[int]Outcome{1: row.alone, 2: row.among, 250: row.among} {
			outcome, err := Together(members, row.write)
			require.Equal(t, want, outcome, "%s, of %d", name, members)
			require.Equal(t, want == Stored, err == nil, "%s: %v", name, err)
		}
	}
}
