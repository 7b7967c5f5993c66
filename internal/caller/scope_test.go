package caller

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatAScopeCovers(t *testing.T) {
	both := NewScope([]string{"intent"}, []string{"channel"})
	channels := NewScope(nil, []string{"channel"})
	for _, row := range []struct {
		scope                            *Scope
		intent, channel, within, foreign bool
	}{
		{nil, true, true, true, true},
		{NewScope(nil, nil), true, true, true, true},
		{NewScope([]string{"intent"}, nil), true, false, true, false},
		{channels, false, true, false, false},
		{both, true, true, true, false},
	} {
		require.Equal(t, row.intent, row.scope.CoversIntent("intent"), "%+v", row)
		require.Equal(t, row.channel, row.scope.CoversChannel("elsewhere", "channel"), "%+v", row)
		require.Equal(t, row.within, row.scope.CoversChannel("intent", "another"), "%+v", row)
		require.Equal(t, row.foreign, row.scope.CoversChannel("elsewhere", "another"), "%+v", row)
		require.Equal(t, row.foreign, row.scope.CoversIntent("elsewhere"), "%+v", row)
	}
	require.True(t, both.MayReachInto("elsewhere"))
	require.False(t, NewScope([]string{"intent"}, nil).MayReachInto("elsewhere"))
	require.True(t, both.ShowsAllAgents())
	require.False(t, channels.ShowsAllAgents())
}

func TestAScopeCoversWhatLiesInIt(t *testing.T) {
	everywhere, both := NewScope(nil, nil), NewScope([]string{"a", "b"}, []string{"c"})
	intents, channels := NewScope([]string{"b"}, nil), NewScope(nil, []string{"c"})
	for _, inner := range []*Scope{everywhere, both, intents, channels} {
		require.True(t, everywhere.Covers(inner))
		require.True(t, inner.Covers(inner))
		require.True(t, inner.Same(inner))
		require.Equal(t, inner != everywhere, both.Covers(inner))
		require.Equal(t, inner == both, both.Same(inner))
	}
	require.False(t, intents.Covers(channels))
	require.False(t, channels.Covers(intents))
	require.False(t, channels.Covers(both))
	require.True(t, both.Same(NewScope([]string{"b", "a"}, []string{"c"})))
}

func TestAScopeIsStored(t *testing.T) {
	for _, scope := range []*Scope{nil, NewScope([]string{"a"}, nil), NewScope([]string{"a", "b"}, []string{"c"})} {
		found, err := ScopeFrom(scope.Stored())
		require.NoError(t, err)
		require.Equal(t, scope, found)
	}
	require.Nil(t, NewScope(nil, nil).Stored())
}

func TestAScopeIsItsOwn(t *testing.T) {
	intents, channels := []string{"a"}, []string{"c"}
	scope := NewScope(intents, channels)
	intents[0], channels[0] = "b", "d"
	require.True(t, scope.Same(NewScope([]string{"a"}, []string{"c"})))
}
