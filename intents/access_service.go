package intents

import (
	"cmp"
	"context"
	"fmt"

	"google.golang.org/protobuf/types/known/emptypb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/jsonvalue"
	"openintent/internal/optional"
	"openintent/internal/pages"
)

// entryList is the name of the list of entries in cursors.
const entryList = "entries"

// GetAccessControl returns an intent's access control list with a page of its entries.
func (s *Service) GetAccessControl(
	ctx context.Context, req *openintentv1.GetAccessControlRequest,
) (*openintentv1.AccessControl, error) {
	var after place
	page, err := pages.Begin(entryList, req, pages.MaxEntries, &after.at, &after.id)
	if err != nil {
		return nil, err
	}
	var policy Policy
	var entries []AccessEntry
	err = s.readHeavy(ctx, func(tx *database.Tx, c caller.Caller) error {
		head, err := s.view(tx, c, c.Agent, req.GetIntentId(), PermissionRead)
		if err != nil {
			return err
		}
		if policy, err = loadPolicy(tx, head.IntentNo); err != nil {
			return err
		}
		entries, err = listEntries(tx, page, head.IntentNo, after)
		return err
	})
	if err != nil {
		return nil, err
	}
	return accessControlMessage(req.GetIntentId(), cmp.Or(policy, s.defaultAccess), page, entries), nil
}

// SetAccessControl replaces an intent's list.
func (s *Service) SetAccessControl(
	ctx context.Context, req *openintentv1.SetAccessControlRequest,
) (*openintentv1.AccessControl, error) {
	policy := policyWords[req.GetDefaultPolicy()]
	drafts := make([]AccessEntry, len(req.GetEntries()))
	for i, input := range req.GetEntries() {
		draft, err := entryDraft(fmt.Sprintf("entries[%d].", i), input)
		if err != nil {
			return nil, err
		}
		drafts[i] = draft
	}
	entries := make([]AccessEntry, len(drafts))
	err := s.write(ctx, func(tx *database.Tx, c caller.Caller) error {
		copy(entries, drafts)
		head, err := s.take(tx, c, c.Agent, req.GetIntentId(), PermissionAdmin)
		if err != nil {
			return err
		}
		return s.replaceList(tx, c, head, policy, entries)
	})
	if err != nil {
		return nil, err
	}
	page := pages.Of(entryList, pages.MaxEntries)
	return accessControlMessage(req.GetIntentId(), policy, page, entries), nil
}

// replaceList revokes every entry of an intent's list and grants the new ones.
func (s *Service) replaceList(
	tx *database.Tx, c caller.Caller, head *Head, policy Policy, entries []AccessEntry,
) error {
	former, err := allEntries(tx, head.IntentNo)
	if err != nil {
		return err
	}
	for _, entry := range former {
		if err := log(head, c, c.Agent, "access_revoked", describeEntry(entry)); err != nil {
			return err
		}
	}
	if err := deleteEntries(tx, head.IntentNo); err != nil {
		return err
	}
	if err := s.setPolicy(tx, c, c.Agent, head, policy); err != nil {
		return err
	}
	for i := range entries {
		if err := grant(c, head, &entries[i], fmt.Sprintf("entries[%d].", i)); err != nil {
			return err
		}
	}
	head.RaiseEpoch()
	return insertEntries(tx, head.IntentNo, entries)
}

// CreateAccessEntry adds an entry to an intent's list. If the intent had no list, the entry begins one, with the policy that
// applies to intents without a list.
func (s *Service) CreateAccessEntry(
	ctx context.Context, req *openintentv1.CreateAccessEntryRequest,
) (*openintentv1.AccessEntry, error) {
	draft, err := entryDraft("", &openintentv1.AccessEntryInput{
		PrincipalId:   req.GetPrincipalId(),
		PrincipalType: req.PrincipalType,
		Permission:    req.GetPermission(),
		ExpiresAt:     req.GetExpiresAt(),
		Reason:        req.Reason,
	})
	if err != nil {
		return nil, err
	}
	var entry AccessEntry
	err = s.write(ctx, func(tx *database.Tx, c caller.Caller) error {
		entry = draft
		head, err := s.take(tx, c, c.Agent, req.GetIntentId(), PermissionAdmin)
		if err != nil {
			return err
		}
		policy, err := loadPolicy(tx, head.IntentNo)
		if err != nil {
			return err
		}
		if policy == policyNone {
			if err := s.setPolicy(tx, c, c.Agent, head, s.defaultAccess); err != nil {
				return err
			}
		}
		if err := checkRoom(tx, head.IntentNo); err != nil {
			return err
		}
		if err := grant(c, head, &entry, ""); err != nil {
			return err
		}
		head.RaiseEpoch()
		return insertEntries(tx, head.IntentNo, []AccessEntry{entry})
	})
	if err != nil {
		return nil, err
	}
	return entryMessage(req.GetIntentId(), entry), nil
}

