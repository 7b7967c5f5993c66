package c2a

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"openintent/doors"
)

// frame is one message of JSON-RPC 2.0: a request, a notification, which has no id, or the answer to a request.
type frame struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// rpcError is why a request was not carried out.
type rpcError struct {
	Code    int        `json:"code"`
	Message string     `json:"message"`
	Data    *errorData `json:"data,omitempty"`
}

// errorData is the part of an error that the contract vouches for.
type errorData struct {
	Reason string            `json:"reason"`
	Facts  map[string]string `json:"facts,omitempty"`
}

// The codes of JSON-RPC, and the one of requests that come before initialize.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeUnknownMethod  = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeUninitialized  = -32002
)

func newError(code int, reason, sentence string) *rpcError {
	return &rpcError{Code: code, Message: sentence, Data: &errorData{Reason: reason}}
}

// refused returns a refusal of the contract as an error.
func refused(err error) *rpcError {
	refusal := doors.RefusalOf(err)
	return &rpcError{Code: doors.CodeRefused, Message: refusal.Message, Data: &errorData{refusal.Reason, refusal.Facts}}
}

// version is JSON-RPC's.
const version = "2.0"

var (
	errNotJSON = newError(codeParse, "INVALID_JSON", "The message is no JSON in UTF-8; send one JSON-RPC 2.0 object.")
	errBatch   = newError(codeInvalidRequest, "BATCH_NOT_ALLOWED", "This door takes one JSON-RPC object in a message; send each by itself.")
	errNoFrame = newError(codeInvalidRequest, "INVALID_REQUEST",
		"The message is no JSON-RPC 2.0 object with a method, or with an id and a result or an error.")
)

// parse reads a message. What is no frame has an error, to be answered with the id null.
func parse(text []byte) (f frame, problem *rpcError) {
	text = bytes.TrimLeft(text, " \t\r\n")
	if len(text) > 0 && text[0] == '[' {
		return frame{}, errBatch
	}
	if !utf8.Valid(text) || !json.Valid(text) {
		return frame{}, errNotJSON
	}
	if err := json.Unmarshal(text, &f); err != nil || f.Version != version || !isID(f.ID) {
		return frame{}, errNoFrame
	}
	if f.Method == "" && (f.ID == nil || (f.Result == nil) == (f.Error == nil)) {
		return frame{}, errNoFrame
	}
	return f, nil
}

// isID reports whether a frame's id, if it has one, is a text or a number.
func isID(id json.RawMessage) bool {
	return id == nil || id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9'
}

// text returns an id that is a text, as all ids of this side's requests are.
func (f frame) textID() (id string, ok bool) {
	return id, json.Unmarshal(f.ID, &id) == nil
}

// encode writes a frame of this side. It escapes no < and >, which would only cost tokens.
func encode(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimRight(out.Bytes(), "\n"), err
}

// unwritten takes the place of a frame that cannot be written.
const unwritten = `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"The server failed; the failure has been logged.","data":{"reason":"INTERNAL"}}}`

// outgoing is a frame of this side before its parts are encoded.
type outgoing struct {
	Version string `json:"jsonrpc"`
	ID      any    `json:"id,omitempty"`
	Method  string `json:"method,omitempty"`
	Params  any    `json:"params,omitempty"`
	Result  any    `json:"result,omitempty"`
}

// failure is an answer that says why a request was not carried out. Its id is null if the request's could not be read.
type failure struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Error   *rpcError       `json:"error"`
}
