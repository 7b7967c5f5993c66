package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

func TestVerificationSaysWhatWasRemoved(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, report(output{}, terminal{stdout: &out}, &openintentv1.VerifyEventsResponse{
		Valid: true, EventCount: 2, Checkpoint: &openintentv1.EventCheckpoint{Sequence: 7},
	}))
	require.Equal(t, "events verified: 2; removed before them: 7\n", out.String())
}
