package agentchannel

import (
	"io"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc"

	"openintent/doors"
)

// Config is what the door needs.
type Config struct {
	// Connection leads to the contract; required.
	Connection grpc.ClientConnInterface
	Options
}

// Door serves the protocol over HTTP.
type Door struct {
	config   Config
	underWay underWay
}

// New makes the door.
func New(config Config) *Door { return &Door{config: config} }

// ServeHTTP answers one request.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := d.answer(r)
	if err != nil {
		refusal := doors.RefusalOf(err)
		d.Refuse(w, refusal.HTTPStatus(), refusal)
		return
	}
	header := w.Header()
	header.Set("Content-Type", answer.contentType)
	header.Set("Cache-Control", "no-store")
	header.Set("Vary", "Accept")
	if answer.etag != "" {
		header.Set("ETag", strconv.Quote(answer.etag))
	}
	if answer.location != "" {
		header.Set("Location", answer.location)
	}
	header.Set("Content-Length", strconv.Itoa(len(answer.body)))
	w.WriteHeader(answer.status)
	_, _ = w.Write(answer.body)
}

// answered is an answer in the form that the request asks for.
type answered struct {
	status                      int
	contentType, etag, location string
	body                        []byte
}

// answer finds out who calls and what for, and does it.
func (d *Door) answer(r *http.Request) (*answered, error) {
	route, err := routeOf(r)
	if err != nil {
		return nil, err
	}
	form, err := formatOf(r)
	if err != nil {
		return nil, err
	}
	who, err := doors.Identify(r.Context(), d.config.Connection, r.Header)
	if err != nil {
		return nil, err
	}
	leave, err := d.underWay.enter(who.Agent)
	if err != nil {
		return nil, err
	}
	defer leave()
	desk := &Desk{Options: d.config.Options, Caller: who, Base: baseOf(r)}
	said, err := route.do(desk, r, route.channel)
	if err != nil {
		return nil, err
	}
	made := &answered{status: route.status, contentType: contentTypes[form]}
	switch said := said.(type) {
	case *Event:
		made.etag = said.ID
	case *Created:
		made.location = root + "/" + said.ID
	}
	made.body, err = form.write(said)
	return made, err
}

// baseOf returns how the URLs begin that the caller can use: as it has called itself, since only it reads them.
func baseOf(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	return scheme + "://" + strings.Map(func(c rune) rune {
		if c <= ' ' || strings.ContainsRune(`'"<>\`+"`", c) || c >= 0x7f {
			return -1
		}
		return c
	}, r.Host)
}

// readBody reads the body of a request, which the server in front has bounded.
func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	return io.ReadAll(r.Body)
}

// help tells a caller without a key what a URL of this door is. It says nothing about the channel in the URL.
const help = "This is the address of an agent channel. It takes a key. If the URL that you were given has a #, what stands behind the # is the " +
	"key: send it as the header Authorization: Bearer KEY, and leave the # and what follows out of the request, as in " +
	"curl -H \"Authorization: Bearer KEY\" 'URL?format=md'. The answer says what the channel is and how to take part."

// Refuse answers a request that is refused, with the reason and the sentence.
func (d *Door) Refuse(w http.ResponseWriter, status int, refusal doors.Refusal) {
	header := w.Header()
	header.Set("Content-Type", "application/problem+json")
	refusal.Announce(header, status)
	said := map[string]any{"status": status, "reason": refusal.Reason, "detail": refusal.Message, "title": http.StatusText(status)}
	for name, value := range refusal.Facts {
		if _, taken := said[name]; !taken {
			said[name] = value
		}
	}
	if status == http.StatusUnauthorized {
		said["help"] = help
	}
	body, err := inJSON(said)
	if err != nil {
		body = nil // texts and a number always have a JSON form
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
