package server

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// However many callers there were, only those of calls under way have accounts.
func TestAccountsAreForgottenWithTheirCalls(t *testing.T) {
	m := newMemory(0)
	held := m.account("held")
	held.holdRequest(7)
	for i := range 1000 {
		m.account(fmt.Sprint("token ", i))
	}
	require.Eventually(t, func() bool {
		runtime.GC()
		m.mutex.Lock()
		defer m.mutex.Unlock()
		return len(m.accounts) == 1
	}, patience, time.Millisecond)
	require.Same(t, held, m.account("held"))
	require.Same(t, held, m.heaviest())
}
