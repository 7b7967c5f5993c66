package c2a

import openintentv1 "openintent/gen/openintent/v1"

// The injection modes: how much of an event a model sees, and when.
const (
	modeImmediate   = "immediate"
	modeBuffered    = "buffered"
	modeNotify      = "notify"
	modeDigest      = "digest"
	modeToolMailbox = "tool_mailbox"
	modeSilent      = "silent"
)

// modes says which modes a harness takes. Interrupt says that an immediate event may interrupt a turn, which is the harness's own
// affair.
type modes struct {
	Immediate   bool `json:"immediate"`
	Buffered    bool `json:"buffered"`
	Notify      bool `json:"notify"`
	ToolMailbox bool `json:"tool_mailbox"`
	Digest      bool `json:"digest"`
	Interrupt   bool `json:"interrupt"`
}

// usualModes are those of a harness that declares none: those that the protocol's first useful implementation needs.
var usualModes = modes{Buffered: true, Notify: true, ToolMailbox: true}

// quieter are the modes from the loudest to the quietest.
var quieter = []struct {
	name string
	of   openintentv1.Injection
	in   func(modes) bool
}{
	{modeImmediate, openintentv1.Injection_INJECTION_IMMEDIATE, func(m modes) bool { return m.Immediate }},
	{modeBuffered, openintentv1.Injection_INJECTION_BUFFERED, func(m modes) bool { return m.Buffered }},
	{modeNotify, openintentv1.Injection_INJECTION_NOTIFY, func(m modes) bool { return m.Notify }},
	{modeDigest, openintentv1.Injection_INJECTION_DIGEST, func(m modes) bool { return m.Digest }},
	{modeToolMailbox, openintentv1.Injection_INJECTION_TOOL_MAILBOX, func(m modes) bool { return m.ToolMailbox }},
}

// mode returns how an event is injected: as attention says if the harness takes that, and else in the next quieter mode that it takes.
// Where none is left, the event is silent: it is kept, and not delivered.
func (m modes) mode(wanted openintentv1.Injection) string {
	for _, mode := range quieter {
		if mode.of >= wanted && mode.in(m) {
			return mode.name
		}
	}
	return modeSilent
}

// shows reports whether an event in this mode comes with its content.
func shows(mode string) bool { return mode != modeNotify && mode != modeDigest }
