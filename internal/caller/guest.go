package caller

import (
	"strings"

	"openintent/internal/fault"
)

// GuestPrefix begins the name of each agent that comes with an invite, and of no other. So no invite speaks for an agent that
// has come in another way.
const GuestPrefix = "guest-"

// IsGuest reports whether a name is that of a guest.
func IsGuest(agent string) bool { return strings.HasPrefix(agent, GuestPrefix) }

// CheckNoGuest refuses the name of a guest where nobody comes with an invite. The refusal names the given field.
func CheckNoGuest(field, agent string) error {
	if IsGuest(agent) {
		return fault.BadField(field, "names that begin with %s are for those who come with an invite; choose another name.", GuestPrefix)
	}
	return nil
}

// CheckGuestName refuses a name that no guest can have. The refusal names the given field.
func CheckGuestName(field, agent string) error {
	if !IsGuest(agent) || agent == GuestPrefix {
		return fault.BadField(field, "a guest's name begins with %[1]s and goes on after that, as %[1]sresearcher does.", GuestPrefix)
	}
	return CheckName(field, agent)
}

// CheckNotForGuest refuses the operator that acts in the name of a guest: only those who come with the guest's invite do.
func (c Caller) CheckNotForGuest(field, agent string) error {
	if c.IsOperator {
		return CheckNoGuest(field, agent)
	}
	return nil
}
