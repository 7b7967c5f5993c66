package server

import (
	"context"
	"fmt"
	"slices"

	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"openintent/channels"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/tasks"
)

// errOutOfScope refuses a call on something outside of the key's scope. It says nothing about whether there is such a thing.
var errOutOfScope = fault.New(fault.Denied, "OUT_OF_SCOPE",
	"The API key is for other intents or channels than this one; use a key that is for it.")

// place says where a method works. So it says who keeps a key to its scope: scopes, or the room. Each policy has one.
type place uint8

const (
	// named methods work on the intent, the channel, the task or the coordinator that the request names. It must lie in the
	// scope.
	named place = iota + 1
	// anywhere is for methods whose requests may name a place, as a named one does. For a request that names none, the room
	// shows only what lies in the scope.
	anywhere
	// byRoom is for methods that work on what belongs to the caller, or that list. Their rooms look at the scope.
	byRoom
	// outside is for methods that work on nothing that a scope can cover.
	outside
	// noKey is for methods that need no key.
	noKey
)

// maxPlaceID bounds the ids that are looked for, in bytes.
const maxPlaceID = 256

// located are the fields by which requests name places, with the ways to find out the intent of one.
var located = map[protoreflect.Name]func(tx *database.Tx, id string) (intentID string, err error){
	"intent_id":      nil,
	"channel_id":     channels.IntentOf,
	"task_id":        tasks.IntentOf,
	"coordinator_id": intents.IntentOfCoordinator,
}

// namedPlace is a field of a request that names a place, inside of the field before it if that is set.
type namedPlace struct {
	within, field protoreflect.FieldDescriptor
	intentOf      func(tx *database.Tx, id string) (string, error)
	isChannel     bool
}

// placesOf returns the fields by which a method's requests name places.
func placesOf(input protoreflect.MessageDescriptor) (found []namedPlace) {
	fields := input.Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		if intentOf, names := located[field.Name()]; names {
			found = append(found, namedPlace{field: field, intentOf: intentOf, isChannel: field.Name() == "channel_id"})
		}
		if field.Name() == "channel" && field.Message() != nil {
			id := field.Message().Fields().ByName("id")
			found = append(found, namedPlace{within: field, field: id, intentOf: channels.IntentOf, isChannel: true})
		}
	}
	return found
}

// of returns the id in a request; it is empty if the request does not name one.
func (p namedPlace) of(request protoreflect.Message) string {
	if p.within != nil {
		request = request.Get(p.within).Message()
	}
	return request.Get(p.field).String()
}

// checkPlaces refuses methods whose requests do not fit their policy's place.
func checkPlaces(methods map[string]*method) error {
	for _, called := range methods {
		switch fits := len(called.places) > 0; {
		case called.place == 0, called.validated == (called.place == noKey):
			return fmt.Errorf("the policy of %s does not say where the method works", called.name)
		case called.place == named && !fits, called.place == outside && fits:
			return fmt.Errorf("the requests of %s do not name places as its policy says", called.name)
		}
	}
	return nil
}

// keptChannels is how many channels' intents a server remembers for keys with a scope.
const keptChannels = 10_000

// scopes keeps callers to the scopes of their keys. A nil database knows no place.
type scopes struct {
	db *database.DB
	// channels has the intents of channels. A channel never has another one, and no other channel gets its id.
	channels *lru.Cache[string, string]
}

func newScopes(db *database.DB) scopes {
	cache, err := lru.New[string, string](keptChannels)
	if err != nil {
		panic(err) // happens only if the size is not positive
	}
	return scopes{db, cache}
}

// check refuses a request that names something outside of a scope. It decides without looking for the thing whenever it can,
// and refuses what does not exist in the same way as what lies elsewhere.
func (s scopes) check(ctx context.Context, scope *caller.Scope, called *method, request proto.Message) error {
	if called.place == outside {
		return errOutOfScope
	}
	if called.place != named && called.place != anywhere {
		return nil
	}
	names := 0
	for _, p := range called.places {
		id := p.of(request.ProtoReflect())
		if id == "" {
			continue
		}
		names++
		if called.anyChannel && p.isChannel && id == channels.AnyID {
			continue
		}
		covered, err := s.covers(ctx, scope, p, id)
		if err != nil {
			return err
		}
		if !covered {
			return errOutOfScope
		}
	}
	if names == 0 && called.place == named {
		return errOutOfScope
	}
	return nil
}

func (s scopes) covers(ctx context.Context, scope *caller.Scope, p namedPlace, id string) (covered bool, err error) {
	switch {
	case p.intentOf == nil:
		return scope.CoversIntent(id), nil
	case p.isChannel && slices.Contains(scope.Channels, id):
		return true, nil
	case len(scope.Intents) == 0 || s.db == nil || len(id) > maxPlaceID || caller.CheckText("id", id) != nil:
		return false, nil
	}
	intentID, err := s.intentOf(ctx, p, id)
	return intentID != "" && scope.CoversIntent(intentID), err
}

// intentOf returns the id of the intent in which a place lies; it is empty if there is no such place.
func (s scopes) intentOf(ctx context.Context, p namedPlace, id string) (intentID string, err error) {
	if p.isChannel {
		if intentID, known := s.channels.Get(id); known {
			return intentID, nil
		}
	}
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) (err error) {
		intentID, err = p.intentOf(tx, id)
		return err
	})
	if err == nil && p.isChannel && intentID != "" {
		s.channels.Add(id, intentID)
	}
	return intentID, err
}
