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

	"openintent/fault"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/jsonvalue"
	"openintent/server/jsonform"
)

const (
	// bodyTimeout bounds how long a client may take over a body, and firstBuffer what is kept for it before it comes.
	bodyTimeout = requestTimeout
	firstBuffer = 64 << 10
	// drainBytes and drainTimeout bound how much of a body that is too large is read and thrown away.
	drainBytes   = 4 << 20
	drainTimeout = 5 * time.Second
)

// errNothingToChange is the refusal of an update that names no field. Without it the generated code would make a mask
// of it that means something else.
var errNothingToChange = fault.New(fault.Invalid, "NOTHING_TO_CHANGE",
	"The body must be a JSON object that names at least one field to change.")

// errBodyEncoded is the refusal of a body that is compressed. Read as it is, it would be no JSON.
var errBodyEncoded = fault.New(fault.Invalid, "BODY_ENCODED",
	"The body is compressed or otherwise encoded; send it as it is, without Content-Encoding.")

// prepare checks the path's parameters and the query, and reads the body, before the generated code runs. A refusal is
// answered from here, in full.
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
			r.PostForm = r.Form // The generated code parses neither again.
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

// checkPath refuses what no id or name can be and the database could not look up.
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

// textProblem says why a text of a path or a query cannot be one, or "".
func textProblem(text string) string {
	switch {
	case !utf8.ValidString(text):
		return "must be UTF-8 under its escapes."
	case strings.ContainsRune(text, 0):
		return "may not contain U+0000."
	}
	return ""
}

// readBody reads the request's body and makes of it what the generated code is to read.
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

// readAll reads the body, as far as there is memory for it on the caller's account.
func (g *gateway) readAll(w http.ResponseWriter, r *http.Request, account *account) ([]byte, error) {
	tooLarge := fault.New(fault.TooLarge, "BODY_TOO_LARGE", "The body is larger than %d bytes, the most that is taken.",
		g.options.MaxBodyBytes)
	// Where deadlines are not supported, as in a test's recorder, none is needed.
	control := http.NewResponseController(w)
	if r.ContentLength > g.options.MaxBodyBytes {
		if r.Header.Get("Expect") == "" { // A client that asks first sends nothing when it is refused.
			drain(control, r.Body)
		}
		return nil, tooLarge
	}
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout))
	held := heldBody{account: account}
	defer held.release()
	// A length is only a promise: the buffer grows with what comes.
	buffer := bytes.NewBuffer(make([]byte, 0, min(max(r.ContentLength, 0), firstBuffer)+bytes.MinRead))
	if _, err := buffer.ReadFrom(held.reader(io.LimitReader(r.Body, g.options.MaxBodyBytes+1))); err != nil {
		return nil, incompleteBody(err)
	}
	if int64(buffer.Len()) > g.options.MaxBodyBytes {
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

// heldBody counts a body that is being read on the caller's account.
type heldBody struct {
	account *account
	from    io.Reader
	bytes   int64
}

func (h *heldBody) reader(from io.Reader) io.Reader {
	h.from = from
	return h
}

// Read reads and counts, and refuses what there is no memory for.
func (h *heldBody) Read(into []byte) (int, error) {
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

func (h *heldBody) release() {
	if h.account != nil {
		h.account.holdRequest(-h.bytes)
	}
}

// drain reads on in a body that is refused, within bounds: a client that writes all of it before it reads would find the
// connection cut, and never see why. A deadline that was missed stays, so that nothing waits for the rest any more.
func drain(control *http.ResponseController, body io.Reader) {
	_ = control.SetReadDeadline(time.Now().Add(drainTimeout))
	if _, err := io.CopyN(io.Discard, body, drainBytes); errors.Is(err, io.EOF) {
		_ = control.SetReadDeadline(time.Time{})
	}
}

// requestBody is a request's body, with what is needed to decode it well. The generated code only sees a reader and
// gives it to the marshaler, which recognizes it.
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

// agreesWithPath refuses a field that the path has too, with another value.
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

// fieldOf gives the field of the body that a path's parameter names: id for {channel.id}.
func fieldOf(parameter string) string { return parameter[strings.LastIndexByte(parameter, '.')+1:] }

// forUpdate checks the body of an update and gives it on reduced to what it changes: the generated code derives the
// update mask from it, and would refuse unknown fields where they are to be ignored, take {} in a field for a change,
// and count the path's own field as one.
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

// refuseNullLists refuses a null where a list would be replaced: elsewhere null means unset, and nobody empties a list
// by sending a whole object with what it does not know as null.
func refuseNullLists(text []byte, message protoreflect.MessageDescriptor) error {
	for key, value := range jsonvalue.Members(text) {
		field := message.Fields().ByName(protoreflect.Name(key))
		if field != nil && field.IsList() && string(value) == "null" {
			return fault.BadField(string(key), "cannot be null; send [] to empty it, or leave it out.")
		}
	}
	return nil
}

// changesIn copies an object without its unknown members, its empty messages and those that the path names, and tells
// whether anything is left.
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

// marshaler is the contract's JSON form as the gateway wants it.
type marshaler struct{}

var _ runtime.Marshaler = marshaler{}

// ContentType is always JSON; problems set their own.
func (marshaler) ContentType(any) string { return "application/json" }

// Marshal gives the JSON of a message or a list of messages.
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

// NewDecoder gives a decoder of one request's body. Its errors are also kept in the call, for fail. They are never
// io.EOF, which the generated code would pass over.
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

// NewEncoder writes the JSON of messages.
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

// messageAt gives the message that the generated code wants filled: a message, or a nil field for one.
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

// acceptEventType turns the name that existing clients have for a message's log entry into the RFC's.
func acceptEventType(message proto.Message) {
	if event, ok := message.(*openintentv1.AppendEventRequest); ok && event.GetEventType() == clientEventType {
		event.EventType = messageEventType
	}
}
