package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/jsonvalue"
	"openintent/server/jsonform"
)

const (
	// bodyTimeout bounds how long a client may take to send a body, and firstBuffer bounds the buffer that is kept
	// for it before it arrives.
	bodyTimeout = requestTimeout
	firstBuffer = 64 << 10
	// drainBytes and drainTimeout bound how much of a body that is too large is read and discarded.
	drainBytes   = 4 << 20
	drainTimeout = 5 * time.Second
)

// errNothingToChange refuses an update that names no field. Otherwise the generated code would make an update mask of
// it that means something else.
var errNothingToChange = fault.New(fault.Invalid, "NOTHING_TO_CHANGE",
	"The body must be a JSON object that names at least one field to change.")

// errBodyEncoded refuses a body that is compressed. Taken literally, such a body is not JSON.
var errBodyEncoded = fault.New(fault.Invalid, "BODY_ENCODED",
	"The body is compressed or otherwise encoded; send it as it is, without Content-Encoding.")

// prepare checks the path's parameters and the query, and reads the body, before the generated code runs. It answers
// a refusal itself, in full.
func (g *gateway) prepare(next runtime.HandlerFunc) runtime.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request, parameters map[string]string) {
		pattern, _ := runtime.HTTPPattern(r.Context())
		route, ok := g.routes.find(r.Method, pattern.String())
		if !ok {
			g.refuse(w, r, fmt.Errorf("no route for %s %s", r.Method, pattern))
			return
		}
		call := restCallFrom(r.Context())
		err := checkPath(parameters)
		if err == nil {
			r.Form, err = route.readQuery(r.URL.RawQuery, call.compatibility)
			r.PostForm = r.Form // The generated code parses neither of them again.
			call.query = r.Form
		}
		if err == nil {
			r.Body, err = g.readBody(w, r, route, parameters, call)
		}
		if err != nil {
			g.refuse(w, r, err)
			return
		}
		next(w, r, parameters)
	}
}

// checkPath refuses parameters that cannot be an id or a name, and that the database could not look up.
func checkPath(parameters map[string]string) error {
	for name, value := range parameters {
		if value == "" {
			return errRouteUnknown // /v1/intents/ is not the intent without a name
		}
		if problem := textProblem(value); problem != "" {
			return fault.BadField(name, problem)
		}
	}
	return nil
}

// textProblem returns why a text of a path or a query cannot be valid, or "".
func textProblem(text string) string {
	switch {
	case !utf8.ValidString(text):
		return "must be UTF-8 under its escapes."
	case strings.ContainsRune(text, 0):
		return zeroProblem
	}
	return ""
}

// readBody reads the request's body and prepares it for the generated code.
func (g *gateway) readBody(
	w http.ResponseWriter, r *http.Request, route *route, parameters map[string]string, call *restCall,
) (io.ReadCloser, error) {
	if route.body == "" {
		return http.NoBody, nil
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, errBodyEncoded
	}
	text, err := g.readAll(w, r, call.account)
	if err != nil {
		return nil, err
	}
	body := &requestBody{Reader: bytes.NewReader(text), text: text, parameters: parameters, call: call}
	if route.body == "*" {
		return body, nil
	}
	return body.forUpdate(route)
}

// readAll reads the body, as far as the caller's account has memory for it.
func (g *gateway) readAll(w http.ResponseWriter, r *http.Request, account *account) ([]byte, error) {
	return readUpTo(w, r, account, g.options.MaxBodyBytes)
}

// readUpTo reads a body that is not larger than a bound, as far as an account has memory for it.
func readUpTo(w http.ResponseWriter, r *http.Request, account *account, most int64) ([]byte, error) {
	tooLarge := fault.New(fault.TooLarge, "BODY_TOO_LARGE", "The body is larger than %d bytes, the most that is taken.", most)
	// Where deadlines are not supported, as in a test's recorder, none is needed.
	control := http.NewResponseController(w)
	if r.ContentLength > most {
		if r.Header.Get("Expect") == "" { // A client that asks first sends nothing when it is refused.
			drain(control, r.Body)
		}
		return nil, tooLarge
	}
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	held := keptBody{account: account}
	defer held.release()
	// A Content-Length is only a promise: the buffer grows with what arrives.
	buffer := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0), firstBuffer)+bytes.MinRead))
	if _, err := buffer.ReadFrom(held.reader(io.LimitReader(r.Body, most+1))); err != nil {
		return nil, incompleteBody(err)
	}
	if int64(buffer.Len()) > most {
		drain(control, r.Body)
		return nil, tooLarge
	}
	_ = control.SetReadDeadline(time.Time{})
	return buffer.Bytes(), nil
}

