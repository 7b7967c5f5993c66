package contacts

import (
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/optional"
)

// kind is how a contact is sent to.
type kind string

// The kinds, as the database has them.
const (
	webhook kind = "webhook"
	ntfy    kind = "ntfy"
	slack   kind = "slack"
	mail    kind = "mail"
	webPush kind = "web_push"
)

var wireKinds = map[kind]openintentv1.ContactKind{
	webhook: openintentv1.ContactKind_CONTACT_KIND_WEBHOOK,
	ntfy:    openintentv1.ContactKind_CONTACT_KIND_NTFY,
	slack:   openintentv1.ContactKind_CONTACT_KIND_SLACK,
	mail:    openintentv1.ContactKind_CONTACT_KIND_MAIL,
	webPush: openintentv1.ContactKind_CONTACT_KIND_WEB_PUSH,
}

// kindFrom returns the kind that a request names; empty for none.
func kindFrom(wire openintentv1.ContactKind) kind {
	for k, w := range wireKinds {
		if w == wire {
			return k
		}
	}
	return ""
}

// contact is a stored way to a person. Zero times mean unset.
type contact struct {
	agent, id string
	kind      kind
	// address is a secret: a URL, a mail address, or the subscription to pushes as JSON.
	address string
	// madeBy is the key with which it was set or last proved.
	madeBy    string
	createdAt time.Time
	// codeDigest is that of the code that counts; nil for none.
	codeDigest   []byte
	codeUntil    time.Time
	codeAttempts int64
	provedAt     time.Time
	failingSince time.Time
	offAt        time.Time
	lastProblem  string
}

const columns = `agent_id, id, kind, address, made_by_key, created_at, code_digest, code_until, code_attempts, proved_at, failing_since,
	off_at, last_problem`

func scan(row database.Row) (*contact, error) {
	c := new(contact)
	var createdAt, codeUntil int64
	var provedAt, failingSince, offAt *int64
	err := row.Scan(&c.agent, &c.id, &c.kind, &c.address, &c.madeBy, &createdAt, &c.codeDigest, &codeUntil, &c.codeAttempts, &provedAt,
		&failingSince, &offAt, &c.lastProblem)
	c.createdAt, c.codeUntil, c.provedAt = database.Time(createdAt), database.Time(codeUntil), database.TimeOrZero(provedAt)
	c.failingSince, c.offAt = database.TimeOrZero(failingSince), database.TimeOrZero(offAt)
	return c, err
}

// read reads the contacts of a name, in the order of its list.
func read(tx *database.Tx, agent string) (found []*contact, err error) {
	err = tx.Pipeline(database.Statement{
		SQL:  "SELECT " + columns + " FROM contacts WHERE agent_id = ? ORDER BY place, id",
		Args: []any{agent},
		Scan: func(row database.Row) error {
			c, err := scan(row)
			found = append(found, c)
			return err
		},
	})
	return found, err
}

// saveCode stores the code that counts, and how often it was tried.
func (c *contact) saveCode(tx *database.Tx) error {
	return tx.Pipeline(database.Statement{
		SQL:  "UPDATE contacts SET code_digest = ?, code_until = ?, code_attempts = ? WHERE agent_id = ? AND id = ?",
		Args: []any{c.codeDigest, database.MicrosOrZero(c.codeUntil), c.codeAttempts, c.agent, c.id},
	})
}

// saveProof stores that the contact was proved, and with which key.
func (c *contact) saveProof(tx *database.Tx) error {
	return tx.Pipeline(database.Statement{
		SQL: "UPDATE contacts SET made_by_key = ?, proved_at = ?, failing_since = NULL, off_at = NULL, last_problem = ''" +
			" WHERE agent_id = ? AND id = ?",
		Args: []any{c.madeBy, database.NullMicros(c.provedAt), c.agent, c.id},
	})
}

// works reports whether pointers are sent to the contact, unless its key has ended.
func (c *contact) works() bool { return !c.provedAt.IsZero() && c.offAt.IsZero() }

// pausedOf returns which keys of some contacts have ended.
func (s *Service) pausedOf(tx *database.Tx, found []*contact) (map[string]string, error) {
	if s.Paused == nil || len(found) == 0 {
		return nil, nil
	}
	var keys []string
	for _, c := range found {
		keys = append(keys, c.madeBy)
	}
	return s.Paused(tx, database.Distinct(keys)...)
}

// state says whether pointers are sent to the contact.
func (c *contact) state(paused map[string]string) openintentv1.ContactState {
	switch {
	case c.provedAt.IsZero():
		return openintentv1.ContactState_CONTACT_STATE_UNPROVED
	case !c.offAt.IsZero():
		return openintentv1.ContactState_CONTACT_STATE_OFF
	case paused[c.madeBy] != "":
		return openintentv1.ContactState_CONTACT_STATE_PAUSED
	}
	return openintentv1.ContactState_CONTACT_STATE_ON
}

// toWire returns the contact as its person sees it.
func (c *contact) toWire(paused map[string]string) *openintentv1.Contact {
	return &openintentv1.Contact{
		ContactId: c.id, Kind: wireKinds[c.kind], Shown: c.shown(), State: c.state(paused), CreatedAt: optional.Time(c.createdAt),
		ProvedAt: optional.Time(c.provedAt), FailingSince: optional.Time(c.failingSince), LastProblem: optional.Text(c.lastProblem),
	}
}
