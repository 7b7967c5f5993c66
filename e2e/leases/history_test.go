package leases

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func granted(agent string, fence int64) Entry {
	return Entry{Kind: Granted, Agent: agent, Fence: fence}
}

func ended(agent string, fence int64, reason string) Entry {
	return Entry{Kind: Ended, Agent: agent, Fence: fence, Reason: reason}
}

func wrote(agent string, fence int64) Entry {
	return Entry{Kind: Wrote, Agent: agent, Fence: fence, Accepted: true}
}

func refused(agent string, fence int64) Entry {
	return Entry{Kind: Wrote, Agent: agent, Fence: fence}
}

func is(kind Kind, agent, reason string) Entry {
	return Entry{Kind: kind, Agent: agent, Reason: reason}
}

func TestCheckFindsPlantedFaults(t *testing.T) {
	const dead, lost = "agent_dead", "access_lost"
	for _, row := range []struct {
		name    string
		history []Entry
		finding string // empty for a history in order
	}{
		{"nobody came", nil, ""},
		{"one after the other", []Entry{
			granted("b", 1), wrote("b", 1), ended("b", 1, "released"), granted("c", 2), wrote("c", 2), ended("c", 2, "expired"),
		}, ""},
		{"a frozen holder is refused", []Entry{
			granted("b", 1), ended("b", 1, "expired"), granted("c", 2), wrote("c", 2), refused("b", 1), ended("c", 2, "released"),
		}, ""},
		{"a frozen holder comes before its successor", []Entry{
			granted("b", 1), ended("b", 1, "expired"), granted("c", 2), wrote("b", 1), wrote("c", 2), ended("c", 2, "released"),
		}, ""},
		{"a death", []Entry{
			granted("b", 1), is(Going, "b", dead), is(Gone, "b", dead), ended("b", 1, dead), {Kind: Swept},
			is(Returning, "b", dead), granted("b", 2), is(Returned, "b", dead), {Kind: Swept}, ended("b", 2, "expired"),
		}, ""},
		{"noticed at once", []Entry{
			granted("b", 1), is(Going, "b", lost), ended("b", 1, lost), is(Gone, "b", lost), {Kind: Swept},
		}, ""},

		{"the resource compares no fences", []Entry{
			granted("b", 1), ended("b", 1, "expired"), granted("c", 2), wrote("c", 2), wrote("b", 1), ended("c", 2, "released"),
		}, "took fence 1 of b after fence 2"},
		{"the lease is not ended at death", []Entry{
			granted("b", 1), is(Going, "b", dead), is(Gone, "b", dead), {Kind: Swept}, ended("b", 1, "expired"),
		}, "the lease of b is left: agent_dead"},
		{"the lease is not ended with the access", []Entry{
			granted("b", 1), is(Going, "b", lost), is(Gone, "b", lost), {Kind: Swept}, ended("b", 1, "expired"),
		}, "the lease of b is left: access_lost"},
		{"two holders", []Entry{
			granted("b", 1), granted("c", 2), ended("c", 2, "released"),
		}, "b and c hold the scope"},
		{"two holders with one fence", []Entry{
			granted("b", 1), ended("b", 1, "released"), granted("c", 1), ended("c", 1, "released"),
		}, "does not rise"},
		{"a holder is refused", []Entry{
			granted("b", 2), wrote("b", 2), ended("b", 2, "released"), granted("c", 1), refused("c", 1), ended("c", 1, "released"),
		}, "refused c, which holds the scope"},
		{"the resource refuses a fence that nobody passed", []Entry{
			granted("b", 1), ended("b", 1, "expired"), refused("b", 1),
		}, "refused fence 1 of b"},
		{"a fence of nobody", []Entry{wrote("b", 1)}, `b wrote with fence 1, which "" got`},
		{"a fence of somebody else", []Entry{
			granted("b", 1), wrote("c", 1), ended("b", 1, "released"),
		}, `c wrote with fence 1, which "b" got`},
		{"the dead get leases", []Entry{
			is(Going, "b", dead), is(Gone, "b", dead), granted("b", 1), ended("b", 1, dead),
		}, "b got a lease and is gone: agent_dead"},
		{"a living agent loses its lease", []Entry{
			granted("b", 1), is(Going, "c", dead), ended("b", 1, dead),
		}, "ended as agent_dead, which is not so"},
		{"an end of nothing", []Entry{ended("b", 1, "expired")}, "ended that there was not"},
		{"an end of another lease", []Entry{
			granted("b", 2), ended("b", 1, "expired"), ended("b", 2, "expired"),
		}, "ended that there was not"},
		{"a lease for ever", []Entry{granted("b", 1)}, "the lease of b was never ended"},
	} {
		t.Run(row.name, func(t *testing.T) {
			findings := strings.Join(Check(row.history), "\n")
			if row.finding == "" {
				require.Empty(t, findings)
			} else {
				require.Contains(t, findings, row.finding)
			}
		})
	}
}
