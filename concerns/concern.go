package concerns

import (
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/optional"
)

// concern is something that needs somebody. Empty texts mean that there is none.
type concern struct {
	kind  openintentv1.ConcernKind
	since time.Time
	// of is what the concern is about, by which its id is made: an id, or several.
	of string

	intentID, channelID, messageID, agentID, subscriptionID, taskID string
	// names are the agents that the sentence names beside agentID.
	names   []string
	summary string
	actions []openintentv1.ConcernAction
}

// id is the same for everybody who sees the concern, and as long as it lasts. What it is about cannot be read from it, because not everybody
// may see that.
func (c *concern) id() string {
	sum := sha256.Sum256([]byte(c.kind.String() + "\x00" + c.of))
	return "con_" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:16]))
}

// mentions reports whether the concern names an agent.
func (c *concern) mentions(agent string) bool {
	return c.agentID == agent || slices.Contains(c.names, agent)
}

// may adds an action that the caller may take.
func (c *concern) may(action openintentv1.ConcernAction, so bool) {
	if so {
		c.actions = append(c.actions, action)
	}
}

func (c *concern) toWire() *openintentv1.Concern {
	return &openintentv1.Concern{
		Id: c.id(), Kind: c.kind, Since: timestamppb.New(c.since),
		IntentId: optional.Text(c.intentID), ChannelId: optional.Text(c.channelID), MessageId: optional.Text(c.messageID),
		AgentId: optional.Text(c.agentID), SubscriptionId: optional.Text(c.subscriptionID), TaskId: optional.Text(c.taskID),
		Summary: c.summary, Actions: c.actions,
	}
}