// DeleteAccessEntry revokes an entry.
func (s *Service) DeleteAccessEntry(
	ctx context.Context, req *openintentv1.DeleteAccessEntryRequest,
) (*emptypb.Empty, error) {
	if err := caller.CheckText("entry_id", req.GetEntryId()); err != nil {
		return nil, err
	}
	err := s.write(ctx, func(tx *database.Tx, c caller.Caller) error {
		head, err := s.take(tx, c, c.Agent, req.GetIntentId(), PermissionAdmin)
		if err != nil {
			return err
		}
		entry, err := findEntry(tx, head.IntentNo, req.GetEntryId())
		if err != nil {
			return err
		}
		if entry == nil {
			return errEntryNotFound
		}
		if err := log(head, c, c.Agent, "access_revoked", describeEntry(*entry)); err != nil {
			return err
		}
		head.RaiseEpoch()
		return deleteEntry(tx, head.IntentNo, entry.ID)
	})
	if err != nil {
		return nil, err
	}
	return &emptypb.Empty{}, nil
}

// entryDraft reads a new entry from a request; path is the entry's place in the request.
func entryDraft(path string, input *openintentv1.AccessEntryInput) (AccessEntry, error) {
	expiresAt, err := optional.TimeFrom(path+"expires_at", input.GetExpiresAt())
	entry := AccessEntry{
		PrincipalID:   input.GetPrincipalId(),
		PrincipalType: PrincipalAgent,
		Permission:    permissionOf(input.GetPermission()),
		ExpiresAt:     expiresAt,
		Reason:        input.Reason,
	}
	if input.PrincipalType != nil {
		entry.PrincipalType = principalWords[input.GetPrincipalType()]
	}
	return entry, firstOf(err,
		caller.CheckName(path+"principal_id", entry.PrincipalID),
		caller.CheckText(path+"reason", input.GetReason()),
	)
}

// grant completes a new entry and logs it.
func grant(c caller.Caller, head *Head, entry *AccessEntry, path string) error {
	if entry.expired(head.Now()) {
		return fault.BadField(path+"expires_at", "it must lie in the future; leave it out to grant access for good.")
	}
	entry.ID, entry.GrantedBy = newID(), c.Agent
	if err := log(head, c, c.Agent, "access_granted", describeEntry(*entry)); err != nil {
		return err
	}
	entry.GrantedAt = head.LastAt
	if entry.PrincipalType != PrincipalGroup {
		head.Name(entry.PrincipalID)
	}
	return nil
}

// describeEntry returns an event's payload, with the grant and its holder.
func describeEntry(entry AccessEntry) *jsonvalue.Builder {
	var payload jsonvalue.Builder
	payload.String("entry_id", entry.ID).String("principal_id", entry.PrincipalID)
	payload.String("principal_type", string(entry.PrincipalType)).String("permission", entry.Permission.String())
	if !entry.ExpiresAt.IsZero() {
		payload.String("expires_at", entry.ExpiresAt.Format(wireTime))
	}
	if entry.Reason != nil {
		payload.String("reason", *entry.Reason)
	}
	return &payload
}

// setPolicy stores an intent's policy and logs it as a grant or a revocation for everyone. The caller raises the epoch.
func (s *Service) setPolicy(tx *database.Tx, c caller.Caller, actor string, head *Head, policy Policy) error {
	former, err := loadPolicy(tx, head.IntentNo)
	if err != nil || former == policy {
		return err
	}
	eventType := "access_revoked"
	if cmp.Or(former, s.defaultAccess) == PolicyClosed && policy == PolicyOpen {
		eventType = "access_granted"
	}
	var payload jsonvalue.Builder
	payload.String("default_policy", string(policy))
	if err := log(head, c, actor, eventType, &payload); err != nil {
		return err
	}
	return storePolicy(tx, head.IntentNo, policy)
}
