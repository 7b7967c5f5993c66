package writing

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Where nothing is traced, a send allocates nothing for it.
func TestWhatIsNotTracedCostsNothing(t *testing.T) {
	none, ctx := Tracing{}, t.Context()
	list := []*submission{{draft: &Draft{}}}
	b := &batch{decision: decision{outcomes: make([]Outcome, 1)}}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		none.mark(ctx, list[0], false)
		began := none.time()
		none.show(list, b, began, nil)
	}))
	require.Nil(t, list[0].traced)
}

// Only drafts of traced calls are told of, once they have an outcome.
func TestDraftsOfTracedCallsAreToldOf(t *testing.T) {
	type traced struct{}
	var told []Commit
	shows := Tracing{
		Traced:    func(ctx context.Context) bool { return ctx.Value(traced{}) != nil },
		Committed: func(c Commit) { told = append(told, c) },
	}
	list := make([]*submission, 4)
	for i := range list {
		list[i] = &submission{draft: &Draft{}}
		ctx := t.Context()
		if i != 1 {
			ctx = context.WithValue(ctx, traced{}, i)
		}
		shows.mark(ctx, list[i], i == 3)
	}
	require.Nil(t, list[1].traced)
	b := &batch{decision: decision{outcomes: make([]Outcome, 4), passedOver: []*submission{list[2]}}}
	shows.show(list, b, time.Unix(1, 0), nil)
	require.Len(t, told, 1)
	require.Equal(t, 3, told[0].Size)
	require.Len(t, told[0].Drafts, 2, "without the call that is not traced, and the draft that was put aside")
	require.False(t, told[0].Drafts[0].Streamed)
	require.True(t, told[0].Drafts[1].Streamed)

	shows.show(list[2:3], nil, time.Unix(2, 0), errors.New("away"))
	require.Len(t, told, 2)
	require.Error(t, told[1].Err)
	require.Nil(t, told[1].Drafts[0].Message)
	shows.show(list[1:2], &batch{decision: decision{outcomes: make([]Outcome, 1)}}, time.Unix(3, 0), nil)
	require.Len(t, told, 2, "a commit without traced calls")
}
