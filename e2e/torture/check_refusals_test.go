package torture

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRefusalsHold checks the outcomes of a send to bob, who refuses eve between 10 and 20.
func TestRefusalsHold(t *testing.T) {
	rights := []Right{
		{Agent: "eve", Kind: Welcome, Of: "bob", Withdrawn: Span{9, 10}},
		{Agent: "eve", Kind: Welcome, Of: "bob", Granted: Span{20, 21}},
	}
	findings := func(from, to Tick, change func(s *Send)) []Kind {
		send := &Send{Sender: "eve", Intent: plainIntent, Channel: "open", To: "bob", Kind: Notify, Content: "content", Span: Span{from, to}}
		change(send)
		return kinds(Check(&History{
			Intents: map[string]Intent{plainIntent: {}}, Channels: map[string]Channel{"open": {Intent: plainIntent}}, Rights: rights,
			Sends: []*Send{send},
		}))
	}
	stored := func(s *Send) { s.Acknowledged, s.ID = true, "message" }
	unwelcome := func(s *Send) { s.Refused, s.Unwelcome = true, true }
	require.Empty(t, findings(12, 13, func(*Send) {}), "nobody knows its outcome")
	require.Equal(t, []Kind{Leaked}, findings(12, 13, stored))
	require.Empty(t, findings(12, 13, unwelcome))
	for _, during := range []Tick{8, 9, 18, 20} {
		require.Empty(t, findings(during, during+2, stored), "the refusal begins or ends meanwhile")
		require.Empty(t, findings(during, during+2, unwelcome), "the refusal begins or ends meanwhile")
	}
	for _, outside := range []Tick{5, 22} {
		require.Empty(t, findings(outside, outside+1, stored))
		require.Equal(t, []Kind{Problem}, findings(outside, outside+1, unwelcome))
	}
	rights = nil
	require.Equal(t, []Kind{Problem}, findings(12, 13, unwelcome), "nobody refuses eve")
}
