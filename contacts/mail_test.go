package contacts

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	gomail "github.com/wneessen/go-mail"

	openintentv1 "openintent/gen/openintent/v1"
)

// sink is a mail relay that keeps what it is given. refusal, unless it is empty, answers each recipient.
type sink struct {
	address string
	mutex   sync.Mutex
	mails   []string
	refusal string
}

func newSink(t *testing.T) *sink {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &sink{address: listener.Addr().String()}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			served.Go(func() { s.serve(connection) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		served.Wait()
	})
	return s
}

// serve speaks as much SMTP as a client needs.
func (s *sink) serve(connection net.Conn) {
	defer func() { _ = connection.Close() }()
	_ = connection.SetDeadline(time.Now().Add(time.Minute))
	lines := bufio.NewScanner(connection)
	say := func(text string) { _, _ = fmt.Fprintf(connection, "%s\r\n", text) }
	say("220 sink")
	for lines.Scan() {
		switch verb := strings.ToUpper(strings.Fields(lines.Text() + " ?")[0]); verb {
		case "RCPT":
			s.mutex.Lock()
			refusal := s.refusal
			s.mutex.Unlock()
			if refusal != "" {
				say(refusal)
				continue
			}
			say("250 ok")
		case "DATA":
			say("354 go on")
			var mail []string
			for lines.Scan() && lines.Text() != "." {
				mail = append(mail, lines.Text())
			}
			s.mutex.Lock()
			s.mails = append(s.mails, strings.Join(mail, "\n"))
			s.mutex.Unlock()
			say("250 kept")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 ok")
		}
	}
}

func (s *sink) take() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	taken := s.mails
	s.mails = nil
	return taken
}

// A mail has the code, and then the pointer. What the relay refuses, the contact says without a word of the relay.
func TestAPointerComesByMail(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		relay := newSink(t)
		var err error
		h.Mail, err = NewRelay("smtp://"+relay.address, "openintent@example.com")
		require.NoError(t, err)
		listed, err := h.set(&openintentv1.NewContact{Kind: toMail, Address: ptr("maria@example.com")})
		require.NoError(t, err)
		require.Nil(t, listed.GetContacts()[0].LastProblem)
		require.Equal(t, "m…@example.com", listed.GetContacts()[0].GetShown())
		mails := relay.take()
		require.Len(t, mails, 1)
		h.prove(listed.GetContacts()[0].GetContactId(), codeIn(t, mails[0][strings.Index(mails[0], "\n\n"):]))

		id := h.ask("alice")
		h.passes(aMinute)
		mails = relay.take()
		require.Len(t, mails, 1)
		require.Contains(t, mails[0], "To: <maria@example.com>")
		require.Contains(t, mails[0], "From: <openintent@example.com>")
		require.Contains(t, mails[0], "Subject: A question waits for you")
		require.Contains(t, mails[0], "Auto-Submitted: auto-generated")
		require.Contains(t, mails[0], "Message-ID: <"+listed.GetContacts()[0].GetContactId()+"_", "mailboxes know a repeat by it")
		unfolded := strings.ReplaceAll(strings.ReplaceAll(mails[0], "=\n", ""), "\n", " ")
		require.Contains(t, unfolded, "alice waits for an answer of maria")
		require.Contains(t, unfolded, "https://openintent.example/console/messages/"+id)

		relay.mutex.Lock()
		relay.refusal = "550 5.1.1 no such mailbox on the secret machine"
		relay.mutex.Unlock()
		h.passes(9 * time.Minute)
		require.Empty(t, relay.take())
		require.Equal(t, "The mail relay refused the mail.", h.listed()[0].GetLastProblem())
		relay.mutex.Lock()
		relay.refusal = "451 later"
		relay.mutex.Unlock()
		h.passes(50 * time.Minute)
		require.Equal(t, "The mail relay could not take the mail now.", h.listed()[0].GetLastProblem())
	})
}

// A mail that the stop of the server cut off says nothing of its contact.
func TestAMailThatAStopCutsOffIsPutOff(t *testing.T) {
	relay, err := NewRelay("smtp://"+newSink(t).address, "openintent@example.com")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	require.True(t, relay.send(ctx, "maria@example.com", "1", codeWords("maria", "12345678")).Delivered)
	cancel()
	require.True(t, relay.send(ctx, "maria@example.com", "1", codeWords("maria", "12345678")).PutOff)
}

// A relay that is not on this machine must encrypt: otherwise codes and passwords would pass in plain text.
func TestARelayElsewhereMustEncrypt(t *testing.T) {
	for address, policy := range map[string]gomail.TLSPolicy{
		"smtp://mail.example.com": gomail.TLSMandatory, "smtp://10.0.0.7:25": gomail.TLSMandatory, "smtp://localhost.example.com": gomail.TLSMandatory,
		"smtp://localhost": gomail.TLSOpportunistic, "smtp://[::1]:2525": gomail.TLSOpportunistic,
	} {
		relay, err := NewRelay(address, "openintent@example.com")
		require.NoError(t, err)
		client, err := gomail.NewClient(relay.host, relay.options...)
		require.NoError(t, err)
		require.Equal(t, policy.String(), client.TLSPolicy(), address)
	}
}

// The password of a relay is in no error.
func TestWhatIsNoRelayIsRefused(t *testing.T) {
	for _, address := range []string{
		"", "mail.example.com", "http://user:secret@mail.example.com", "smtp://user:secret@", "smtp://user:secret@mail.example.com:0/x",
		"smtp://user:secret@mail.example.com:99999", "smtp://user:secret@mail.example.com/?a=b", "smtp://user:sec%ret@mail",
	} {
		_, err := NewRelay(address, "openintent@example.com")
		require.Error(t, err, address)
		require.NotContains(t, err.Error(), "sec")
	}
	_, err := NewRelay("smtp://mail.example.com", "nobody")
	require.ErrorContains(t, err, "mail address")
	for _, address := range []string{"smtp://user:secret@mail.example.com:587", "smtps://mail.example.com", "smtp://localhost:2525"} {
		_, err := NewRelay(address, "openintent@example.com")
		require.NoError(t, err, address)
	}
	require.True(t, isThisMachine("127.0.0.1"))
	require.False(t, isThisMachine("mail.example.com"))
}
