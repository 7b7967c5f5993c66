package contacts

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
)

const (
	// codeFor is how long a code counts, and codeAttempts how often it is tried at most.
	codeFor      = 15 * time.Minute
	codeAttempts = 5
	codeDigits   = 8
	// codesPer is the time in which codesOfAddress codes at most are sent to an address, whoever wants them, and codesOfKey for a key.
	codesPer       = time.Hour
	codesOfAddress = 3
	codesOfKey     = 10
	// forgottenCodes bounds how many notes of codes one run of the sweep removes.
	forgottenCodes = 1_000
)

var (
	errTooManyCodes = fault.New(fault.Quota, "TOO_MANY_CODES",
		"The server sends at most 3 codes to an address and 10 for a key within an hour; try again later.").After(codesPer)
	errCodeWrong = fault.New(fault.Conflict, "CODE_WRONG",
		"The code is not the one that counts for this contact: it was mistyped, is older than 15 minutes, was tried 5 times or was replaced."+
			" Type the newest one, or have a new one sent.")
)

// sending is a code that is on its way to a contact.
type sending struct {
	to   *contact
	code string
}

// newCode makes a code for a contact, in the place of an earlier one. Nobody but its receiver learns it.
func newCode(tx *database.Tx, c caller.Caller, to *contact) (sending, error) {
	now, address := tx.Now(), to.addressDigest()
	if err := tx.Alone("codes to the address " + hex.EncodeToString(address)); err != nil {
		return sending{}, err
	}
	since := database.Micros(now.Add(-codesPer))
	var ofAddress, ofKey int64
	if err := tx.Pipeline(
		database.ReadValue(&ofAddress, "SELECT count(*) FROM contact_codes WHERE address_digest = ? AND sent_at > ?", address, since),
		database.ReadValue(&ofKey, "SELECT count(*) FROM contact_codes WHERE key_id = ? AND sent_at > ?", c.KeyID, since),
	); err != nil {
		return sending{}, err
	}
	if ofAddress >= codesOfAddress || ofKey >= codesOfKey {
		return sending{}, errTooManyCodes
	}
	number, err := rand.Int(rand.Reader, new(big.Int).Exp(big.NewInt(10), big.NewInt(codeDigits), nil))
	if err != nil {
		return sending{}, err
	}
	code := fmt.Sprintf("%0*d", codeDigits, number)
	to.codeDigest, to.codeUntil, to.codeAttempts = to.digest(code), now.Add(codeFor), 0
	if err := to.saveCode(tx); err != nil {
		return sending{}, err
	}
	return sending{to, code}, tx.Pipeline(database.Statement{
		SQL:  "INSERT INTO contact_codes (agent_id, contact_id, key_id, sent_at, address_digest) VALUES (?, ?, ?, ?, ?)",
		Args: []any{to.agent, to.id, c.KeyID, database.Micros(now), address},
	})
}

// digest returns the digest of a code, which is another one for each contact.
func (c *contact) digest(code string) []byte {
	sum := sha256.Sum256([]byte(c.id + ":" + code))
	return sum[:]
}

// sendCodes sends codes to their contacts, all at the same time, and notes what became of them.
func (s *Service) sendCodes(ctx context.Context, sendings []sending) error {
	group, grouped := errgroup.WithContext(ctx)
	for _, one := range sendings {
		group.Go(func() error {
			result := s.send(grouped, one.to, one.to.codeID(), codeWords(one.to.agent, one.code))
			return s.DB.Write(ctx, func(tx *database.Tx) error {
				return tx.Pipeline(database.Statement{
					SQL:  "UPDATE contacts SET last_problem = ? WHERE agent_id = ? AND id = ?",
					Args: []any{result.Problem, one.to.agent, one.to.id},
				})
			})
		})
	}
	return group.Wait()
}

// codeID identifies the sending of a code.
func (c *contact) codeID() string { return fmt.Sprintf("%s_%d", c.id, c.codeUntil.Unix()) }

// SendContactCode sends a new code to a contact.
func (s *Service) SendContactCode(ctx context.Context, req *openintentv1.SendContactCodeRequest) (*openintentv1.Contact, error) {
	c, err := speaker(ctx, req.GetAgentId())
	if err != nil {
		return nil, err
	}
	var made sending
	err = s.DB.Write(ctx, func(tx *database.Tx) error {
		if err := alone(tx, c, req.GetAgentId()); err != nil {
			return err
		}
		to, err := one(tx, req.GetAgentId(), req.GetContactId())
		if err != nil {
			return err
		}
		made, err = newCode(tx, c, to)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := s.sendCodes(ctx, []sending{made}); err != nil {
		return nil, err
	}
	return s.shownOne(ctx, c, req.GetAgentId(), req.GetContactId())
}

// ProveContact takes the code of a contact. A wrong attempt is stored, so the transaction does not fail by it.
func (s *Service) ProveContact(ctx context.Context, req *openintentv1.ProveContactRequest) (*openintentv1.Contact, error) {
	c, err := speaker(ctx, req.GetAgentId())
	if err != nil {
		return nil, err
	}
	code := strings.NewReplacer(" ", "", "-", "").Replace(req.GetCode())
	proved := false
	err = s.DB.Write(ctx, func(tx *database.Tx) error {
		if err := alone(tx, c, req.GetAgentId()); err != nil {
			return err
		}
		found, err := one(tx, req.GetAgentId(), req.GetContactId())
		if err != nil {
			return err
		}
		if proved = found.prove(code, c.KeyID, tx.Now()); proved {
			if err := found.saveProof(tx); err != nil {
				return err
			}
			if err := scheduleLook(tx, found.agent, tx.Now()); err != nil {
				return err
			}
		}
		return found.saveCode(tx)
	})
	switch {
	case err != nil:
		return nil, err
	case !proved:
		return nil, errCodeWrong
	}
	return s.shownOne(ctx, c, req.GetAgentId(), req.GetContactId())
}

// prove tries a code, and reports whether the contact is proved by it.
func (c *contact) prove(code, key string, now time.Time) bool {
	if c.codeDigest == nil || !c.codeUntil.After(now) || c.codeAttempts >= codeAttempts {
		return false
	}
	c.codeAttempts++
	if subtle.ConstantTimeCompare(c.codeDigest, c.digest(code)) != 1 {
		return false
	}
	c.madeBy, c.provedAt = key, now
	return true
}

// shownOne returns one contact as its person sees it.
func (s *Service) shownOne(ctx context.Context, c caller.Caller, agent, id string) (*openintentv1.Contact, error) {
	listed, err := s.list(ctx, c, agent)
	for _, shown := range listed.GetContacts() {
		if shown.GetContactId() == id {
			return shown, err
		}
	}
	if err == nil {
		err = errNotFound // somebody has removed it meanwhile
	}
	return nil, err
}

// forgetCodes removes the notes of codes that count no more.
func (s *Service) forgetCodes(ctx context.Context) error {
	before := database.Micros(s.DB.Now().Add(-codesPer))
	var old []int64
	err := s.DB.ReadStatement(ctx, func(tx *database.Tx) error {
		old = nil
		return tx.Pipeline(database.ReadValues(&old, "SELECT code_no FROM contact_codes WHERE sent_at <= ? ORDER BY sent_at LIMIT ?",
			before, forgottenCodes))
	})
	if err != nil || len(old) == 0 {
		return err
	}
	return s.DB.Write(ctx, func(tx *database.Tx) error {
		in, list := tx.In("code_no", old)
		return tx.Pipeline(database.Statement{SQL: "DELETE FROM contact_codes WHERE " + in, Args: []any{list}})
	})
}
