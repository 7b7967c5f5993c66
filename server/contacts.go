package server

import (
	"errors"
	"fmt"
	"net"

	"openintent/contacts"
)

var errMailFromAlone = errors.New("OPENINTENT_MAIL_FROM has no effect without OPENINTENT_MAIL_RELAY; set both or neither")

// mailRelay returns the relay for mail to contacts; nil if none is set. Its error has no part of the relay's address, which has a password.
func (c Config) mailRelay() (*contacts.Relay, error) {
	switch {
	case c.MailRelay == "" && c.MailFrom == "":
		return nil, nil
	case c.MailRelay == "":
		return nil, errMailFromAlone
	}
	relay, err := contacts.NewRelay(c.MailRelay, c.MailFrom)
	if err != nil {
		return nil, fmt.Errorf("OPENINTENT_MAIL_RELAY with OPENINTENT_MAIL_FROM: %w", err)
	}
	return relay, nil
}

// checkMail refuses a relay that cannot be used.
func (c Config) checkMail() error {
	_, err := c.mailRelay()
	return err
}

// linkAddress returns the address with which links to this server begin, without a slash at its end: the public one, or where REST listens
// if only this machine reaches it. It is empty if neither is known.
func (c Config) linkAddress() string {
	if c.PublicURL != "" {
		return c.publicAddress()
	}
	_, port, err := net.SplitHostPort(c.HTTPAddr)
	if err != nil || port == "0" || !isLoopback(c.HTTPAddr) {
		return ""
	}
	if c.TLSCert != "" {
		return "https://" + c.HTTPAddr
	}
	return "http://" + c.HTTPAddr
}