// incompleteBody is the refusal of a body that was not read to its end.
func incompleteBody(err error) error {
	switch {
	case errors.Is(err, errRequestsHeld):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errRequestSlow.Because(err)
	}
	return fault.BadField(jsonform.Body, "ended before it was complete.").Because(err)
}

// keptBody counts a body on the caller's account while it is read.
type keptBody struct {
	account *account
	from    io.Reader
	bytes   int64
}

func (h *keptBody) reader(from io.Reader) io.Reader {
	h.from = from
	return h
}

// Read reads and counts, and refuses the body when there is no memory left for it.
func (h *keptBody) Read(into []byte) (int, error) {
	n, err := h.from.Read(into)
	if n == 0 || h.account == nil {
		return n, err
	}
	h.bytes += int64(n)
	if !h.account.holdRequest(int64(n)) {
		return 0, errRequestsHeld
	}
	return n, err
}

func (h *keptBody) release() {
	if h.account != nil {
		h.account.holdRequest(-h.bytes)
	}
}

// drain continues to read a refused body, within bounds. A client that writes all of its body before it reads would
// otherwise find the connection cut and never see the refusal. A deadline that has passed stays set, so that nothing
// waits for the rest any more.
func drain(control *http.ResponseController, body io.Reader) {
	_ = control.SetReadDeadline(time.Now().Add(drainTimeout))
	if _, err := io.CopyN(io.Discard, body, drainBytes); errors.Is(err, io.EOF) {
		_ = control.SetReadDeadline(time.Time{})
	}
}

// requestBody is a request's body, with what is needed to decode it well. The generated code sees only a reader and
// passes it to the marshaler, which recognizes it.
type requestBody struct {
	*bytes.Reader
	text       []byte
	parameters map[string]string
	call       *restCall
}

// Close does nothing; the text is in memory.
func (*requestBody) Close() error { return nil }

// decode reads the body into the request's message. An empty body counts as {}.
func (b *requestBody) decode(into proto.Message) error {
	if len(bytes.TrimSpace(b.text)) > 0 {
		options := jsonform.Options{IgnoreUnknown: b.call.compatibility}
		if fields := jsonform.Decode(b.text, into, options); len(fields) > 0 {
			return invalidFields(fields)
		}
	}
	if b.call.compatibility {
		acceptEventType(into)
	}
	return b.agreesWithPath(into.ProtoReflect())
}

// agreesWithPath refuses a body whose field has another value than the same field in the path.
func (b *requestBody) agreesWithPath(message protoreflect.Message) error {
	for name, value := range b.parameters {
		own := fieldOf(name)
		field := message.Descriptor().Fields().ByName(protoreflect.Name(own))
		if field == nil || !message.Has(field) || message.Get(field).String() == value {
			continue
		}
		return fault.BadField(own, "differs from the path; leave it out of the body.")
	}
	return nil
}

// fieldOf returns the body's field that a path's parameter names: id for {channel.id}.
func fieldOf(parameter string) string { return parameter[strings.LastIndexByte(parameter, '.')+1:] }

// forUpdate checks the body of an update and reduces it to what it changes. The generated code derives the update
// mask from the body. From the full body it would refuse unknown fields that are to be ignored, count {} in a field
// as a change, and count the path's own field as one.
func (b *requestBody) forUpdate(route *route) (io.ReadCloser, error) {
	if len(bytes.TrimSpace(b.text)) == 0 {
		return nil, errNothingToChange
	}
	b.call.bodyField = route.body
	field := route.input.Descriptor().Fields().ByName(protoreflect.Name(route.body))
	resource := route.input.New().Mutable(field).Message()
	if err := b.decode(resource.Interface()); err != nil {
		return nil, err
	}
	if err := refuseNullLists(b.text, resource.Descriptor()); err != nil {
		return nil, err
	}
	changes, left := changesIn(b.text, resource.Descriptor(), b.parameters)
	if !left {
		return nil, errNothingToChange
	}
	return io.NopCloser(bytes.NewReader(changes)), nil
}

