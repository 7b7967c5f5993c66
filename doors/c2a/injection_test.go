package c2a

import (
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// An event is never louder than attention says, is in a mode that the harness takes, and in no quieter one than it must.
func TestAModeIsTheLoudestThatIsAllowedAndTaken(t *testing.T) {
	order := []string{modeImmediate, modeBuffered, modeNotify, modeDigest, modeToolMailbox}
	for taken := range 1 << 5 {
		m := modes{Immediate: taken&1 != 0, Buffered: taken&2 != 0, Notify: taken&4 != 0, Digest: taken&8 != 0, ToolMailbox: taken&16 != 0}
		for wanted := range order {
			expected := modeSilent
			for i := wanted; i < len(order) && expected == modeSilent; i++ {
				if taken&(1<<i) != 0 {
					expected = order[i]
				}
			}
			require.Equal(t, expected, m.mode(openintentv1.Injection(wanted+1)), "%+v, %s", m, order[wanted])
		}
	}
}
