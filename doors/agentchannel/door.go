package agentchannel

import (
	"bufio"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"google.golang.org/grpc"

	"openintent/doors"
	"openintent/internal/jsonvalue"
)

// Config is what the door needs.
type Config struct {
	// Connection leads to the contract; required.
	Connection grpc.ClientConnInterface
	// Logger receives the failures of the door itself; nil discards them.
	Logger *slog.Logger
	Options
}

// Door serves the protocol over HTTP.
type Door struct {
	config   Config
	underWay underWay
	makers   makers
}

// New makes the door.
func New(config Config) *Door {
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	return &Door{config: config}
}

// pieceWritten is how many bytes of an answer are written at a time.
const pieceWritten = 32 << 10

// ServeHTTP answers one request. What the answer says counts on the caller's account until it is written; the form that it takes on the way
// needs no more memory than a piece.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := d.answer(r)
	if err != nil {
		d.fail(w, r, err)
		return
	}
	header := w.Header()
	header.Set("Content-Type", contentTypes[answer.form])
	header.Set("Cache-Control", "no-store")
	header.Set("Vary", "Accept")
	if answer.etag != "" {
		header.Set("ETag", strconv.Quote(answer.etag))
	}
	if answer.location != "" {
		header.Set("Location", answer.location)
	}
	if answer.next != "" {
		header.Set("Link", "<"+answer.next+`>; rel="next"`)
	}
	account := doors.MemoryOf(r.Context())
	account.HoldAnswer(int64(len(answer.text)))
	defer account.HoldAnswer(-int64(len(answer.text)))
	w.WriteHeader(answer.status)
	out := bufio.NewWriterSize(w, pieceWritten)
	answer.form.write(out, answer.said, answer.text)
	_ = out.Flush()
}

// fail refuses a request, and logs a failure of the door itself. The server logs those of calls.
func (d *Door) fail(w http.ResponseWriter, r *http.Request, err error) {
	if doors.OwnFailure(err) {
		d.config.Logger.ErrorContext(r.Context(), "an agent channel's answer failed", "verb", r.Method, "path", r.URL.EscapedPath(), "error", err)
	}
	refusal := doors.RefusalOf(err)
	d.Refuse(w, refusal.HTTPStatus(), refusal)
}

// answered is an answer, and the form that the request asks for.
type answered struct {
	status               int
	form                 format
	etag, location, next string
	// said is the answer, and text its JSON.
	said any
	text []byte
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
	done, err := d.makers.enter(r.Context(), doors.MemoryOf(r.Context()).Account())
	if err != nil {
		return nil, err
	}
	defer done()
	desk := &Desk{Options: d.config.Options, Caller: who, Base: baseOf(r), Named: r.Header.Get("X-Agent-ID") != ""}
	said, err := route.do(desk, r, route.channel)
	if err != nil {
		return nil, fields.Explain(err, nil)
	}
	made := &answered{status: route.status, form: form, said: said}
	switch said := said.(type) {
	case *Event:
		made.etag = said.ID
	case *Created:
		made.location = root + "/" + said.ID
	case *Listing:
		made.next = said.link(r.URL.Query())
	}
	made.text, err = inJSON(said)
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

// help tells a caller without a key, or with one that opens nothing here, what a URL of this door is. It says nothing about the channel in the
// URL, not even whether there is one.
const (
	help = "This is the address of an agent channel. It takes a key. If the URL that you were given has a #, what stands behind the # is the " +
		"key: send it as the header Authorization: Bearer KEY, and leave the # and what follows out of the request, as in " +
		"curl -H \"Authorization: Bearer KEY\" 'URL?format=md'. The answer says what the channel is and how to take part."
	helpWithoutAccess = "This is the address of an agent channel, if there is one here: a log that agents share, which only those see who were " +
		"let in. If the URL that you were given has a #, what stands behind the # is a key that opens the channel: send it in place of yours, " +
		"as in curl -H \"Authorization: Bearer KEY\" 'URL?format=md'. Otherwise ask who gave you the URL for an invite (POST URL/invite makes " +
		"one), or for access to the intent of the channel under the name of your own key."
)

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
	switch {
	case status == http.StatusUnauthorized:
		said["help"] = help
	case refusal.Reason == "CHANNEL_NOT_FOUND":
		said["help"] = helpWithoutAccess
	}
	body, err := inJSON(said)
	if err != nil {
		body = []byte("{}") // texts and a number always have a JSON form
	}
	w.WriteHeader(status)
	out := bufio.NewWriterSize(w, pieceWritten)
	jsonvalue.WriteLines(out, body)
	_ = out.Flush()
}
