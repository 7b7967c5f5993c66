package repomesh

import (
	"context"
	"encoding/json"
	"slices"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

const (
	// DefaultIntent is the mesh unless a setting names another intent. The server makes it at first use.
	DefaultIntent = "repomesh"
	// DefaultChannel is the channel of an event that names none.
	DefaultChannel = "default"
)

// session acts for one caller, for one request.
type session struct {
	door   *Door
	caller *doors.Caller
	// intent is the mesh.
	intent string
	// room is how many bytes of a payload a list shows, and page how many bytes of events. model says that a model reads the answers.
	room, page int
	model      bool
}

const (
	// wholePayloads shows payloads as they are. A program reads them.
	wholePayloads = 1 << 30
	restPage      = 1 << 20 // an answer has each event under two names
	// A model reads these.
	modelPayload, modelPage = 400, 6_000
)

// errNoMesh refuses a key that is kept to intents among which the door cannot choose.
var errNoMesh = fault.New(fault.Denied, "OUT_OF_SCOPE",
	"The key is kept to several intents, and the mesh is not among them; use a key for one intent, which is then its mesh.")

// meshOf returns the intent that is the caller's mesh: that of the setting, or the only one to which its key is kept.
func (d *Door) meshOf(caller *doors.Caller) (string, error) {
	intent := d.config.Intent
	if intent == "" {
		intent = DefaultIntent
	}
	switch only := caller.OnlyIntents; {
	case len(only) == 0 || slices.Contains(only, intent):
		return intent, nil
	case len(only) == 1:
		return only[0], nil
	}
	return "", errNoMesh
}

// run carries out an action. Its first use on a server makes the mesh: nothing can have happened before it was there.
func (s *session) run(ctx context.Context, a action, given json.RawMessage) (answer any, err error) {
	if s.intent, err = s.door.meshOf(s.caller); err != nil {
		return nil, err
	}
	answer, err = a.run(ctx, s, given)
	if err == nil || s.door.config.Found == nil || s.intent != DefaultIntent || doors.RefusalOf(err).Reason != "INTENT_NOT_FOUND" {
		return answer, err
	}
	if err := s.door.config.Found(ctx); err != nil {
		return nil, err
	}
	return a.run(ctx, s, given)
}

// mostChannels is how many channels of the mesh an action looks into that names none. They are the oldest open ones.
const mostChannels = 32

// channels returns the channel of a name, or the first ones of the mesh if there is no name. A name that no open channel has gives none.
// more is true if it left some out.
func (s *session) channels(ctx context.Context, name string) (found []*openintentv1.Channel, more bool, err error) {
	request := &openintentv1.ListChannelsRequest{
		IntentId: s.intent, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_OPEN.Enum(), Limit: new(int32(mostChannels)),
	}
	if name != "" {
		request.Limit = new(int32(namePage))
	}
	for range namePages {
		page, err := s.caller.Channels.ListChannels(ctx, request)
		if err != nil {
			return nil, false, err
		}
		if name == "" {
			return page.GetChannels(), page.NextCursor != nil, nil
		}
		for _, channel := range page.GetChannels() {
			if channel.GetName() == name {
				return []*openintentv1.Channel{channel}, false, nil
			}
		}
		if page.NextCursor == nil {
			return nil, false, nil
		}
		request.Cursor = page.NextCursor
	}
	return nil, false, errTooManyNames
}

// namePage and namePages bound how many channels the door looks through for a name.
const namePage, namePages = 200, 10

// errTooManyNames says that the door did not find a name among as many channels as it looks through.
var errTooManyNames = fault.New(fault.NotFound, "CHANNEL_NOT_FOUND",
	"The mesh has too many channels to look for a name; close those that nobody needs.")
