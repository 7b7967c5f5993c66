package writing

import (
	"cmp"
	"crypto/sha256"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"openintent/channels"
	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/internal/jsonvalue"
	"openintent/messaging/loopbrake"
	"openintent/messaging/message"
)

// Draft is a message that somebody wants stored, before anybody has looked at the state of its channel.
type Draft struct {
	// ID is made beforehand, so that the message can be looked for when the commit's acknowledgement is lost.
	ID string
	// Sender is the agent that acts. Privileged is true when that is the operator under its own name, who needs neither
	// access nor membership.
	Sender     string
	Privileged bool
	// By is the call's caller, for whom access is decided. Human is true when it is a person who speaks for itself.
	By      caller.Caller
	Human   bool
	TraceID string

	IntentNo int64
	// Channel and ChannelID are set when the channel is known. Name is set when the channel has to be found or created by
	// its name.
	Channel   channels.Key
	ChannelID string
	Name      string
	// Unowned is true if a channel that is created for the draft shall belong to the server.
	Unowned bool

	Target      string
	MessageType message.Type
	// CorrelationID names the request of a response. Replying is true when the reply call named it in its path: then an
	// unknown request is NOT_FOUND instead of a bad field.
	CorrelationID string
	Replying      bool

	payload, metadata jsonvalue.Object
	// payloadMissing is true if the sender gave no payload, which is empty then.
	payloadMissing bool
	// given is what the sender says beyond RFC-0021; nil if it says nothing. words are the words of the message's text that may be names of
	// agents. They are not looked for if the sender gave a list of mentions, even an empty one.
	given *message.Conversation
	words []string
	// conversation is what the message carries, once the draft is admitted.
	conversation *message.Conversation
	// Given are payload and metadata as they came over gRPC. They go back in the same form.
	Given     message.Content
	ExpiresAt time.Time
	// Timeout is how long after it is stored the message expires; 0 means that ExpiresAt counts.
	Timeout time.Duration

	// replaces names the message that has to be the document's content, if the draft is a document; nil for whichever is.
	replaces *string

	// fence is that of the sender's claim on the request that a response answers; 0 without one.
	fence int64

	// Pile is why the addressee's pile of unread messages has no room for this one; nil if it has. UnderWay, if it is set, counts the draft
	// until its outcome is known.
	Pile     *fault.Fault
	UnderWay *atomic.Int64

	Key         string
	fingerprint [sha256.Size]byte

	// turn is what the admitted draft does to the conversation of its place, and crowd what is known of that; nil for nothing.
	turn  turn
	crowd *loopbrake.Crowd

	// audited and creates are what the last decision about the draft added besides: the log's copy of the message, and its channel.
	audited, creates bool
}

// SetContent reads a message's payload and metadata.
func (d *Draft) SetContent(payload, metadata *structpb.Struct) (err error) {
	if d.payload, err = jsonvalue.FromStruct(payload, "payload"); err != nil {
		return err
	}
	if d.metadata, err = jsonvalue.FromStruct(metadata, "metadata"); err != nil {
		return err
	}
	d.payloadMissing = d.payload.IsNull()
	d.payload, d.metadata = d.payload.OrEmpty(), d.metadata.OrEmpty()
	d.Given = message.Content{Payload: cmp.Or(payload, &structpb.Struct{}), Metadata: cmp.Or(metadata, &structpb.Struct{})}
	return nil
}

// Size is what the draft counts for in the bounded queue.
func (d *Draft) Size() int { return d.contentBytes() + 256 + wordSize*len(d.words) }

// contentBytes is what the draft counts for in its sender's quota.
func (d *Draft) contentBytes() int { return len(d.payload) + len(d.metadata) + d.given.Size() }

// Check decides what can be decided from the draft alone: the rules of RFC-0021 section 2.3 and the bounds.
func (d *Draft) Check(maxPayloadBytes int) error {
	if err := CheckSize(len(d.payload), len(d.metadata), maxPayloadBytes); err != nil {
		return err
	}
	if err := cmp.Or(caller.CheckText("idempotency_key", d.Key), d.checkSender(), d.checkTarget()); err != nil {
		return err
	}
	if d.MessageType != message.TypeResponse && d.CorrelationID != "" {
		return fault.BadField("correlation_id", "only a response has one; leave it out or send message_type response")
	}
	if d.Replying && d.CorrelationID == "" {
		return fault.BadField("message_id", "name the request that this answers")
	}
	if d.MessageType == message.TypeResponse && d.CorrelationID == "" {
		return fault.BadField("correlation_id", "a response must name the request that it answers")
	}
	return cmp.Or(d.checkTargetOfType(), d.checkConversation(), d.checkFence())
}

// CheckSize refuses payload and metadata that are too large together. It names the larger one.
func CheckSize(payload, metadata, most int) error {
	if payload+metadata <= most {
		return nil
	}
	large, other := "payload", "metadata"
	if metadata > payload {
		large, other = other, large
	}
	refusal := fault.New(fault.TooLarge, "PAYLOAD_TOO_LARGE",
		"%s: has %d bytes together with %s; at most %d are allowed, so send a reference to large data instead.",
		large, payload+metadata, other, most)
	refusal.Fields = []fault.Field{{Path: large, Description: strings.TrimPrefix(refusal.Message, large+": ")}}
	return refusal
}

// checkSender refuses a name that no agent can have; only the operator can have named such a sender.
func (d *Draft) checkSender() error {
	if d.Sender == d.By.Agent {
		return nil
	}
	return caller.CheckName("sender", d.Sender)
}
