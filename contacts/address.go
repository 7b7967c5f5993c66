package contacts

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	netmail "net/mail"
	"net/url"
	"strings"

	webpush "github.com/SherClockHolmes/webpush-go"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
)

const (
	// maxMailAddress is how many bytes a mail address has at most.
	maxMailAddress = 254
	// shownLetters is how many of a URL's last characters are shown.
	shownLetters = 4
)

var errMailIsOff = fault.New(fault.Conflict, "MAIL_IS_OFF",
	"This server sends no mail, because its operator has set no relay (OPENINTENT_MAIL_RELAY); choose another kind.")

// addressOf checks the address of a new contact, and returns it as it is stored. field is the entry's path in the request.
func (s *Service) addressOf(field string, wanted *openintentv1.NewContact) (kind, string, error) {
	k := kindFrom(wanted.GetKind())
	if k == "" {
		return "", "", fault.BadField(field+".kind", "must be webhook, ntfy, slack, mail or web_push, or the entry has a contact_id")
	}
	if k == webPush {
		address, err := s.pushAddress(field, wanted)
		return k, address, err
	}
	if wanted.GetPush() != nil {
		return "", "", fault.BadField(field+".push", "is for web_push only")
	}
	address := wanted.GetAddress()
	if k == mail {
		if s.Mail == nil {
			return "", "", errMailIsOff
		}
		return k, address, checkMailAddress(field, address)
	}
	if err := s.Webhooks.Check(address); err != nil {
		return "", "", fault.BadField(field+".address", "%s", err.Error())
	}
	return k, address, nil
}

// checkMailAddress refuses what is not one plain address.
func checkMailAddress(field, address string) error {
	parsed, err := netMail(address)
	if err != nil || parsed != address {
		return fault.BadField(field+".address", "must be a mail address of at most %d bytes, such as maria@example.com", maxMailAddress)
	}
	return nil
}

// netMail returns the address in a text that is nothing but a mail address in ASCII.
func netMail(text string) (string, error) {
	if len(text) > maxMailAddress || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("it is too long, or has characters that no address has")
	}
	parsed, err := netmail.ParseAddress(text)
	if err != nil {
		return "", err
	}
	return parsed.Address, nil
}

// pushAddress checks a subscription to pushes.
func (s *Service) pushAddress(field string, wanted *openintentv1.NewContact) (string, error) {
	push := wanted.GetPush()
	switch {
	case wanted.Address != nil:
		return "", fault.BadField(field+".address", "must be unset for web_push; push has the address")
	case push == nil:
		return "", fault.BadField(field+".push", "must be the browser's subscription to pushes")
	}
	if err := s.Webhooks.Check(push.GetEndpoint()); err != nil {
		return "", fault.BadField(field+".push.endpoint", "%s", err.Error())
	}
	if err := checkPushKeys(push.GetP256Dh(), push.GetAuth()); err != nil {
		return "", fault.BadField(field+".push", "%s", err.Error())
	}
	stored, err := json.Marshal(webpush.Subscription{
		Endpoint: push.GetEndpoint(), Keys: webpush.Keys{P256dh: push.GetP256Dh(), Auth: push.GetAuth()},
	})
	return string(stored), err
}

// endpoint returns the URL to which the contact is posted.
func (c *contact) endpoint() string {
	if c.kind != webPush {
		return c.address
	}
	var push webpush.Subscription
	_ = json.Unmarshal([]byte(c.address), &push) // the room has written it
	return push.Endpoint
}

// addressDigest returns the digest by which codes to the contact's address are counted. Mail providers deliver what has a + and a tag in its name
// to the name before them, whatever the letters' case; so the tag and the case do not count.
func (c *contact) addressDigest() []byte {
	address := c.endpoint()
	if c.kind == mail {
		name, domain, _ := strings.Cut(strings.ToLower(address), "@")
		name, _, _ = strings.Cut(name, "+")
		address = "mailto:" + name + "@" + domain
	}
	sum := sha256.Sum256([]byte(address))
	return sum[:]
}

// shown returns what of the address does no harm: it tells the person which one it is, and nobody else how to use it.
func (c *contact) shown() string {
	if c.kind == mail {
		name, domain, _ := strings.Cut(c.address, "@")
		return name[:min(1, len(name))] + "…@" + domain
	}
	endpoint := c.endpoint()
	parsed, err := url.Parse(endpoint)
	if err != nil {
		return "…"
	}
	rest := strings.TrimPrefix(endpoint, parsed.Scheme+"://"+parsed.Host)
	if len(rest) < 2*shownLetters { // the last characters would be most of it
		return parsed.Host + " …"
	}
	return parsed.Host + " …" + rest[len(rest)-shownLetters:]
}
