package contacts

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"openintent/internal/webhooks"
)

// mailTimeout bounds one mail.
const mailTimeout = 15 * time.Second

// Relay is the server to which mail is given, as the operator has set it. Make it with NewRelay.
type Relay struct {
	from    string
	host    string
	options []gomail.Option
}

// errRelay is what is wrong with a relay's address. It has no part of it, because the address has a password.
var errRelay = errors.New("it must be smtp://USER:PASSWORD@HOST:PORT, for a relay that offers STARTTLS, or smtps://USER:PASSWORD@HOST:PORT, for " +
	"one that begins with TLS; the user with the password, and the port, may be left out")

// NewRelay makes a Relay of its URL and the address from which its mails come. smtp:// needs STARTTLS unless the relay is on this machine.
// The error of a bad URL has no part of it.
func NewRelay(address, from string) (*Relay, error) {
	at, err := url.Parse(address)
	if err != nil || at.Hostname() == "" || strings.Trim(at.Path, "/") != "" || at.RawQuery != "" || at.Fragment != "" {
		return nil, errRelay
	}
	r := &Relay{from: from, host: at.Hostname(), options: []gomail.Option{gomail.WithTimeout(mailTimeout)}}
	switch {
	case at.Scheme == "smtps":
		r.options = append(r.options, gomail.WithSSLPort(false))
	case at.Scheme != "smtp":
		return nil, errRelay
	case isThisMachine(at.Hostname()):
		r.options = append(r.options, gomail.WithTLSPortPolicy(gomail.TLSOpportunistic))
	default:
		r.options = append(r.options, gomail.WithTLSPortPolicy(gomail.TLSMandatory))
	}
	if at.Port() != "" {
		port, err := strconv.Atoi(at.Port())
		if err != nil || port < 1 || port > 65535 {
			return nil, errRelay
		}
		r.options = append(r.options, gomail.WithPort(port))
	}
	if at.User != nil {
		password, _ := at.User.Password()
		r.options = append(r.options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(at.User.Username()),
			gomail.WithPassword(password))
	}
	if parsed, err := netMail(from); err != nil || parsed != from {
		return nil, fmt.Errorf("the address from which mails come must be a mail address, such as openintent@example.com")
	}
	return r, nil
}

func isThisMachine(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}

// send gives a mail to the relay. Its sentences say nothing of the relay.
func (r *Relay) send(ctx context.Context, to, id string, w words) webhooks.Result {
	if r == nil {
		return webhooks.Result{Problem: "This server sends no mail any more."}
	}
	m, err := r.message(to, id, w)
	if err != nil {
		return webhooks.Result{Problem: "The mail could not be written."}
	}
	client, err := gomail.NewClient(r.host, r.options...)
	if err != nil {
		return webhooks.Result{Problem: "The mail relay is not set up rightly."}
	}
	limited, cancel := context.WithTimeout(ctx, mailTimeout)
	defer cancel()
	if err := client.DialAndSendWithContext(limited, m); err != nil {
		return webhooks.Result{PutOff: ctx.Err() != nil, Problem: mailProblem(err)}
	}
	return webhooks.Result{Delivered: true}
}

// message writes a mail. A repeat has the same id, by which mailboxes may know it.
func (r *Relay) message(to, id string, w words) (*gomail.Msg, error) {
	m := gomail.NewMsg()
	if err := m.From(r.from); err != nil {
		return nil, err
	}
	if err := m.To(to); err != nil {
		return nil, err
	}
	_, domain, _ := strings.Cut(r.from, "@")
	m.SetMessageIDWithValue(id + "@" + domain)
	m.SetGenHeader("Auto-Submitted", "auto-generated") // so that no holiday reply answers it
	m.Subject(w.Title)
	m.SetBodyString(gomail.TypeTextPlain, w.lines()+"\n")
	return m, nil
}

// mailProblem says in public words why a mail did not go.
func mailProblem(err error) string {
	var refused *gomail.SendError
	var network net.Error
	switch {
	case errors.As(err, &refused) && !refused.IsTemp():
		return "The mail relay refused the mail."
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "The mail relay did not answer in time."
	}
	return "The mail relay could not take the mail now."
}
