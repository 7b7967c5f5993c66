package openapi

import (
	"slices"

	"google.golang.org/protobuf/reflect/protoreflect"

	"openintent/server/jsonform"
)

// alwaysSet are the fields of answers that are never null, by message, though the proto's type would let them be unset: objects, times, and
// options that take their defaults. Each answer that a test gets is held against this.
var alwaysSet = map[string][]string{
	"AccessEntry":                  {"granted_at"},
	"Acknowledgement":              {"created_at"},
	"Agent":                        {"capacity", "heartbeat_config", "metadata", "registered_at"},
	"Annotation":                   {"created_at"},
	"Assignment":                   {"assigned_at"},
	"Channel":                      {"options", "created_at"},
	"ChannelOptions":               {"audit", "max_messages", "history", "turn_budget"},
	"Claim":                        {"expires_at"},
	"Concern":                      {"since"},
	"Contact":                      {"created_at"},
	"Coordinator":                  {"granted_at", "metadata"},
	"CoordinatorHeartbeatResponse": {"next_heartbeat_at"},
	"DeadLetter":                   {"delivery", "dead_at"},
	"Discharge":                    {"discharged_at"},
	"EarlierMessage":               {"message"},
	"Event":                        {"payload", "created_at"},
	"EventCheckpoint":              {"created_at", "removed_at"},
	"FoundMessage":                 {"message"},
	"HeartbeatConfig":              {"interval_seconds", "unhealthy_after_seconds", "dead_after_seconds"},
	"HeartbeatResponse":            {"server_timestamp", "next_heartbeat_at"},
	"InboxItem":                    {"message"},
	"Intent":                       {"constraints", "state", "created_at", "updated_at"},
	"Invite":                       {"created_at", "expires_at"},
	"IssuedInvite":                 {"invite"},
	"IssuedKey":                    {"key"},
	"Key":                          {"created_at"},
	"Lease":                        {"acquired_at", "expires_at"},
	"Message":                      {"payload", "metadata", "created_at"},
	"MessageDelivery":              {"stored_at"},
	"MessageDisposition":           {"disposed_at"},
	"MessageRevision":              {"payload", "metadata", "created_at"},
	"OpenIntentResponse":           {"intent"},
	"ReachPath":                    {"since"},
	"Reaction":                     {"created_at"},
	"RefusedSender":                {"created_at"},
	"ReleaseLeaseResponse":         {"lease"},
	"Subscription":                 {"created_at"},
	"SurfacedMessage":              {"surfaced_at"},
	"Task":                         {"input", "metadata", "created_at"},
	"ThreadClaim":                  {"expires_at"},
	"ThreadReaction":               {"created_at"},
}

// mayBeNull reports whether an answer may have null for a field. A field that is left out when it is unset is never null.
func mayBeNull(field protoreflect.FieldDescriptor) bool {
	never := slices.Contains(alwaysSet[string(field.Parent().Name())], string(field.Name()))
	return field.HasPresence() && !never && !jsonform.LeftOutWhenUnset(field)
}