// refuseNullLists refuses a null in place of a list. Elsewhere null means unset, and a client must not empty a list
// by sending a whole object whose unknown parts are null.
func refuseNullLists(text []byte, message protoreflect.MessageDescriptor) error {
	for key, value := range jsonvalue.Members(text) {
		field := message.Fields().ByName(protoreflect.Name(key))
		if field != nil && field.IsList() && string(value) == "null" {
			return fault.BadField(string(key), "cannot be null; send [] to empty it, or leave it out.")
		}
	}
	return nil
}

// changesIn copies an object without its unknown members, its empty messages and the members that the path names. It
// also reports whether anything is left.
func changesIn(
	text []byte, message protoreflect.MessageDescriptor, parameters map[string]string,
) (changes []byte, left bool) {
	o := objectWriter{out: []byte{'{'}}
	for key, value := range jsonvalue.Members(text) {
		field := message.Fields().ByName(protoreflect.Name(key))
		if field == nil || isParameter(parameters, string(key)) {
			continue
		}
		if field.Message() != nil && !field.IsList() && value[0] == '{' && !isWellKnown(field.Message()) {
			var some bool
			if value, some = changesIn(value, field.Message(), nil); !some {
				continue
			}
		}
		o.raw(string(key), string(value))
	}
	return append(o.out, '}'), len(o.names) > 0
}

func isParameter(parameters map[string]string, field string) bool {
	for parameter := range parameters {
		if fieldOf(parameter) == field {
			return true
		}
	}
	return false
}

func isWellKnown(message protoreflect.MessageDescriptor) bool {
	return message.FullName().Parent() == "google.protobuf"
}

// marshaler adapts the contract's JSON form to the gateway.
type marshaler struct{}

var _ runtime.Marshaler = marshaler{}

// ContentType is always JSON; problems set their own.
func (marshaler) ContentType(any) string { return "application/json" }

// Marshal returns the JSON of a message or a list of messages.
func (marshaler) Marshal(value any) ([]byte, error) { return jsonform.Encode(value) }

// Unmarshal reads JSON that was checked before.
func (marshaler) Unmarshal(text []byte, into any) error {
	message, err := messageAt(into)
	if err != nil {
		return err
	}
	if fields := jsonform.Decode(text, message, jsonform.Options{}); len(fields) > 0 {
		return invalidFields(fields)
	}
	return nil
}

// NewDecoder returns a decoder of one request's body. It also keeps its errors in the call, for fail. They are never
// io.EOF, which the generated code would ignore.
func (m marshaler) NewDecoder(from io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(into any) error {
		if body, ok := from.(*requestBody); ok {
			message, err := messageAt(into)
			if err == nil {
				err = body.decode(message)
			}
			body.call.refusal = err
			return err
		}
		text, err := io.ReadAll(from)
		if err != nil {
			return err
		}
		return m.Unmarshal(text, into)
	})
}

// NewEncoder returns a writer of messages' JSON.
func (m marshaler) NewEncoder(to io.Writer) runtime.Encoder {
	return runtime.EncoderFunc(func(value any) error {
		text, err := m.Marshal(value)
		if err != nil {
			return err
		}
		_, err = to.Write(text)
		return err
	})
}

var errNoMessage = errors.New("the gateway decodes into messages only")

// messageAt returns the message that the generated code wants filled: a message, or a nil field for one.
func messageAt(into any) (proto.Message, error) {
	if message, ok := into.(proto.Message); ok {
		return message, nil
	}
	field := reflect.ValueOf(into)
	if field.Kind() != reflect.Pointer || field.Elem().Kind() != reflect.Pointer {
		return nil, errNoMessage
	}
	if field.Elem().IsNil() {
		field.Elem().Set(reflect.New(field.Elem().Type().Elem()))
	}
	message, ok := field.Elem().Interface().(proto.Message)
	if !ok {
		return nil, errNoMessage
	}
	return message, nil
}

// acceptEventType replaces the name that existing clients have for a message's log entry by the RFC's.
func acceptEventType(message proto.Message) {
	if event, ok := message.(*openintentv1.AppendEventRequest); ok && event.GetEventType() == clientEventType {
		event.EventType = messageEventType
	}
}
