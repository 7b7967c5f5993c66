package jsonvalue

import (
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"
)

// FromStruct validates an object that came over gRPC; nil becomes an absent one. It refuses values that the JSON text could
// not hold: NaN and infinities, U+0000, text that is not UTF-8, nesting beyond MaxDepth, and a value without a kind.
//
// Equal structs have equal texts: keys are in canonical order, integers within ±(2^53−1) have no exponent, larger integers have
// one, and other numbers are in the shortest form that reads back as the same double.
func FromStruct(s *structpb.Struct, path string) (Object, error) {
	if s == nil {
		return nil, nil
	}
	var w structReader
	if v := w.object(s, 1); v != nil {
		return nil, v.underRoot(path)
	}
	return w.out, nil
}

// structReader recurses only as deep as MaxDepth.
type structReader struct {
	out []byte
}

func (w *structReader) object(s *structpb.Struct, depth int) *Violation {
	if depth > MaxDepth {
		return tooDeep()
	}
	fields := s.GetFields()
	w.out = append(w.out, '{')
	for _, key := range slices.SortedFunc(maps.Keys(fields), compareKeys[string]) {
		if v := w.string(key); v != nil {
			return v
		}
		w.out = append(w.out, ':')
		if v := w.value(fields[key], depth+1); v != nil {
			return v.underKey([]byte(key))
		}
		w.out = append(w.out, ',')
	}
	w.out = closed(w.out, '}')
	return nil
}

func (w *structReader) list(l *structpb.ListValue, depth int) *Violation {
	if depth > MaxDepth {
		return tooDeep()
	}
	w.out = append(w.out, '[')
	for i, element := range l.GetValues() {
		if v := w.value(element, depth+1); v != nil {
			return v.underIndex(i)
		}
		w.out = append(w.out, ',')
	}
	w.out = closed(w.out, ']')
	return nil
}

func (w *structReader) value(value *structpb.Value, depth int) *Violation {
	switch kind := value.GetKind().(type) {
	case *structpb.Value_NullValue:
		w.out = append(w.out, "null"...)
	case *structpb.Value_BoolValue:
		if kind.BoolValue {
			w.out = append(w.out, "true"...)
		} else {
			w.out = append(w.out, "false"...)
		}
	case *structpb.Value_NumberValue:
		return w.number(kind.NumberValue)
	case *structpb.Value_StringValue:
		return w.string(kind.StringValue)
	case *structpb.Value_StructValue:
		return w.object(kind.StructValue, depth)
	case *structpb.Value_ListValue:
		return w.list(kind.ListValue, depth)
	default:
		return refuse("the value has no kind; send null as a null value.")
	}
	return nil
}

func (w *structReader) number(f float64) *Violation {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return refuse("NaN and infinities are not JSON numbers.")
	}
	w.out = appendDouble(w.out, f)
	return nil
}

func (w *structReader) string(s string) *Violation {
	if !utf8.ValidString(s) {
		return notUTF8()
	}
	if strings.IndexByte(s, 0) >= 0 {
		return zeroCharacter()
	}
	w.out = appendString(w.out, s)
	return nil
}

// Struct returns the object as gRPC sends it; an absent one becomes nil. Numbers become doubles. It fails, with a *Violation,
// only if the text was never validated. Like Canonical it accepts a few levels more than MaxDepth, so that an accepted object
// can be sent within another.
func (o Object) Struct() (*structpb.Struct, error) {
	if o.IsNull() {
		return nil, nil
	}
	s := scanner{text: o, deepest: MaxDepth + wrappingDepth}
	if v := s.document(); v != nil {
		return nil, v.underRoot("")
	}
	w := structWriter{in: cursor{text: o}}
	if w.in.peek() != '{' {
		return nil, refuse("must be a JSON object.")
	}
	return w.object(), nil
}

type structWriter struct {
	in cursor
}

func (w *structWriter) object() *structpb.Struct {
	fields := make(map[string]*structpb.Value)
	for key := range w.in.members {
		fields[string(unescape(key))] = w.value()
	}
	return &structpb.Struct{Fields: fields}
}

func (w *structWriter) value() *structpb.Value {
	switch w.in.peek() {
	case '{':
		return structpb.NewStructValue(w.object())
	case '[':
		return structpb.NewListValue(w.list())
	case '"':
		return structpb.NewStringValue(string(unescape(w.in.quoted())))
	}
	switch literal := w.in.scalar(); literal[0] {
	case 'n':
		return structpb.NewNullValue()
	case 't', 'f':
		return structpb.NewBoolValue(literal[0] == 't')
	default:
		return structpb.NewNumberValue(double(literal))
	}
}

func (w *structWriter) list() *structpb.ListValue {
	list := &structpb.ListValue{}
	for range w.in.elements {
		list.Values = append(list.Values, w.value())
	}
	return list
}
