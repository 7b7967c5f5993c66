package jsonform

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// TimeLayout is the form of every time that the server writes; the time must be in UTC.
const TimeLayout = "2006-01-02T15:04:05.000000Z"

var (
	errNotUTF8   = errors.New("jsonform: text that is not valid UTF-8")
	errNotFinite = errors.New("jsonform: NaN or an infinity")
)

// Encode returns the JSON of a message or of a list of messages; a nil list is []. It returns nothing for
// google.protobuf.Empty, whose responses have no body.
func Encode(value any) ([]byte, error) {
	if message, ok := value.(proto.Message); ok {
		return Append(nil, message)
	}
	list := reflect.ValueOf(value)
	if list.Kind() != reflect.Slice {
		return nil, fmt.Errorf("jsonform: %T is neither a message nor a list of messages", value)
	}
	e := encoder{out: []byte{'['}}
	for i := range list.Len() {
		message, ok := list.Index(i).Interface().(proto.Message)
		if !ok {
			return nil, fmt.Errorf("jsonform: %T is not a list of messages", value)
		}
		e.separate(i)
		e.message(message.ProtoReflect())
	}
	e.out = append(e.out, ']')
	return e.out, e.err
}

// Append appends the JSON of a message to out.
func Append(out []byte, message proto.Message) ([]byte, error) {
	if out == nil {
		out = make([]byte, 0, 512)
	}
	e := encoder{out: out}
	e.message(message.ProtoReflect())
	return e.out, e.err
}

// AppendString appends a JSON string to out. It escapes only what JSON requires.
func AppendString(out []byte, text string) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	start := 0
	for i := range len(text) {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		out = append(out, text[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\n':
			out = append(out, `\n`...)
		case '\r':
			out = append(out, `\r`...)
		case '\t':
			out = append(out, `\t`...)
		default:
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(out, text[start:]...), '"')
}

// encoder writes JSON. It keeps the first error; its output after that is useless.
type encoder struct {
	out []byte
	err error
}

func (e *encoder) message(message protoreflect.Message) {
	p := planOf(message.Descriptor())
	if p.shape != ordinary {
		e.wellKnown(message.Interface())
		return
	}
	e.out = append(e.out, '{')
	first := true
	for i := range p.fields {
		f := &p.fields[i]
		unset := (f.mayBeUnset() || f.leftOut) && !message.Has(f.descriptor)
		if unset && f.leftOut {
			continue
		}
		if !first {
			e.out = append(e.out, ',')
		}
		first = false
		e.out = append(e.out, f.key...)
		if unset {
			e.out = append(e.out, "null"...)
			continue
		}
		e.field(f, message.Get(f.descriptor))
	}
	e.out = append(e.out, '}')
}

func (e *encoder) field(f *field, value protoreflect.Value) {
	if !f.descriptor.IsList() {
		e.single(f, value)
		return
	}
	list := value.List()
	e.out = append(e.out, '[')
	for i := range list.Len() {
		e.separate(i)
		e.single(f, list.Get(i))
	}
	e.out = append(e.out, ']')
}

func (e *encoder) single(f *field, value protoreflect.Value) {
	switch kind := f.descriptor.Kind(); kind {
	case protoreflect.StringKind:
		e.text(value.String())
	case protoreflect.BoolKind:
		e.out = strconv.AppendBool(e.out, value.Bool())
	case protoreflect.Int32Kind, protoreflect.Int64Kind:
		e.out = strconv.AppendInt(e.out, value.Int(), 10)
	case protoreflect.DoubleKind:
		e.double(value.Float())
	case protoreflect.EnumKind:
		word, ok := f.words.quoted[value.Enum()]
		if !ok {
			word = "null"
		}
		e.out = append(e.out, word...)
	case protoreflect.MessageKind:
		e.message(value.Message())
	default:
		e.fail(fmt.Errorf("jsonform: %s has a kind that the contract does not use: %s", f.descriptor.FullName(), kind))
	}
}

func (e *encoder) wellKnown(message proto.Message) {
	switch m := message.(type) {
	case *timestamppb.Timestamp:
		e.out = append(e.out, '"')
		e.out = m.AsTime().AppendFormat(e.out, TimeLayout)
		e.out = append(e.out, '"')
	case *structpb.Struct:
		e.object(m)
	case *structpb.Value:
		e.value(m)
	case *structpb.ListValue:
		e.list(m)
	}
}

// object writes a free-form object with sorted keys, so that equal objects have equal text.
func (e *encoder) object(object *structpb.Struct) {
	e.out = append(e.out, '{')
	fields := object.GetFields()
	if len(fields) == 1 {
		for key, value := range fields {
			e.member(key, value)
		}
	} else {
		for i, key := range slices.Sorted(maps.Keys(fields)) {
			e.separate(i)
			e.member(key, fields[key])
		}
	}
	e.out = append(e.out, '}')
}

func (e *encoder) member(key string, value *structpb.Value) {
	e.text(key)
	e.out = append(e.out, ':')
	e.value(value)
}

func (e *encoder) list(list *structpb.ListValue) {
	e.out = append(e.out, '[')
	for i, value := range list.GetValues() {
		e.separate(i)
		e.value(value)
	}
	e.out = append(e.out, ']')
}

func (e *encoder) value(value *structpb.Value) {
	switch kind := value.GetKind().(type) {
	case *structpb.Value_StringValue:
		e.text(kind.StringValue)
	case *structpb.Value_NumberValue:
		e.double(kind.NumberValue)
	case *structpb.Value_BoolValue:
		e.out = strconv.AppendBool(e.out, kind.BoolValue)
	case *structpb.Value_StructValue:
		e.object(kind.StructValue)
	case *structpb.Value_ListValue:
		e.list(kind.ListValue)
	default:
		e.out = append(e.out, "null"...)
	}
}

func (e *encoder) text(text string) {
	if !utf8.ValidString(text) {
		e.fail(errNotUTF8)
	}
	e.out = AppendString(e.out, text)
}

// double writes a number as ECMAScript does, with one exception: integers beyond ±(2^53−1) get an exponent. Intake
// refuses them as integer literals, and clients must be able to send every answer back.
func (e *encoder) double(number float64) {
	const largestInteger = 1<<53 - 1
	magnitude := math.Abs(number)
	switch {
	case math.IsNaN(number) || math.IsInf(number, 0):
		e.fail(errNotFinite)
	case number == math.Trunc(number) && magnitude <= largestInteger:
		e.out = strconv.AppendInt(e.out, int64(number), 10)
	case magnitude >= 1e-6 && magnitude <= largestInteger:
		e.out = strconv.AppendFloat(e.out, number, 'f', -1, 64)
	default:
		e.out = strconv.AppendFloat(e.out, number, 'e', -1, 64)
		// Go pads the exponent to two digits, ECMAScript does not.
		if n := len(e.out); e.out[n-2] == '0' && (e.out[n-3] == '-' || e.out[n-3] == '+') {
			e.out = append(e.out[:n-2], e.out[n-1])
		}
	}
}

// separate writes the comma before every element except the first.
func (e *encoder) separate(index int) {
	if index > 0 {
		e.out = append(e.out, ',')
	}
}

func (e *encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}
