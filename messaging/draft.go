package messaging

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"openintent/agents"
	"openintent/caller"
	"openintent/channels"
	"openintent/fault"
	"openintent/jsonvalue"
)

// draft is a message that somebody wants stored, before anything about its channel was looked at.
type draft struct {
	// id is made beforehand, so that after a lost commit acknowledgement the message can be looked for.
	id string
	// sender acts; privileged is true when that is the operator under its own name, for whom access and membership are
	// not asked.
	sender     string
	privileged bool
	// by is the call's caller, for the refusal of access.
	by      caller.Caller
	traceID string

	intentNo int64
	// channel and channelID are set when the channel is known, name when it is to be found or created by name.
	channel   channels.Key
	channelID string
	name      string

	target      string
	messageType Type
	// correlationID names the request of a response; replying is true when it came as a path of the reply call, where an
	// unknown request is NOT_FOUND instead of a bad field.
	correlationID string
	replying      bool

	payload, metadata jsonvalue.Object
	// given are payload and metadata as they came over gRPC, which are the same when they go back.
	given     given
	expiresAt time.Time
	// timeout, for Ask, sets expiresAt from the time of storing.
	timeout time.Duration

	key         string
	fingerprint [sha256.Size]byte
}

// setContent reads a message's payload and metadata.
func (d *draft) setContent(payload, metadata *structpb.Struct) (err error) {
	if d.payload, err = jsonvalue.FromStruct(payload, "payload"); err != nil {
		return err
	}
	if d.metadata, err = jsonvalue.FromStruct(metadata, "metadata"); err != nil {
		return err
	}
	d.payload, d.metadata = d.payload.OrEmpty(), d.metadata.OrEmpty()
	d.given = given{payload: cmp.Or(payload, &structpb.Struct{}), metadata: cmp.Or(metadata, &structpb.Struct{})}
	return nil
}

// scope is what an idempotency key is unique in, beside intent and sender.
func (d *draft) scope() string {
	if d.name != "" {
		return "name:" + d.name
	}
	return "channel:" + d.channelID
}

// size is what the draft counts for in the bounded queue.
func (d *draft) size() int { return d.contentBytes() + 256 }

// contentBytes is what its sender's quota counts.
func (d *draft) contentBytes() int { return len(d.payload) + len(d.metadata) }

// check decides what can be decided from the draft alone: the rules of RFC-0021 section 2.3 and the bounds.
func (d *draft) check(maxPayloadBytes int) error {
	if size := d.contentBytes(); size > maxPayloadBytes {
		return fault.New(fault.TooLarge, "PAYLOAD_TOO_LARGE",
			"payload and metadata have %d bytes together; at most %d are allowed, so send a reference to large data instead.",
			size, maxPayloadBytes)
	}
	if err := cmp.Or(caller.CheckText("idempotency_key", d.key), d.checkSender(), d.checkTarget()); err != nil {
		return err
	}
	if d.messageType != TypeResponse && d.correlationID != "" {
		return fault.BadField("correlation_id", "only a response has one; leave it out or send message_type response")
	}
	switch d.messageType {
	case TypeRequest:
		if toEveryone(d.target) {
			return fault.BadField("to", "a request must name an agent or role:<role_id>")
		}
	case TypeBroadcast:
		if !toEveryone(d.target) {
			return fault.BadField("to", "a broadcast goes to everyone; leave it out, give *, or send a notify")
		}
		d.target = caller.Broadcast
	case TypeResponse:
		if d.correlationID == "" {
			return fault.BadField("correlation_id", "a response must name the request that it answers")
		}
	}
	return nil
}

// checkSender refuses a name that no agent can have; only the operator can have given one.
func (d *draft) checkSender() error {
	if d.sender == d.by.Agent {
		return nil
	}
	return caller.CheckName("sender", d.sender)
}

func (d *draft) checkTarget() error {
	switch {
	case toEveryone(d.target):
		return nil
	case d.messageType == TypeResponse:
		return nil // compared with the request's sender, which need not be a plain agent's name
	case d.target == d.sender:
		return fault.BadField("to", "a sender is never a recipient of its own message; name another agent")
	case d.target == caller.RolePrefix:
		return fault.BadField("to", "a role address is role:<role_id>, with the role's id after the colon")
	case isAgent(d.target):
		return caller.CheckName("to", d.target)
	}
	return agents.CheckRole("to", roleOf(d.target))
}

// seal computes the fingerprint by which a repeated idempotency key is told from a reused one.
func (d *draft) seal() error {
	if d.key == "" {
		return nil
	}
	sum := sha256.New()
	writeField(sum, []byte(d.messageType))
	writeField(sum, []byte(d.target))
	writeField(sum, []byte(d.correlationID))
	var times [16]byte
	if !d.expiresAt.IsZero() {
		binary.BigEndian.PutUint64(times[:8], uint64(d.expiresAt.UnixMicro()))
	}
	binary.BigEndian.PutUint64(times[8:], uint64(d.timeout))
	writeField(sum, times[:])
	for _, object := range []jsonvalue.Object{d.payload, d.metadata} {
		canonical, err := jsonvalue.Canonical(object.OrEmpty())
		if err != nil {
			return err
		}
		writeField(sum, canonical)
	}
	sum.Sum(d.fingerprint[:0])
	return nil
}

// writeField adds a field with its length, so that no two lists of fields hash alike.
func writeField(sum hash.Hash, field []byte) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(field)))
	sum.Write(length[:])
	sum.Write(field)
}
