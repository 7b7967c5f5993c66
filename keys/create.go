package keys

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
)

// CreateKey stores a new key and returns it with its secret.
func (s *Service) CreateKey(ctx context.Context, req *openintentv1.CreateKeyRequest) (*openintentv1.IssuedKey, error) {
	c, err := operator(ctx)
	if err != nil {
		return nil, err
	}
	draft, err := readDraft(req)
	if err != nil {
		return nil, err
	}
	secret := newSecret()
	draft.Digest, draft.CreatedBy = DigestOf(secret), maker(c)
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		if err := changeTag(tx); err != nil {
			return err
		}
		draft.CreatedAt = tx.Now()
		if draft.expired(draft.CreatedAt) {
			return fault.BadField("expires_at", "it must lie in the future; leave it out for a key without an end.")
		}
		count, err := countLive(tx, draft.CreatedAt)
		if err != nil {
			return err
		}
		if count >= MaxLive {
			return errTooMany
		}
		return insert(tx, draft)
	})
	if err != nil {
		return nil, err
	}
	s.changed(ctx, "a key was created", draft, c)
	return &openintentv1.IssuedKey{Key: s.message(draft), Secret: secret}, nil
}

// maker returns what created_by shows of who calls.
func maker(c caller.Caller) string { return ShownMaker(c.KeyID, c.Subject) }

// readDraft reads a request and checks what can be checked without the database.
func readDraft(req *openintentv1.CreateKeyRequest) (*Key, error) {
	draft := &Key{
		ID: newID(), Label: req.GetLabel(), Version: 1,
		Settings: Settings{
			Operator: req.GetOperator(), ReadOnly: req.GetReadOnly(), Human: req.GetHuman(),
			Agents: append([]string{}, req.GetAgents()...), Roles: append([]string{}, req.GetRoles()...),
			Scope:             caller.NewScope(req.GetIntents(), req.GetChannels()),
			MessagesPerSecond: req.MessagesPerSecond, BytesPerSecond: req.BytesPerSecond,
			RowsPerSecond: req.RowsPerSecond, StoredBytesPerSecond: req.StoredBytesPerSecond,
		},
	}
	if err := caller.CheckText("label", draft.Label); err != nil {
		return nil, err
	}
	if err := draft.check(); err != nil {
		return nil, err
	}
	var err error
	draft.ExpiresAt, err = Moment("expires_at", req.GetExpiresAt())
	return draft, err
}

// check refuses settings that no key may have.
func (s Settings) check() error {
	switch {
	case s.Operator && len(s.Agents) > 0:
		return fault.BadField("operator", "an operator's key is not bound to agents; leave out operator or agents.")
	case s.Operator && s.ReadOnly:
		return fault.BadField("read_only", "an operator's key may do everything; name agents for a key that only reads.")
	case s.Operator && s.Human:
		return fault.BadField("human", "a person's key has one agent and is no operator's; leave out operator and name the agent.")
	case s.Operator && s.Scope != nil:
		return fault.BadField("operator", "an operator's key works everywhere; leave out operator, or leave out intents and channels.")
	case !s.Operator && len(s.Agents) == 0:
		return fault.BadField("agents", "name the agents that the key may act as, or set operator for a key that may do everything.")
	case s.Human && len(s.Agents) != 1:
		return fault.BadField("human", "a person's key has exactly one agent.")
	}
	for i, agent := range s.Agents {
		field := fmt.Sprintf("agents[%d]", i)
		if err := caller.CheckName(field, agent); err != nil {
			return err
		}
		if err := caller.CheckNoGuest(field, agent); err != nil {
			return err
		}
		if slices.Contains(s.Agents[:i], agent) {
			return fault.BadField("agents", "name each agent once.")
		}
	}
	if err := checkScope(s.Scope); err != nil {
		return err
	}
	for i, role := range s.Roles {
		field := fmt.Sprintf("roles[%d]", i)
		if err := caller.CheckText(field, role); err != nil {
			return err
		}
		if role == "" || strings.ContainsFunc(role, unicode.IsControl) {
			return fault.BadField(field, "a role's id is not empty and has no control characters.")
		}
	}
	return nil
}

// checkScope refuses ids that nothing can have.
func checkScope(scope *caller.Scope) error {
	if scope == nil {
		return nil
	}
	if err := checkIDs("intents", scope.Intents); err != nil {
		return err
	}
	return checkIDs("channels", scope.Channels)
}

func checkIDs(list string, ids []string) error {
	for i, id := range ids {
		field := fmt.Sprintf("%s[%d]", list, i)
		if err := caller.CheckText(field, id); err != nil {
			return err
		}
		if strings.ContainsFunc(id, unicode.IsControl) {
			return fault.BadField(field, "an id has no control characters.")
		}
	}
	return nil
}

// Moment reads a time; it returns zero for none.
func Moment(field string, stamp *timestamppb.Timestamp) (time.Time, error) {
	switch {
	case stamp == nil:
		return time.Time{}, nil
	case !stamp.IsValid():
		return time.Time{}, fault.BadField(field, "a time lies between the years 1 and 9999.")
	}
	return stamp.AsTime().Truncate(time.Microsecond), nil
}
