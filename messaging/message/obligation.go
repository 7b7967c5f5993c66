package message

import (
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/optional"
)

// Obligation makes a request stay open until its author, the delegate or the operator discharges it. This is what the request's
// sender gave; package obligation keeps what became of it.
type Obligation struct {
	// Blocks says what stands still meanwhile. It is never unspecified.
	Blocks openintentv1.Blocks `json:"blocks"`
	// Delegate is an agent that may discharge it, beside the author and the operator; empty for none.
	Delegate string `json:"delegate,omitempty"`
}

// ObligationFrom returns the obligation that a request gives; nil if it gives none.
func ObligationFrom(wire *openintentv1.Obligation) *Obligation {
	if wire == nil {
		return nil
	}
	o := &Obligation{Blocks: wire.GetBlocks(), Delegate: wire.GetDelegate()}
	if o.Blocks == openintentv1.Blocks_BLOCKS_UNSPECIFIED {
		o.Blocks = openintentv1.Blocks_BLOCKS_NONE
	}
	return o
}

func (o *Obligation) toWire() *openintentv1.Obligation {
	if o == nil {
		return nil
	}
	return &openintentv1.Obligation{Blocks: o.Blocks, Delegate: optional.Text(o.Delegate)}
}

// Word returns what the obligation blocks, as clients know it in JSON.
func (o *Obligation) Word() string {
	return enumWord(int32(o.Blocks), "BLOCKS_", openintentv1.Blocks_name)
}

// Obliges reports whether the message is a request that came with an obligation, open or not.
func (m *Message) Obliges() bool { return m.Conversation != nil && m.Conversation.Obligation != nil }

// Return is what the server's reminder of an open obligation says of the request. Only the server's own messages have one.
type Return struct {
	// Position is the request's place in the log of the same intent.
	Position             int64
	From, ChannelName    string
	ChannelID, MessageID string
}

// Returns returns what the message reminds of; nil if it is no reminder.
func (m *Message) Returns() *Return {
	if m.Conversation == nil {
		return nil
	}
	return m.Conversation.Return
}
