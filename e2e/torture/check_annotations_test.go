package torture

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAnnotationsFollowTheSightOfNow delivers a reaction to a message to a role. Eve had the role when the message was sent, lost it
// before the reaction, and takes it again at 21.
func TestAnnotationsFollowTheSightOfNow(t *testing.T) {
	first := Right{Agent: "eve", Kind: Role, Of: "solver", Granted: Span{1, 2}, Withdrawn: Span{11, 12}}
	second := Right{Agent: "eve", Kind: Role, Of: "solver", Granted: Span{21, 22}}
	findings := func(delivered Tick, rights ...Right) []Kind {
		to := &Send{
			Sender: "ann", Intent: plainIntent, Channel: "open", To: "role:solver", Kind: Notify, Content: "content", ID: "message",
			Acknowledged: true, Span: Span{5, 6},
		}
		note := Note{MessageID: to.ID, Channel: to.Channel, Agent: "ann", Signal: "x-1"}
		return kinds(Check(&History{
			Intents: map[string]Intent{plainIntent: {}}, Channels: map[string]Channel{"open": {Intent: plainIntent}}, Rights: rights,
			Sends: []*Send{to}, Reactions: []*Reaction{{To: to, Note: note, Acknowledged: true, Span: Span{15, 16}}},
			Receivers: []*Receiver{{
				Name: "eve's stream", Agent: "eve", Intent: plainIntent, Annotations: true, From: 7, Connections: []*Connection{{
					Begun: 8, Annotations: []Annotation{{Note: note, Position: 2, Stored: 2, At: delivered}},
				}},
			}},
		}))
	}
	require.Empty(t, findings(25, first, second), "eve may have read the message, and has the role again")
	require.Equal(t, []Kind{Leaked}, findings(18, first, second), "eve had no role between the reaction and the delivery")
	require.Equal(t, []Kind{Leaked}, findings(25, second), "eve had no role when the message was sent")
}
