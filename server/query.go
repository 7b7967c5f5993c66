package server

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"github.com/grpc-ecosystem/grpc-gateway/v2/utilities"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/server/jsonform"
)

// readQuery reads a query and refuses a wrong one, naming the bad keys. The values that it returns hold known keys
// only.
func (r *route) readQuery(raw string, compatibility bool) (url.Values, error) {
	if raw == "" {
		return url.Values{}, nil
	}
	values, err := parseQuery(raw)
	if err != nil {
		return nil, err
	}
	if compatibility {
		r.acceptClientForms(values)
	}
	if err := refuseUnknownKeys(values, func(key string) bool { return r.parameters[key] != nil }); err != nil {
		return nil, err
	}
	// The generated code fills the request itself, later, and would lose what is wrong with a value.
	if fields := setParameters(r.input.New(), values); len(fields) > 0 {
		return nil, invalidFields(fields)
	}
	return values, nil
}

// acceptClientForms removes unknown keys, as existing clients need it, and replaces the type that they use for a
// message's log entry by the RFC's.
func (r *route) acceptClientForms(values url.Values) {
	for key := range values {
		if r.parameters[key] == nil {
			delete(values, key)
		}
	}
	if _, ok := r.input.Zero().Interface().(*openintentv1.ListEventsRequest); !ok {
		return
	}
	for i, value := range values["event_type"] {
		if value == clientEventType {
			values["event_type"][i] = messageEventType
		}
	}
}

func parseQuery(raw string) (url.Values, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, fault.BadField("query", "is malformed: keys and values must be percent-encoded and separated by &.").
			Because(err)
	}
	return values, nil
}

func refuseUnknownKeys(values url.Values, known func(key string) bool) error {
	var unknown []fault.Field
	for key := range values {
		if known(key) {
			continue
		}
		if textProblem(key) != "" {
			key = "query"
		}
		unknown = append(unknown, fault.Field{Path: key, Description: "is not a query parameter of this path."})
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.SortFunc(unknown, func(a, b fault.Field) int { return strings.Compare(a.Path, b.Path) })
	return invalidFields(unknown)
}

// setParameters fills a request's fields from a query and returns what is wrong with each value. It skips keys that
// are not fields. A list is given by repeating its key or with commas.
func setParameters(request protoreflect.Message, values url.Values) (wrong []fault.Field) {
	for key, texts := range values {
		field := request.Descriptor().Fields().ByName(protoreflect.Name(key))
		if field == nil {
			continue
		}
		if problem := setParameter(request, field, texts); problem != "" {
			wrong = append(wrong, fault.Field{Path: key, Description: problem})
		}
	}
	slices.SortFunc(wrong, func(a, b fault.Field) int { return strings.Compare(a.Path, b.Path) })
	return wrong
}

func setParameter(request protoreflect.Message, field protoreflect.FieldDescriptor, texts []string) string {
	if field.IsList() {
		texts = strings.Split(strings.Join(texts, ","), ",")
	} else if len(texts) > 1 {
		return "may be given once only."
	}
	for _, text := range texts {
		if problem := textProblem(text); problem != "" {
			return problem
		}
		if field.Message() != nil {
			// In a query a bare + means a space, and the offset of a time begins with one.
			text = strings.ReplaceAll(text, " ", "+")
		}
		value, problem := jsonform.ParseValue(field, text)
		if problem != "" {
			return problem
		}
		if field.IsList() {
			request.Mutable(field).List().Append(value)
		} else {
			request.Set(field, value)
		}
	}
	return ""
}

// queryParser fills requests for the generated code, from queries that readQuery has accepted.
type queryParser struct{}

// Parse fills the message.
func (queryParser) Parse(message proto.Message, values url.Values, _ *utilities.DoubleArray) error {
	if wrong := setParameters(message.ProtoReflect(), values); len(wrong) > 0 {
		return fmt.Errorf("query parameters that were not checked: %w", invalidFields(wrong))
	}
	return nil
}

// installQueryParser sets the parser, which the gateway's runtime keeps for the whole process.
var installQueryParser = sync.OnceFunc(func() {
	runtime.NewServeMux(runtime.SetQueryParameterParser(queryParser{}))
})
