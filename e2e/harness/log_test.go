package harness

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAShownLogIsBoundedAndKeepsWarningsAndErrors(t *testing.T) {
	require.Equal(t, "a short log\n", excerpt("a short log\n", 100))

	chatter := strings.Repeat("level=INFO msg=chatter\n", 1000)
	log := "level=WARN msg=careful\n" + chatter + `{"level":"ERROR","msg":"broken"}` + "\n" + chatter + "level=INFO msg=last\n"
	require.Equal(t, "(1998 lines are left out)\nlevel=WARN msg=careful\n"+`{"level":"ERROR","msg":"broken"}`+"\n"+
		strings.Repeat("level=INFO msg=chatter\n", 2)+"level=INFO msg=last\n", excerpt(log, 70))

	errors := strings.Repeat("level=ERROR msg=again\n", 1000)
	require.LessOrEqual(t, len(excerpt(errors, 100)), 2*100+len("(1000 lines are left out)\n"))
}
