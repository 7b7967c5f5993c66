package claims

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func claimed(agent string, fence int64) Entry {
	return Entry{Kind: Claimed, Agent: agent, Fence: fence}
}
func answered(agent string, fence int64) Entry {
	return Entry{Kind: Answered, Agent: agent, Fence: fence}
}

func released(agent, reason string) Entry {
	return Entry{Kind: Released, Agent: agent, Reason: reason}
}

func died(agent string) Entry    { return Entry{Kind: Died, Agent: agent} }
func revived(agent string) Entry { return Entry{Kind: Revived, Agent: agent} }

func TestCheckFindsPlantedFaults(t *testing.T) {
	for _, row := range []struct {
		name    string
		history History
		finding string // empty for a history in order
	}{
		{"answered", History{Wanted: 1, Entries: []Entry{claimed("b", 1), answered("b", 1), released("b", "responded")}}, ""},
		{"nobody came", History{Wanted: 1, Expired: true}, ""},
		{"a late answer", History{Wanted: 1, Entries: []Entry{claimed("b", 1), released("b", "expired"), answered("b", 1)}}, ""},
		{"two of two", History{Wanted: 2, Entries: []Entry{
			claimed("b", 1), claimed("c", 2), answered("c", 2), released("c", "responded"), answered("b", 1), released("b", "responded"),
		}}, ""},
		{"a place goes on", History{Wanted: 1, Expired: true, Entries: []Entry{
			claimed("b", 1), died("b"), released("b", "agent_dead"), claimed("c", 2), {Kind: Swept}, released("c", "message_ended"),
		}}, ""},
		{"back before anybody looked", History{Wanted: 1, Entries: []Entry{
			claimed("b", 1), died("b"), revived("b"), {Kind: Swept}, answered("b", 1), released("b", "responded"),
		}}, ""},

		{"the fence is not compared", History{Wanted: 1, Entries: []Entry{
			claimed("b", 1), released("b", "expired"), claimed("b", 2), answered("b", 1), released("b", "responded"),
		}}, "with fence 1 instead of 2"},
		{"a place that is lost answers", History{Wanted: 1, Entries: []Entry{
			claimed("b", 1), released("b", "expired"), claimed("c", 2), answered("b", 1), answered("c", 2), released("c", "responded"),
		}}, "b answered without a place"},
		{"the claim is not released", History{Wanted: 1, Entries: []Entry{claimed("b", 1)}}, "the claim of b was never ended"},
		{"the claim is not released at death", History{Wanted: 1, Expired: true, Entries: []Entry{
			claimed("b", 1), died("b"), {Kind: Swept}, released("b", "expired"),
		}}, "2: the claim of b outlives its death"},
		{"the claim is released at death by chance", History{Wanted: 1, Expired: true, Entries: []Entry{
			claimed("b", 1), died("b"), released("b", "role_lost"),
		}}, "the claim of b, which is dead, ended as role_lost"},
		{"a claim is granted beside that of a dead agent", History{Wanted: 2, Expired: true, Entries: []Entry{
			claimed("b", 1), died("b"), claimed("c", 2), released("b", "expired"), released("c", "expired"),
		}}, "2: the claim of b outlives its death"},
		{"a dead agent claims", History{Wanted: 1, Expired: true, Entries: []Entry{
			died("b"), claimed("b", 1), released("b", "agent_dead"),
		}}, "b got a claim and is dead"},
		{"a claim ends with the death of a living agent", History{Wanted: 1, Expired: true, Entries: []Entry{
			claimed("b", 1), died("b"), revived("b"), released("b", "agent_dead"),
		}}, "and it lives"},
		{"the request is forgotten", History{Wanted: 1, Entries: []Entry{
			claimed("b", 1), died("b"), released("b", "agent_dead"),
		}}, "nobody is left"},
		{"two answers", History{Wanted: 1, Entries: []Entry{
			claimed("b", 1), answered("b", 1), released("b", "responded"), answered("c", 0),
		}}, "one answer too many"},
		{"one of two", History{Wanted: 2, Entries: []Entry{claimed("b", 1), answered("b", 1), released("b", "responded")}}, "1 of 2 answers"},
		{"one answers twice", History{Wanted: 2, Entries: []Entry{
			claimed("b", 1), answered("b", 1), released("b", "responded"), answered("b", 1),
		}}, "b answered twice"},
		{"a second holder", History{Wanted: 1, Entries: []Entry{
			claimed("b", 1), claimed("c", 2), released("b", "released"), answered("c", 2), released("c", "responded"),
		}}, "beyond the 1 places"},
		{"a fence that falls", History{Wanted: 1, Expired: true, Entries: []Entry{
			claimed("b", 2), released("b", "released"), claimed("c", 1), released("c", "released"),
		}}, "does not rise"},
		{"a claim after the answer", History{Wanted: 1, Entries: []Entry{
			claimed("b", 1), answered("b", 1), released("b", "responded"), claimed("c", 2), released("c", "released"),
		}}, "after the answer"},
		{"answered without a claim", History{Wanted: 1, Entries: []Entry{answered("b", 0)}}, "without a place"},
		{"an end of nothing", History{Wanted: 1, Expired: true, Entries: []Entry{released("b", "expired")}}, "that there was not"},
		{"answered and expired", History{Wanted: 1, Expired: true, Entries: []Entry{claimed("b", 1), answered("b", 1)}}, "and expired"},
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
